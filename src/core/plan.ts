/**
 * Decides what a restore would do; touches nothing.
 *
 * Takes the differences between the files now and the target, what both cover, and what is on the disk at each
 * path; gives ordered steps and named skips. Deletes come first, deepest first, then writes, shallowest first, so a
 * file may become a folder and back.
 *
 * Invariants: [R5] every step's path is in now ∪ target and covered by both. [R7] what is not covered becomes a skip,
 * never a delete or an overwrite. A folder that cannot be emptied is left whole, with what lies below it.
 *
 * Limit: the disk facts are of one moment; the worktree writer checks each path again when it acts.
 */
import type { NotCoveredReason, Snapshot } from "./coverage.ts";
import { notCoveredIndex } from "./coverage.ts";
import type { BytePath, ObjectId } from "./ids.ts";
import { parentPaths } from "./ids.ts";

/** Git's file modes. */
export const fileModes = {
	file: 0o100644,
	executable: 0o100755,
	link: 0o120000,
	gitlink: 0o160000,
} as const;

export interface TreeEntry {
	readonly mode: number;
	readonly id: ObjectId;
}

/** One path that differs: `from` is the files now, `to` the target; absent means not there. */
export interface TreeChange {
	readonly path: BytePath;
	readonly from?: TreeEntry;
	readonly to?: TreeEntry;
}

/** What is on the disk at a path, and what stands above it. */
export interface DiskFact {
	readonly kind: "absent" | "file" | "link" | "folder" | "special";
	/** The nearest-to-root parent that is no real folder: a link, a file, a special file. */
	readonly blockedBy?: BytePath;
	/** When the inode last changed, in ms since the epoch. */
	readonly changedAt?: number;
	/** A parent (or the path itself) that holds a `.git`: another repository. */
	readonly repository?: BytePath;
	/** A session of Pi's, wherever it lies. */
	readonly isSession?: boolean;
	/** For a folder: paths of all that lies below it, folders left out. */
	readonly inside?: readonly BytePath[];
	/** There is more inside than was looked at. */
	readonly hasMore?: boolean;
}

export type Step =
	| { readonly kind: "delete"; readonly path: BytePath; readonly from: TreeEntry }
	| {
			readonly kind: "write";
			readonly path: BytePath;
			readonly from?: TreeEntry;
			readonly to: TreeEntry;
			/** Permission bits to create the file with, where none is there to keep them from. */
			readonly bits: number;
	  }
	/** Only the executable bit differs: the content, inode and times stay. */
	| {
			readonly kind: "chmod";
			readonly path: BytePath;
			readonly from: TreeEntry;
			readonly to: TreeEntry;
	  };

export type SkipReason =
	| { readonly kind: "not-covered"; readonly when: "now" | "then"; readonly why: NotCoveredReason }
	| { readonly kind: "ignored-then" }
	/** It was there when the target was taken, and yet is not in it. */
	| { readonly kind: "older-than-point" }
	| { readonly kind: "untracked-scope" }
	| { readonly kind: "other-repository" }
	| { readonly kind: "not-in-capture" }
	| { readonly kind: "session-file" }
	| { readonly kind: "behind-link"; readonly link: BytePath }
	| { readonly kind: "folder-in-the-way" }
	| { readonly kind: "changed-meanwhile" };

/** A path that differs from the target and is left alone, with the reason. */
export interface Skip {
	readonly path: BytePath;
	readonly reason: SkipReason;
}

export interface Counts {
	/** Files whose content, type or executable bit changes. */
	readonly changed: number;
	/** Files that come back. */
	readonly added: number;
	/** Files that go. */
	readonly deleted: number;
}

export interface Plan {
	readonly steps: readonly Step[];
	readonly skips: readonly Skip[];
	readonly counts: Counts;
}

export interface PlanInput {
	readonly changes: readonly TreeChange[];
	readonly now: Snapshot;
	readonly target: Snapshot;
	/** Paths of `changes` that the target's ignore rules ignored. */
	readonly ignoredThen: ReadonlySet<BytePath>;
	/** Only these paths, where a part is restored; all when absent. */
	readonly only?: ReadonlySet<BytePath>;
	/** Facts for every path of `changes`. */
	readonly disk: (path: BytePath) => DiskFact;
}

/** Pure. Every path of `changes` (or of `only`) becomes a step or a skip; steps are in the order to do them. */
export function planRestore(input: PlanInput): Plan {
	const wanted = input.changes.filter(({ path }) => input.only?.has(path) ?? true);
	const skips = new Map<BytePath, SkipReason>();
	const gone = new Set(wanted.filter((c) => c.to === undefined).map((c) => c.path));
	// A folder that was only renamed has old files at new paths: what comes back elsewhere was covered.
	const returning = new Set(
		wanted.flatMap(({ from, to }) => (from === undefined && to !== undefined ? [to.id] : [])),
	);
	for (const change of wanted) {
		const reason = reasonToSkip(change, input, gone, returning);
		if (reason !== undefined) skips.set(change.path, reason);
	}
	leaveBlockedFoldersWhole(wanted, input, skips);
	const kept = wanted.filter(({ path }) => !skips.has(path));
	const steps = orderSteps(kept.map((change) => stepFor(change, input.target)));
	return {
		steps,
		skips: [...skips].map(([path, reason]) => ({ path, reason })),
		counts: countSteps(steps),
	};
}

/** What the steps do, for people. */
export function countSteps(steps: readonly Step[]): Counts {
	const deleted = steps.filter((step) => step.kind === "delete").length;
	const added = steps.filter((step) => step.kind === "write" && step.from === undefined).length;
	return { changed: steps.length - deleted - added, added, deleted };
}

function reasonToSkip(
	{ path, from, to }: TreeChange,
	{ now, target, ignoredThen, disk }: PlanInput,
	gone: ReadonlySet<BytePath>,
	returning: ReadonlySet<ObjectId>,
): SkipReason | undefined {
	const fact = disk(path);
	if (fact.repository !== undefined) return { kind: "other-repository" };
	if (fact.isSession === true) return { kind: "session-file" };
	if (from?.mode === fileModes.gitlink || to?.mode === fileModes.gitlink)
		return { kind: "other-repository" };
	const hidden = uncovered(now, path);
	if (hidden !== undefined) return { kind: "not-covered", when: "now", why: hidden };
	const wasHidden = uncovered(target, path);
	if (wasHidden !== undefined) return { kind: "not-covered", when: "then", why: wasHidden };
	// [R7] Absence from the target says "did not exist" only where the target would have covered it.
	if (to === undefined && ignoredThen.has(path)) return { kind: "ignored-then" };
	// Absence from a snapshot of tracked files says "was not tracked", but for those it names as gone.
	if (to === undefined && target.head?.scope === "tracked" && !target.coverage.gone.has(path))
		return { kind: "untracked-scope" };
	if (to === undefined && from !== undefined && isOlder(fact, target) && !returning.has(from.id))
		return { kind: "older-than-point" };
	// [R5] Something is there that the capture does not hold: ignored now, or it came since. Folders are judged below.
	if (
		from === undefined &&
		(fact.kind === "file" || fact.kind === "link" || fact.kind === "special")
	)
		return { kind: "not-in-capture" };
	if (from !== undefined && fact.kind === "special") return { kind: "not-in-capture" };
	// A link above is followed by nobody [R5]; unless this very plan takes it away.
	if (fact.blockedBy !== undefined && !gone.has(fact.blockedBy))
		return to === undefined && from === undefined
			? undefined
			: { kind: "behind-link", link: fact.blockedBy };
	return undefined;
}

/** File systems stamp by a clock that ticks up to 10 ms late; some in whole seconds, even two. */
const olderByMs = 20;
const olderByMsCoarse = 2_000;

/**
 * A file whose inode did not change since before the target was taken was there then. The target would have it, had it
 * been covered: it was ignored by rules that nothing recorded, such as a .gitignore that ignored itself. [R7]
 */
function isOlder({ changedAt }: DiskFact, target: Snapshot): boolean {
	if (changedAt === undefined || target.head === undefined) return false;
	const slack = changedAt % 1_000 === 0 ? olderByMsCoarse : olderByMs;
	return changedAt < target.head.takenAt - slack;
}

function uncovered(snapshot: Snapshot, path: BytePath): NotCoveredReason | undefined {
	let lookup = lookups.get(snapshot);
	if (lookup === undefined)
		lookups.set(snapshot, (lookup = notCoveredIndex(snapshot.coverage.notCovered)));
	return lookup(path)?.reason;
}
/** One index per snapshot value; nothing is remembered beyond the value's life. */
const lookups = new WeakMap<Snapshot, ReturnType<typeof notCoveredIndex>>();

/** A write where a folder stands needs that folder to empty; else the folder and all deletes in it are left alone. */
function leaveBlockedFoldersWhole(
	changes: readonly TreeChange[],
	input: PlanInput,
	skips: Map<BytePath, SkipReason>,
): void {
	const deletes = new Set(changes.filter((c) => c.to === undefined).map((c) => c.path));
	for (const { path, to } of changes) {
		if (to === undefined || skips.has(path)) continue;
		const fact = input.disk(path);
		if (fact.kind !== "folder") continue;
		const stays = (inner: BytePath): boolean => !deletes.has(inner) || skips.has(inner);
		if (fact.hasMore !== true && !(fact.inside ?? []).some(stays)) continue;
		skips.set(path, { kind: "folder-in-the-way" });
		for (const inner of deletes)
			if (!skips.has(inner) && inner.startsWith(`${path}/`))
				skips.set(inner, { kind: "folder-in-the-way" });
	}
	// The reverse: a file that stays where the target wants a folder blocks all that belongs below it.
	for (const { path, to } of changes) {
		if (to === undefined || skips.has(path)) continue;
		const blocker = parentPaths(path).find((parent) => skips.has(parent) && deletes.has(parent));
		if (blocker !== undefined) skips.set(path, { kind: "behind-link", link: blocker });
	}
}

function stepFor({ path, from, to }: TreeChange, target: Snapshot): Step {
	if (to === undefined) {
		if (from === undefined) throw new Error("BUG: a change without sides");
		return { kind: "delete", path, from };
	}
	if (from !== undefined && from.id === to.id && isFile(from) && isFile(to))
		return { kind: "chmod", path, from, to };
	const bits = target.coverage.modes.get(path) ?? defaultBits(to, target.coverage.umask);
	return from === undefined
		? { kind: "write", path, to, bits }
		: { kind: "write", path, from, to, bits };
}

const isFile = (entry: TreeEntry): boolean =>
	entry.mode === fileModes.file || entry.mode === fileModes.executable;

const defaultBits = (entry: TreeEntry, umask: number): number =>
	(entry.mode === fileModes.executable ? 0o777 : 0o666) & ~umask;

const depth = (path: string): number => path.split("/").length;

/** Deletes deepest first, then the rest shallowest first; by name within, so that a plan is one list only. */
function orderSteps(steps: readonly Step[]): Step[] {
	const byName = (a: Step, b: Step): number => (a.path < b.path ? -1 : 1);
	const deletes = steps.filter((step) => step.kind === "delete");
	const others = steps.filter((step) => step.kind !== "delete");
	deletes.sort((a, b) => depth(b.path) - depth(a.path) || byName(a, b));
	others.sort((a, b) => depth(a.path) - depth(b.path) || byName(a, b));
	return [...deletes, ...others];
}

/** Leaves out the steps at `paths`, which changed since the plan was shown. */
export function withoutPaths(plan: Plan, paths: ReadonlySet<BytePath>): Plan {
	const hit = (step: Step): boolean => paths.has(step.path);
	if (!plan.steps.some(hit)) return plan;
	const steps = plan.steps.filter((step) => !hit(step));
	const skips = plan.steps
		.filter(hit)
		.map(({ path }): Skip => ({ path, reason: { kind: "changed-meanwhile" } }));
	return { steps, skips: [...plan.skips, ...skips], counts: countSteps(steps) };
}
