/**
 * Keep commits: what they look like, what a store of them keeps and for whom, and how many snapshots are kept by few.
 *
 *   appended   store ─▶ keep ─▶ keep ─▶ keep            folded     store ─▶ keep ┬▶ keep ─▶ 64 snapshots
 *                         └▶ snapshot ─▶ coverage                                └▶ keep ─▶ 64 snapshots
 *
 * A keep commit has the empty tree; its parents are keep commits and snapshots. Trailers name, for the snapshots among
 * them, the sessions (`Session`, `Session-File`) and, where it is not the commit's own date, when each was kept
 * (`Kept-At`, seconds). One without a session is somebody's: a predecessor's.
 *
 * Invariants: [R8] an owner or a time is never lost in folding. Folding what was read gives what was read.
 */
import { subjects } from "../core/coverage.ts";
import type { ObjectFormat, ObjectId, SnapshotId } from "../core/ids.ts";
import { decodeObjectId } from "../core/ids.ts";
import { type KeptSnapshot, type Owner, unknownOwner } from "../core/retention.ts";
import { commitBytes, emptyTree, hashObject } from "./objects.ts";

/** More parents make `git log --graph` take minutes; fewer make the chain long. */
export const parentsMax = 64;

/** A commit as the chain is read: our keep commits, and what they keep. */
export interface ChainCommit {
	readonly tree: string;
	readonly parents: readonly ObjectId[];
	/** Seconds since the epoch. */
	readonly seconds: number;
	readonly message: string;
}

/** Whether it is a keep commit, ours or a predecessor's; a snapshot of ours can have the empty tree, too. */
export const isKeepCommit = (
	{ tree, parents, message }: Pick<ChainCommit, "tree" | "parents" | "message">,
	format: ObjectFormat,
): boolean =>
	tree === emptyTree(format) && parents.length > 0 && !message.startsWith(subjects.snapshot);

/** Trailers, so that `git log` and a sweep read them alike: a `Session` and, where there is one, its file after it. */
export function keepMessage(owners: readonly Owner[], keptAt: readonly number[] = []): string {
	const trailers = owners.map(({ sessionId, sessionFile }) => {
		const file = sessionFile === undefined ? "" : `Session-File: ${oneLine(sessionFile)}\n`;
		return `Session: ${oneLine(sessionId)}\n${file}`;
	});
	const times = keptAt.length === 0 ? "" : `Kept-At: ${keptAt.join(" ")}\n`;
	return `${subjects.keep}\n\n${trailers.join("")}${times}`;
}

const oneLine = (text: string): string => text.replace(/[\r\n]/g, " ");

/** The owners that a keep commit's message names. */
export function ownersIn(message: string): Owner[] {
	return [...message.matchAll(/^Session: (.*)$(?:\nSession-File: (.*)$)?/gm)].map(
		([, sessionId = "", sessionFile]) =>
			sessionFile === undefined ? { sessionId } : { sessionId, sessionFile },
	);
}

const timesIn = (message: string): number[] =>
	(/^Kept-At: ([\d ]+)$/m.exec(message)?.[1] ?? "").split(" ").filter(Boolean).map(Number);

/** Reads `rev-list --format=%T %ct%n%P%n%B%x00`. */
export function parseChain(output: string, format: ObjectFormat): Map<ObjectId, ChainCommit> {
	const commits = new Map<ObjectId, ChainCommit>();
	for (const part of output.split("\0")) {
		const record = part.trimStart();
		const [first = "", second = "", third = ""] = record.split("\n", 3);
		const id = decodeObjectId(first.slice("commit ".length), format);
		if (id === undefined) continue;
		const [tree = "", seconds = ""] = second.split(" ");
		const parents = third
			.split(" ")
			.map((parent) => decodeObjectId(parent, format))
			.filter((parent) => parent !== undefined);
		const lead = first.length + second.length + third.length + 3;
		const message = record.slice(lead);
		commits.set(id, { tree, parents, seconds: Number(seconds), message });
	}
	return commits;
}

/** Every snapshot that a tip keeps, with all its owners. */
export function keptBelow(
	tip: ObjectId,
	commits: ReadonlyMap<ObjectId, ChainCommit>,
	format: ObjectFormat,
): KeptSnapshot[] {
	const kept = new Map<SnapshotId, { keptAt: number; owners: readonly Owner[] }>();
	function add(id: SnapshotId, seconds: number, owners: readonly Owner[]): void {
		const known = kept.get(id);
		if (known === undefined) {
			kept.set(id, { keptAt: seconds * 1000, owners });
			return;
		}
		known.keptAt = Math.max(known.keptAt, seconds * 1000);
		if (known.owners !== owners) known.owners = union(known.owners, owners);
	}

	/** Appended keep commits of one session all say the same. */
	const said = new Map<string, readonly Owner[]>();
	function ownersOf(message: string): readonly Owner[] {
		const known = said.get(message);
		if (known !== undefined) return known;
		const owners = ownersIn(message);
		const some = owners.length === 0 ? [unknownOwner] : owners;
		said.set(message, some);
		return some;
	}

	const seen = new Set<ObjectId>();
	const waiting = [tip];
	for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
		if (seen.has(id)) continue;
		seen.add(id);
		const commit = commits.get(id);
		if (commit === undefined || !isKeepCommit(commit, format)) {
			// Only the ref itself can lead here: somebody put it on a snapshot.
			add(id, commit?.seconds ?? 0, [unknownOwner]);
			continue;
		}
		const owners = ownersOf(commit.message);
		const times = timesIn(commit.message);
		let place = 0;
		for (const parent of commit.parents) {
			const found = commits.get(parent);
			if (found !== undefined && isKeepCommit(found, format)) waiting.push(parent);
			else add(parent, times[place++] ?? commit.seconds, owners);
		}
	}
	return [...kept].map(([id, { keptAt, owners }]) => ({
		id,
		takenAt: (commits.get(id)?.seconds ?? Number.NaN) * 1000,
		keptAt,
		owners,
	}));
}

const union = (some: readonly Owner[], more: readonly Owner[]): readonly Owner[] => [
	...new Map([...some, ...more].map((owner) => [ownerKey(owner), owner])).values(),
];

const ownerKey = ({ sessionId, sessionFile }: Owner): string =>
	JSON.stringify([sessionId, sessionFile]);

/** Keep commits to write, children before parents; the last one keeps all. */
export interface Folded {
	readonly root: ObjectId;
	readonly bodies: readonly Buffer[];
}

interface Node {
	readonly id: ObjectId;
	readonly seconds: number;
}

/**
 * Folds snapshots into keep commits of at most 64 parents each. Equal input gives equal commits, so folding again adds
 * little. A commit is as young as the youngest below it: git lists by date, and a parent comes after its child.
 */
export function foldKept(snapshots: readonly KeptSnapshot[], format: ObjectFormat): Folded {
	const bodies: Buffer[] = [];
	function write(parents: readonly ObjectId[], seconds: number, message: string): Node {
		const body = commitBytes({ tree: emptyTree(format), parents, seconds, message });
		bodies.push(body);
		return { id: hashObject(format, "commit", body), seconds };
	}

	/** Mostly many snapshots have the same list of owners. */
	const keys = new Map<readonly Owner[], string>();
	function keyOf(owners: readonly Owner[]): string {
		const key = keys.get(owners) ?? owners.map(ownerKey).toSorted().join("\n");
		keys.set(owners, key);
		return key;
	}

	const groups = Map.groupBy(snapshots, ({ owners }) => keyOf(owners));
	let nodes: readonly Node[] = [...groups.values()].flatMap((group) =>
		inParts(group.toSorted((a, b) => b.keptAt - a.keptAt || (a.id < b.id ? -1 : 1))).map((part) => {
			const times = part.map(({ keptAt }) => Math.floor(keptAt / 1000));
			const owners = (part[0]?.owners ?? []).toSorted((a, b) =>
				ownerKey(a) < ownerKey(b) ? -1 : 1,
			);
			const ids = part.map(({ id }) => id);
			return write(ids, Math.max(...times), keepMessage(owners, times));
		}),
	);
	do {
		nodes = inParts(nodes.toSorted((a, b) => b.seconds - a.seconds || (a.id < b.id ? -1 : 1))).map(
			(part) => {
				const [only, another] = part;
				if (only !== undefined && another === undefined) return only;
				const seconds = Math.max(...part.map((node) => node.seconds));
				return write(
					part.map(({ id }) => id),
					seconds,
					keepMessage([]),
				);
			},
		);
	} while (nodes.length > 1);
	const [root] = nodes;
	if (root === undefined) throw new Error("BUG: nothing to keep");
	return { root: root.id, bodies };
}

const inParts = <T>(list: readonly T[]): T[][] =>
	Array.from({ length: Math.ceil(list.length / parentsMax) }, (_, i) =>
		list.slice(i * parentsMax, (i + 1) * parentsMax),
	);
