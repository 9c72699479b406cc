/**
 * Keeps snapshots reachable by the one ref, and tells which are; what keep commits look like: keep-chain.ts.
 *
 * Reachability is all the ref is for: the ledger is authoritative.
 *
 * Invariants: [R2] a snapshot is kept before anyone records it. [R3] the ref moves only from the value that was read;
 * the loser rebuilds on the winner's. After a kill at any moment the ref is the old one or the new one, both whole.
 */
import { subjects } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import { type ObjectId, trustedObjectId } from "../core/ids.ts";
import type { KeptSnapshot } from "../core/retention.ts";
import type { KeptList, Owner } from "../engine/ports.ts";
import {
	foldKept,
	isKeepCommit,
	keepMessage,
	keptBelow,
	ownersIn,
	parentsMax,
	parseChain,
} from "./keep-chain.ts";
import { runIn } from "./listing.ts";
import {
	commitBytes,
	emptyTree,
	newObject,
	type NewObject,
	type ObjectReader,
	type ParsedCommit,
	parseCommit,
} from "./objects.ts";
import type { ObjectWriter } from "./object-writer.ts";
import type { Repository } from "./repository.ts";
import { harmless, personEnv } from "./run.ts";
import { gcRuns, untilNoGc } from "./gc.ts";
import { createStoreRef } from "./store-ref.ts";

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
	 * move before `objects`, what of the snapshots is not written yet, are on the disk. [R2]
	 */
	keep(
		snapshots: readonly ObjectId[],
		owner: Owner,
		seconds: number,
		objects: readonly NewObject[],
	): Promise<Kept>;
	/** Keeps for one more owner what is kept already; `seconds` since the epoch. Throws `keepalive-contended`. */
	claim(snapshots: readonly ObjectId[], owner: Owner, seconds: number): Promise<void>;
	/**
	 * Takes a keep commit out of the chain again: what it keeps turned out not to be whole, and a ref that reaches
	 * missing objects would make the person's own `git gc` fail.
	 */
	withdraw(kept: Kept): Promise<void>;
	/** Whether the ref reaches this commit now. Reads the history once, then only what is new. */
	isKept(id: ObjectId): Promise<boolean>;
	/** Kept snapshots, newest first, at most `max`. */
	newest(max: number): Promise<ObjectId[]>;
	/** All that is kept, by whom; absent when nothing is. Throws `object-missing` when it cannot be read whole. */
	list(signal?: AbortSignal): Promise<KeptList | undefined>;
	/**
	 * Keeps `live`, which are of that list, and nothing else. False when the ref is not where the list was read, or a
	 * `git gc` runs: then nothing happened, and whoever asked decides again.
	 */
	rewrite(from: KeptList, live: readonly KeptSnapshot[]): Promise<boolean>;
}

export function createKeepalive(
	repository: Repository,
	writer: ObjectWriter,
	objects: ObjectReader,
): Keepalive {
	const { root, gitDir, format } = repository;
	const ref = createStoreRef(repository);
	const utf8 = ["-c", "i18n.logOutputEncoding=UTF-8"];
	const git = runIn(root, personEnv(), ["--git-dir", gitDir, ...harmless, ...utf8]);
	const reached = new Set<string>();
	let reachedFrom: ObjectId | undefined;

	const commitOf = (content: Buffer): NewObject => newObject(format, "commit", content);

	/** What keeps `snapshots`: themselves, or when they are many, one keep commit above them; and what that consists of. */
	function parentsFor(
		snapshots: readonly ObjectId[],
		owner: Owner,
		seconds: number,
	): { readonly parents: readonly ObjectId[]; readonly commits: readonly NewObject[] } {
		if (snapshots.length < parentsMax) return { parents: snapshots, commits: [] };
		const keptAt = seconds * 1000;
		const all = snapshots.map((id) => ({ id, takenAt: keptAt, keptAt, owners: [owner] }));
		const { root, bodies } = foldKept(all, format);
		return { parents: [root], commits: bodies.map(commitOf) };
	}

	async function keepBelow(
		parents: readonly ObjectId[],
		snapshots: readonly ObjectId[],
		owner: Owner,
		seconds: number,
		objects: readonly NewObject[],
	): Promise<Kept> {
		return ref.untilSwapped(async () => {
			const previous = await ref.read();
			const body = commitBytes({
				tree: emptyTree(format),
				parents: [...(previous === undefined ? [] : [previous]), ...parents],
				seconds,
				message: keepMessage([owner]),
			});
			const keep = commitOf(body);
			// The keep commits' tree must be there as an object, or fsck misses it.
			const tree = previous === undefined ? [newObject(format, "tree", Buffer.alloc(0))] : [];
			// All of it at each attempt: what is not reachable yet can be pruned in the meantime.
			await writer.write([...objects, ...tree, keep]);
			const commit = keep.id;
			if (!(await ref.swap(commit, previous))) return undefined;
			// Only when nothing else came between is what we know still all there is.
			if (reachedFrom === previous) reachedFrom = commit;
			for (const id of [commit, ...snapshots]) reached.add(id);
			return { commit, body, previous };
		});
	}

	/** What a gc takes of ours is written again, for as long as one runs. */
	async function outlastGc(commits: readonly NewObject[]): Promise<void> {
		const ids = commits.map(({ id }) => id);
		await untilNoGc(repository, async () => {
			if ((await missingOf(ids)) > 0) await writer.write(commits);
			return undefined;
		});
	}

	async function withdraw(kept: Kept): Promise<void> {
		await ref.untilSwapped(async () => {
			const now = await ref.read();
			const above = await chainDownTo(now, kept.commit);
			forget();
			if (now === undefined) return true;
			if (above === undefined) return withdrawFolded(kept);
			return (await ref.swap(await rebuilt(above, kept.previous), now)) || undefined;
		});
	}

	/** Somebody folded the chain in the meantime: what the keep commit kept is taken out of that. */
	async function withdrawFolded({ body, previous }: Kept): Promise<true | undefined> {
		const list = await api.list();
		const parents = parseCommit(body)?.parents ?? [];
		const gone = new Set(parents.filter((id) => id !== previous));
		const live = list?.snapshots.filter(({ id }) => !gone.has(id)) ?? [];
		if (list === undefined || live.length === list.snapshots.length) return true;
		const done = live.length > 0 ? api.rewrite(list, live) : ref.swap(undefined, list.tip);
		return (await done) || undefined;
	}

	const forget = (): void => {
		reached.clear();
		reachedFrom = undefined;
	};

	const api: Keepalive = {
		keep(snapshots, owner, seconds, objects) {
			const { parents, commits } = parentsFor(snapshots, owner, seconds);
			return keepBelow(parents, snapshots, owner, seconds, [...objects, ...commits]);
		},
		async claim(snapshots, owner, seconds) {
			const { parents, commits } = parentsFor(snapshots, owner, seconds);
			const kept = await keepBelow(parents, snapshots, owner, seconds, commits);
			await outlastGc([...commits, commitOf(kept.body)]);
		},
		withdraw,
		async isKept(id) {
			if (reached.has(id) && (await ref.read()) === reachedFrom) return true;
			const now = await ref.read();
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
			const now = await ref.read();
			if (now === undefined) return [];
			const words = ["--fixed-strings", `--grep=${subjects.snapshot}`];
			const result = await git(
				["rev-list", `--max-count=${max}`, ...words, "--format=%H %s", now, "--"],
				{ answers: [128] },
			);
			if (result.code !== 0) return (await walk(now)).slice(0, max);
			return result.stdout
				.toString("utf8")
				.split("\n")
				.filter((line) => line.endsWith(` ${subjects.snapshot}`))
				.map((line) => trustedObjectId(line.slice(0, line.indexOf(" "))));
		},
		async list(signal) {
			const tip = await ref.read();
			if (tip === undefined) return undefined;
			const { code, stdout } = await git(
				["rev-list", "--format=format:%T %ct%n%P%n%B%x00", tip, "--"],
				{ answers: [128], signal },
			);
			if (code !== 0) throw notWhole();
			return {
				tip,
				snapshots: keptBelow(tip, parseChain(stdout.toString("utf8"), format), format),
			};
		},
		async rewrite(from, live) {
			const { root, bodies } = foldKept(live, format);
			if (root === from.tip) return true;
			// What it took as unreachable before the swap would be missing after.
			if (await gcRuns(repository)) return false;
			const commits = bodies.map(commitOf);
			await writer.write(commits);
			const missing = await missingOf([...live, ...commits].map(({ id }) => id));
			if (missing > 0) throw notWhole();
			if (!(await ref.swap(root, from.tip))) return false;
			forget();
			await outlastGc(commits);
			return true;
		},
	};
	return api;

	/** How many of them are not there as commits. A ref that reaches one makes the person's own `git gc` fail. */
	async function missingOf(ids: readonly ObjectId[]): Promise<number> {
		const stdin = `${ids.join("\n")}\n`;
		const { stdout } = await git(["cat-file", "--batch-check=%(objecttype)"], { stdin });
		const types = stdout.toString("latin1").trimEnd().split("\n");
		return ids.length - types.filter((type) => type === "commit").length;
	}

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
				if (isKeepCommit(commit, format)) next.push(...commit.parents);
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
			const { code, stdout } = await git(["cat-file", "commit", at], { answers: [128] });
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
			tree: emptyTree(format),
			parents: [
				...(previous === undefined ? [] : [previous]),
				...above.flatMap(({ parents }) => parents.slice(1)),
			],
			seconds: Math.max(...above.map(({ seconds }) => seconds)),
			message: keepMessage(above.flatMap(({ message }) => ownersIn(message))),
		});
		const keep = commitOf(body);
		await writer.write([keep]);
		return keep.id;
	}

	/** All commits that `from` reaches and `known` does not; absent when `known` is no ancestor of it any more. */
	async function listReached(
		from: ObjectId,
		known: ObjectId | undefined,
	): Promise<ObjectId[] | undefined> {
		if (known !== undefined) {
			const { code } = await git(["merge-base", "--is-ancestor", known, from], {
				answers: [1, 128],
			});
			if (code !== 0) return undefined;
		}
		const { code, stdout } = await git(
			["rev-list", from, ...(known === undefined ? [] : [`^${known}`]), "--"],
			{ answers: [128] },
		);
		if (code !== 0) return walk(from);
		return stdout.toString("latin1").split("\n").filter(Boolean).map(trustedObjectId);
	}
}

const notWhole = (): RewindError =>
	new RewindError("object-missing", "Not all that is kept is there", {
		hint: "Nothing is dropped; git fsck tells what is missing",
	});
