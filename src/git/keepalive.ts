/**
 * The one ref that keeps snapshots reachable, `refs/pi-rewind/store`.
 *
 * It points at a keep commit: the empty tree, whose parents are the keep commit before it and the snapshots it keeps;
 * its message names the session that they are kept for. Reachability is all it is for: the ledger is authoritative.
 *
 *   store ─▶ keep ─▶ keep ─▶ keep
 *              └▶ snapshot ─▶ coverage
 *
 * Invariants: [R2] a snapshot is kept before anyone records it. [R3] the ref moves only from the value that was read;
 * the loser rebuilds on the winner's. [R6] no reflog, no hook.
 */
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { subjects } from "../core/coverage.ts";
import { isRewindError, RewindError } from "../core/errors.ts";
import { decodeObjectId, type ObjectId, trustedObjectId } from "../core/ids.ts";
import type { Owner } from "../engine/ports.ts";
import {
	commitBytes,
	emptyTree,
	type ParsedCommit,
	parseCommit,
	type ObjectReader,
	zeroId,
} from "./objects.ts";
import type { ObjectWriter } from "./object-writer.ts";
import type { Repository } from "./repository.ts";
import { harmless, lineOf, personEnv, runGit } from "./run.ts";

export const storeRef = "refs/pi-rewind/store";

/** Lost swaps are retried with a growing, random pause: eight busy processes settle in well under this. */
const triesMax = 40;
/** git holds a ref's lock for milliseconds; one this old belongs to a process that died. */
const staleLockMs = 10_000;
/** Keep commits that others can have put above one in the moment it takes to see that it must go. */
const chainMax = 1_000;

/** A keep commit that the ref was moved to. */
export interface Kept {
	readonly commit: ObjectId;
	readonly body: Buffer;
	/** Where the ref was before. */
	readonly previous: ObjectId | undefined;
}

export interface Keepalive {
	/**
	 * Keeps snapshots for an owner. Returns when the ref reaches them. Throws `keepalive-contended`. The ref does not
	 * move before `durable` is there: what the snapshots consist of is on the disk then. [R2]
	 */
	keep(
		snapshots: readonly ObjectId[],
		owner: Owner,
		seconds: number,
		durable: Promise<unknown>,
	): Promise<Kept>;
	/**
	 * Takes a keep commit out of the chain again: what it keeps turned out not to be whole, and a ref that reaches
	 * missing objects would make the person's own `git gc` fail.
	 */
	withdraw(kept: Kept): Promise<void>;
	/** Whether the ref reaches this commit now. Reads the history once, then only what is new. */
	isKept(id: ObjectId): Promise<boolean>;
	/** Kept snapshots, newest first, at most `max`. */
	newest(max: number): Promise<ObjectId[]>;
}

/** Reads the ref at every call: other processes move it too. */
export function createKeepalive(
	repository: Repository,
	writer: ObjectWriter,
	objects: ObjectReader,
): Keepalive {
	const env = personEnv();
	const git = (...args: string[]) => ({
		args: ["--git-dir", repository.gitDir, ...harmless, ...args],
		cwd: repository.root,
		env,
	});
	let tip: ObjectId | undefined;
	const reached = new Set<string>();
	let reachedFrom: ObjectId | undefined;

	async function readTip(): Promise<ObjectId | undefined> {
		const { code, stdout } = await runGit({
			...git("rev-parse", "--verify", "--quiet", storeRef),
			answers: [1],
		});
		return code === 0 ? decodeObjectId(lineOf(stdout), repository.format) : undefined;
	}

	/** False when somebody else moved the ref, or holds its lock. */
	async function swap(next: ObjectId, old: ObjectId | undefined): Promise<boolean> {
		try {
			const from = old ?? zeroId(repository.format);
			await runGit(git("update-ref", "--no-deref", storeRef, next, from));
			return true;
		} catch (error) {
			if (!isRewindError(error) || error.code !== "git-failed") throw error;
			if (
				/cannot lock ref|Unable to create|reference already exists/.test(
					String(error.data["stderr"]),
				)
			)
				return false;
			throw error;
		}
	}

	async function removeStaleRefLock(): Promise<void> {
		if (!repository.refsAreFiles) return;
		const lock = `${join(repository.commonDir, storeRef)}.lock`;
		const ageMs = await stat(lock).then(
			(s) => Date.now() - s.mtimeMs,
			() => 0,
		);
		if (ageMs > staleLockMs) await rm(lock, { force: true });
	}

	/** A loose ref needs no process to read; anything else is asked of git. */
	async function currentTip(): Promise<ObjectId | undefined> {
		if (repository.refsAreFiles) {
			const text = await readFile(join(repository.commonDir, storeRef), "latin1").catch(() => "");
			const loose = decodeObjectId(text.trim(), repository.format);
			if (loose !== undefined) return loose;
		}
		return readTip();
	}

	return {
		async keep(snapshots, owner, seconds, durable) {
			for (let tries = 0; tries < triesMax; tries++) {
				tip = await currentTip();
				// The keep commits' tree must be there as an object, or fsck misses it.
				if (tip === undefined) await writer.write("tree", Buffer.alloc(0));
				const body = commitBytes({
					tree: emptyTree(repository.format),
					parents: [...(tip === undefined ? [] : [tip]), ...snapshots],
					seconds,
					message: keepMessage([owner]),
				});
				const [commit] = await Promise.all([writer.write("commit", body), durable]);
				if (await swap(commit, tip)) {
					// Only when nothing else came between is what we know still all there is.
					if (reachedFrom === tip) reachedFrom = commit;
					for (const id of [commit, ...snapshots]) reached.add(id);
					const previous = tip;
					tip = commit;
					return { commit, body, previous };
				}
				await pauseAfterLoss(tries);
			}
			throw contended();
		},
		async withdraw(kept) {
			for (let tries = 0; tries < triesMax; tries++) {
				const now = await currentTip();
				const above = await chainDownTo(now, kept.commit);
				// Not in the chain any more: a sweep was faster.
				if (now === undefined || above === undefined) return;
				const next = await rebuilt(above, kept.previous);
				const swapped = next === undefined ? await deleteRef(now) : await swap(next, now);
				reached.clear();
				reachedFrom = undefined;
				if (swapped) return;
				await pauseAfterLoss(tries);
			}
			throw contended();
		},
		async isKept(id) {
			if (reached.has(id) && (await currentTip()) === reachedFrom) return true;
			const now = await currentTip();
			if (now === undefined) return false;
			if (now !== reachedFrom) {
				let ids = await listReached(now, reachedFrom);
				if (ids === undefined) {
					// The old tip is not there any more: a sweep rewrote the ref.
					reached.clear();
					ids = (await listReached(now, undefined)) ?? [];
				}
				for (const each of ids) reached.add(each);
				reachedFrom = now;
			}
			return reached.has(id);
		},
		async newest(max) {
			const now = await currentTip();
			if (now === undefined) return [];
			const result = await runGit({
				...git("rev-list", `--max-count=${max * 3}`, "--format=%H %s", now, "--"),
				answers: [128],
			});
			if (result.code !== 0) return (await walk(now)).slice(0, max);
			return result.stdout
				.toString("utf8")
				.split("\n")
				.filter((line) => line.endsWith(` ${subjects.snapshot}`))
				.map((line) => trustedObjectId(line.slice(0, line.indexOf(" "))))
				.slice(0, max);
		},
	};

	/**
	 * Snapshots below a keep commit, newest first, past what is missing: git's own listing stops at the first missing
	 * commit, and one damaged snapshot must not cost all the others.
	 */
	async function walk(from: ObjectId): Promise<ObjectId[]> {
		const snapshots: ObjectId[] = [];
		const seen = new Set<ObjectId>();
		for (let level: readonly ObjectId[] = [from]; level.length > 0;) {
			const next: ObjectId[] = [];
			for (const id of level) {
				if (seen.has(id)) continue;
				seen.add(id);
				const object = await objects.read(id).catch(() => undefined);
				const commit = object?.type === "commit" ? parseCommit(object.content) : undefined;
				if (commit === undefined) continue;
				const isKeep = commit.tree === emptyTree(repository.format) && commit.parents.length > 0;
				if (isKeep && !commit.message.startsWith(subjects.snapshot)) next.push(...commit.parents);
				else snapshots.push(id);
			}
			level = next;
		}
		return snapshots;
	}

	/** Keep commits from `tip` down to `end`, `end` left out; absent when `end` is not below `tip`. */
	async function chainDownTo(
		from: ObjectId | undefined,
		end: ObjectId,
	): Promise<ParsedCommit[] | undefined> {
		const above: ParsedCommit[] = [];
		for (let at = from; at !== undefined && above.length < chainMax;) {
			if (at === end) return above;
			const { code, stdout } = await runGit({ ...git("cat-file", "commit", at), answers: [128] });
			const commit = code === 0 ? parseCommit(stdout) : undefined;
			if (commit === undefined) return undefined;
			above.push(commit);
			at = commit.parents[0];
		}
		return undefined;
	}

	/** The keep commits that others put above a withdrawn one, as one on the commit before it. */
	async function rebuilt(
		above: readonly ParsedCommit[],
		previous: ObjectId | undefined,
	): Promise<ObjectId | undefined> {
		if (above.length === 0) return previous;
		const body = commitBytes({
			tree: emptyTree(repository.format),
			parents: [
				...(previous === undefined ? [] : [previous]),
				...above.flatMap(({ parents }) => parents.slice(1)),
			],
			seconds: 0,
			message: keepMessage(above.flatMap(({ message }) => ownersIn(message))),
		});
		return writer.write("commit", body);
	}

	async function deleteRef(old: ObjectId): Promise<boolean> {
		const { code } = await runGit({
			...git("update-ref", "--no-deref", "-d", storeRef, old),
			answers: [1, 128],
		});
		return code === 0;
	}

	async function pauseAfterLoss(tries: number): Promise<void> {
		await removeStaleRefLock();
		await new Promise((done) => setTimeout(done, Math.random() * 10 * Math.min(tries + 1, 10)));
	}

	/** All commits that `from` reaches and `known` does not; absent when `known` is no ancestor of it any more. */
	async function listReached(
		from: ObjectId,
		known: ObjectId | undefined,
	): Promise<ObjectId[] | undefined> {
		if (known !== undefined) {
			const { code } = await runGit({
				...git("merge-base", "--is-ancestor", known, from),
				answers: [1, 128],
			});
			if (code !== 0) return undefined;
		}
		const { code, stdout } = await runGit({
			...git("rev-list", from, ...(known === undefined ? [] : [`^${known}`]), "--"),
			answers: [128],
		});
		if (code !== 0) return walk(from);
		return stdout.toString("latin1").split("\n").filter(Boolean).map(trustedObjectId);
	}
}

/** Trailers, so that `git log` and a sweep read them alike: a `Session` and, where there is one, its file after it. */
function keepMessage(owners: readonly Owner[]): string {
	const trailers = owners.map(({ sessionId, sessionFile }) => {
		const file = sessionFile === undefined ? "" : `Session-File: ${oneLine(sessionFile)}\n`;
		return `Session: ${oneLine(sessionId)}\n${file}`;
	});
	return `${subjects.keep}\n\n${trailers.join("")}`;
}

const oneLine = (text: string): string => text.replace(/[\r\n]/g, " ");

/** The owners that a keep commit's message names. */
function ownersIn(message: string): Owner[] {
	return [...message.matchAll(/^Session: (.*)$(?:\nSession-File: (.*)$)?/gm)].map(
		([, sessionId = "", sessionFile]) =>
			sessionFile === undefined ? { sessionId } : { sessionId, sessionFile },
	);
}

const contended = (): RewindError =>
	new RewindError(
		"keepalive-contended",
		`${storeRef} could not be moved: other processes keep moving it`,
		{ hint: "This point was not recorded; the next one tries again" },
	);
