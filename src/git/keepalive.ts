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
import { commitBytes, emptyTree, zeroId } from "./objects.ts";
import type { ObjectWriter } from "./object-writer.ts";
import type { Repository } from "./repository.ts";
import { harmless, lineOf, personEnv, runGit } from "./run.ts";

export const storeRef = "refs/pi-rewind/store";

/** Lost swaps are retried with a growing, random pause: eight busy processes settle in well under this. */
const triesMax = 40;
/** git holds a ref's lock for milliseconds; one this old belongs to a process that died. */
const staleLockMs = 60_000;

export interface Keepalive {
	/** Keeps snapshots for an owner. Returns when the ref reaches them. Throws `keepalive-contended`. */
	keep(snapshots: readonly ObjectId[], owner: Owner, seconds: number): Promise<void>;
	/** Whether the ref reaches this commit now. Reads the history once, then only what is new. */
	isKept(id: ObjectId): Promise<boolean>;
	/** Kept snapshots, newest first, at most `max`. */
	newest(max: number): Promise<ObjectId[]>;
}

export function createKeepalive(repository: Repository, writer: ObjectWriter): Keepalive {
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
		async keep(snapshots, owner, seconds) {
			if (snapshots.length === 0) return;
			for (let tries = 0; tries < triesMax; tries++) {
				tip = await currentTip();
				// The keep commits' tree must be there as an object, or fsck misses it.
				if (tip === undefined) await writer.write("tree", [Buffer.alloc(0)]);
				const [commit] = await writer.write("commit", [
					commitBytes({
						tree: emptyTree(repository.format),
						parents: [...(tip === undefined ? [] : [tip]), ...snapshots],
						seconds,
						message: keepMessage(owner),
					}),
				]);
				if (commit === undefined)
					throw new RewindError("invariant-broken", "BUG [R2]: no keep commit");
				if (await swap(commit, tip)) {
					// Only when nothing else came between is what we know still all there is.
					if (reachedFrom === tip) reachedFrom = commit;
					for (const id of [commit, ...snapshots]) reached.add(id);
					tip = commit;
					return;
				}
				await removeStaleRefLock();
				await new Promise((done) => setTimeout(done, Math.random() * 10 * Math.min(tries + 1, 10)));
			}
			throw new RewindError(
				"keepalive-contended",
				`${storeRef} could not be moved: other processes keep moving it`,
				{ hint: "This point was not recorded; the next one tries again" },
			);
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
			const { stdout } = await runGit(
				git("log", `--max-count=${max * 3}`, "--format=%H %s", "--no-show-signature", now),
			);
			return stdout
				.toString("utf8")
				.split("\n")
				.filter((line) => line.endsWith(` ${subjects.snapshot}`))
				.map((line) => trustedObjectId(line.slice(0, line.indexOf(" "))))
				.slice(0, max);
		},
	};

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
		const { stdout } = await runGit(
			git("rev-list", from, ...(known === undefined ? [] : [`^${known}`]), "--"),
		);
		return stdout.toString("latin1").split("\n").filter(Boolean).map(trustedObjectId);
	}
}

/** Trailers, so that `git log` and a sweep read them alike. */
function keepMessage(owner: Owner): string {
	const line = (text: string): string => text.replace(/[\r\n]/g, " ");
	const file = owner.sessionFile === undefined ? "" : `Session-File: ${line(owner.sessionFile)}\n`;
	return `${subjects.keep}\n\nSession: ${line(owner.sessionId)}\n${file}`;
}
