/**
 * What a snapshot's tree cannot say: where it was taken and what it does not cover.
 *
 * Wire format, one commit per snapshot:
 *   snapshot commit   tree = the files; message "rewind snapshot\n\n" + one line of JSON (SnapshotHead);
 *                     its only parent is the
 *   coverage commit   tree = `coverage.json` (CoverageLists), `info-exclude` and `excludes-file` (the ignore rules in
 *                     force outside the tree, absent when empty); message "rewind coverage".
 * A coverage commit has no date and no identity of its own, so equal coverage is the same object. [R11]
 *
 * Invariants: [R7] a path that is not covered is listed or matched by recorded rules; [R10] unknown keys are ignored,
 * an unknown version is "cannot be read", never a guess.
 */
import * as v from "valibot";
import type { BytePath, ObjectId } from "./ids.ts";
import { bytePathOf, decodeAnyObjectId, isWithin } from "./ids.ts";

/** First lines of the three kinds of commit of ours. A coverage or keep commit is never a snapshot. [R13] */
export const subjects = {
	snapshot: "rewind snapshot",
	coverage: "rewind coverage",
	keep: "rewind keep",
} as const;

/** Why a path is not covered by a snapshot. */
export type NotCoveredReason =
	| "nested-repository"
	| "too-large"
	| "turn-limit"
	| "unreadable"
	| "special-file"
	| "vanished"
	| "sparse"
	/** git takes no path with a `.git` in it, in any case of letters. */
	| "unsupported-name";

/** One path, or with a trailing `/` everything below it, that a snapshot does not cover. */
export interface NotCovered {
	readonly path: BytePath;
	readonly reason: NotCoveredReason;
	/** Bytes, for files over a cap. */
	readonly size?: number;
}

/** Where and of what a snapshot was taken. */
export interface SnapshotHead {
	readonly v: 1;
	/** Random id of the working tree, kept in its private dir. */
	readonly worktree: string;
	/** Its git dir, relative to the common dir (`.` or `worktrees/NAME`): finds the id again when the private dir is lost. */
	readonly place: string;
	/** Commit that HEAD named; absent on an unborn branch. */
	readonly head?: ObjectId;
	/** Full ref name that HEAD pointed at; absent when detached. */
	readonly branch?: string;
	/** `tracked`: only what the person's index tracks was in scope (`includeUntracked: false`). */
	readonly scope: "all" | "tracked";
	/** Milliseconds since the epoch. */
	readonly takenAt: number;
}

/** The lists of a coverage commit; sorted, so that equal lists are equal bytes. */
export interface CoverageLists {
	readonly notCovered: readonly NotCovered[];
	/** The process umask at capture: files not in `modes` had `0666 & ~umask` (`0777 & ~umask` when executable). */
	readonly umask: number;
	/** Permission bits where they differ from that. */
	readonly modes: ReadonlyMap<BytePath, number>;
	/** In scope `tracked`: what the person's index tracked and the disk did not have. */
	readonly gone: ReadonlySet<BytePath>;
}

/** A snapshot as read back: ids, head and coverage. Snapshots of the predecessors have no `head` and cover by rule. */
export interface Snapshot {
	readonly id: ObjectId;
	readonly tree: ObjectId;
	readonly head: SnapshotHead | undefined;
	readonly coverageId: ObjectId | undefined;
	readonly coverage: CoverageLists;
	readonly rules: IgnoreRules;
}

/** Blob ids of the ignore rules outside the tree. */
export interface IgnoreRules {
	readonly infoExclude: ObjectId | undefined;
	readonly excludesFile: ObjectId | undefined;
}

export const noCoverage: CoverageLists = {
	notCovered: [],
	umask: 0o022,
	modes: new Map(),
	gone: new Set(),
};

const headSchema = v.looseObject({
	v: v.literal(1),
	worktree: v.pipe(v.string(), v.regex(/^[0-9a-f-]{8,64}$/)),
	place: v.optional(v.string(), ""),
	head: v.optional(v.string()),
	branch: v.optional(v.string()),
	scope: v.picklist(["all", "tracked"]),
	takenAt: v.number(),
});

const listsSchema = v.looseObject({
	v: v.literal(1),
	umask: v.number(),
	notCovered: v.array(v.tuple([v.string(), v.string(), v.optional(v.number())])),
	modes: v.array(v.tuple([v.string(), v.number()])),
	gone: v.optional(v.array(v.string()), []),
});

export function encodeSnapshotMessage(head: SnapshotHead): string {
	const { worktree, place, head: commit, branch, scope, takenAt } = head;
	return `${subjects.snapshot}\n\n${JSON.stringify({ v: 1, worktree, place, head: commit, branch, scope, takenAt })}\n`;
}

/** The head in a snapshot commit's message; absent for a predecessor's commit, or one that cannot be read. */
export function decodeSnapshotMessage(message: string): SnapshotHead | undefined {
	const [subject, , json] = message.split("\n", 3);
	if (subject !== subjects.snapshot || json === undefined) return undefined;
	const result = v.safeParse(headSchema, parseJson(json));
	if (!result.success) return undefined;
	const { worktree, place, head, branch, scope, takenAt } = result.output;
	const commit = head === undefined ? undefined : decodeAnyObjectId(head);
	return {
		v: 1,
		worktree,
		place,
		scope,
		takenAt,
		...(commit === undefined ? {} : { head: commit }),
		...(branch === undefined ? {} : { branch }),
	};
}

/** Paths are byte strings (latin1), which JSON holds unharmed. */
export function encodeCoverageLists(lists: CoverageLists): string {
	const notCovered = lists.notCovered
		.map(({ path, reason, size }) => (size === undefined ? [path, reason] : [path, reason, size]))
		.toSorted(byFirst);
	const modes = [...lists.modes].toSorted(byFirst);
	const gone = lists.gone.size === 0 ? {} : { gone: [...lists.gone].toSorted() };
	return `${JSON.stringify({ v: 1, umask: lists.umask, notCovered, modes, ...gone })}\n`;
}

/** Absent when the bytes are not a list of version 1: then nothing is known to be covered. */
export function decodeCoverageLists(json: string): CoverageLists | undefined {
	const result = v.safeParse(listsSchema, parseJson(json));
	if (!result.success) return undefined;
	const { umask, notCovered, modes, gone } = result.output;
	return {
		umask,
		notCovered: notCovered.map(([path, reason, size]) => ({
			path: bytePathOf(path),
			reason: reasonOf(reason),
			...(size === undefined ? {} : { size }),
		})),
		modes: new Map(modes.map(([path, mode]) => [bytePathOf(path), mode & 0o777])),
		gone: new Set(gone.map(bytePathOf)),
	};
}

/** A reason of a newer version still means "not covered". [R10] */
function reasonOf(text: string): NotCoveredReason {
	const known: readonly NotCoveredReason[] = [
		"nested-repository",
		"too-large",
		"turn-limit",
		"unreadable",
		"special-file",
		"vanished",
		"sparse",
		"unsupported-name",
	];
	return known.find((reason) => reason === text) ?? "unreadable";
}

/** Looks up whether a path is listed as not covered: itself, or below a listed folder. */
export function notCoveredIndex(
	list: readonly NotCovered[],
): (path: BytePath) => NotCovered | undefined {
	const exact = new Map<string, NotCovered>();
	for (const item of list) exact.set(item.path.replace(/\/$/, ""), item);
	return (path) => {
		for (let at: string = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
			const item = exact.get(at);
			if (item !== undefined && isWithin(path, at)) return item;
		}
		return undefined;
	};
}

const byFirst = (a: readonly unknown[], b: readonly unknown[]): number =>
	String(a[0]) < String(b[0]) ? -1 : String(a[0]) > String(b[0]) ? 1 : 0;

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		// Absence is the answer for text that is not JSON; the caller says so.
		return undefined;
	}
}
