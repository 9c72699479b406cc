/**
 * What the engine needs of the world: a store of snapshots of one working tree, and a writer for that tree.
 *
 * `git/` implements both for repositories. Contracts stand here, beside the names; every method may throw
 * `RewindError` and nothing else.
 */
import type { FileChange, FilePatch, LineCounts } from "../core/changes.ts";
import type { NotCovered, Snapshot } from "../core/coverage.ts";
import type { BytePath, ObjectId, SnapshotId } from "../core/ids.ts";
import type { DiskFact, Skip, Step, TreeChange } from "../core/plan.ts";
import type { Hidden, KeptSnapshot, Owner, Pin } from "../core/retention.ts";

export type { Owner };

export interface CaptureRequest {
	readonly owner: Owner;
	/** Whether a record of this owner names the snapshot already; then a reuse needs no new keep commit. */
	readonly isClaimed?: (id: SnapshotId) => boolean;
	/** Paths whose permission bits are to be recorded: a restore is about to replace or delete them. */
	readonly modesOf?: readonly BytePath[];
	/** Paths to look at though they may be ignored: a restore brought them back, so they stay covered. [R5] */
	readonly also?: readonly BytePath[];
	readonly signal?: AbortSignal;
}

/** A capture that worked: the snapshot is durable and kept. [R2] */
export interface Captured {
	readonly snapshot: Snapshot;
	/** No object was written: the state equals one that is kept already. [R11] */
	readonly reused: boolean;
	/** What it does not cover, and why. */
	readonly notCovered: readonly NotCovered[];
}

/** Why a snapshot that a record names cannot be offered. */
export type Unavailable =
	/** Not in the repository any more, or not reachable from the keepalive ref. */
	| "pruned"
	/** Taken in another working tree or another repository. */
	| "other-worktree"
	/** Not a commit, or a commit of ours that is not a snapshot. */
	| "not-a-snapshot";

/** All that the keepalive ref kept at one moment. */
export interface KeptList {
	/** Where the ref was. */
	readonly tip: ObjectId;
	readonly snapshots: readonly KeptSnapshot[];
}

/** What the working trees of a repository hold, and who works in them. */
export interface Held {
	readonly pins: ReadonlyMap<SnapshotId, Pin>;
	/** Ids of sessions whose process lives. */
	readonly running: ReadonlySet<string>;
	/** What could not be read of it. [R8] */
	readonly hidden: readonly Hidden[];
}

/** The keeping of snapshots, of all working trees of a repository together. */
export interface Keeping {
	/** Absent when nothing is kept. Throws `object-missing` when what is kept cannot be read whole. */
	list(signal?: AbortSignal): Promise<KeptList | undefined>;
	held(): Promise<Held>;
	/**
	 * Keeps `live`, which are of that list, and nothing else, by one compare-and-swap. False when the ref moved since:
	 * then nothing happened. [R3]
	 */
	rewrite(from: KeptList, live: readonly KeptSnapshot[]): Promise<boolean>;
	/** Keeps snapshots, which are kept already, for one more owner. */
	claim(snapshots: readonly SnapshotId[], owner: Owner): Promise<void>;
}

export interface SnapshotStore {
	readonly keeping: Keeping;
	/** Takes a snapshot of the working tree, or reuses an equal one. Calls are run one after another. */
	capture(request: CaptureRequest): Promise<Captured>;
	/** Reads a snapshot that a record names; says why where it cannot be used. [R13] */
	resolve(id: SnapshotId): Promise<Snapshot | Unavailable>;
	/** Every path that differs between two snapshots. */
	changes(from: Snapshot, to: Snapshot): Promise<TreeChange[]>;
	/**
	 * Every path that differs, for people: renames paired, sorted by path. Reads content only where something changed
	 * under a new name.
	 */
	compare(from: Snapshot, to: Snapshot, signal?: AbortSignal): Promise<FileChange[]>;
	/** Lines added and removed, by `FileChange.path`; no entry for what is not text. Reads all that differs. */
	lineCounts(
		from: Snapshot,
		to: Snapshot,
		signal?: AbortSignal,
	): Promise<ReadonlyMap<BytePath, LineCounts>>;
	/**
	 * Of the paths that differ, those whose change no commit in between has: HEAD's at `to` has it not as it is there, or
	 * had it as it is before `from`. Absent when HEAD did not move, or it is not known where it was. By bytes: what git
	 * converts on commit never counts as committed.
	 */
	uncommitted(from: Snapshot, to: Snapshot): Promise<ReadonlySet<BytePath> | undefined>;
	/** How one file differs; throws `object-missing`. */
	patch(change: FileChange): Promise<FilePatch>;
	/** Makes content durable in the object store; nothing keeps it yet. */
	writeBlob(content: Buffer): Promise<ObjectId>;
	/** Which of `paths` the rules of `snapshot` ignored: its .gitignore files and the rules outside its tree. */
	ignoredUnder(snapshot: Snapshot, paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>>;
	/** Content of blobs, checked against their ids, in the order asked; throws `object-missing`. */
	readBlobs(
		ids: readonly ObjectId[],
		each: (id: ObjectId, content: Buffer) => Promise<void>,
	): Promise<void>;
	/** `merge`, `rebase`, `cherry-pick`, `revert` or `bisect` when one is in progress. */
	operationInProgress(): Promise<string | undefined>;
	/** How many commits HEAD has that `commit` has not; absent when that cannot be told. */
	commitsSince(commit: ObjectId): Promise<number | undefined>;
	/** Where HEAD stands now. */
	head(): Promise<{ readonly head?: ObjectId; readonly branch?: string }>;
	/** Ends helper processes. */
	close(): Promise<void>;
}

/** Content for the writes of a plan, ready on the disk; every failure it can find, it found. */
export interface Stage {
	readonly id: string;
	/** Takes the stage off the disk. Idempotent. */
	discard(): Promise<void>;
}

/** How far a restore came, kept on disk before the first write. [R9] */
export interface Journal {
	readonly v: 1;
	readonly pid: number;
	readonly host: string;
	/** Start time of the process, to tell it from a later one with its number. */
	readonly processStart: string;
	readonly sessionId: string;
	readonly target: ObjectId;
	readonly undo: ObjectId;
	readonly paths: readonly BytePath[];
	/** Content that stands in for the target's, where only a part of a file went back. */
	readonly contents?: ReadonlyMap<BytePath, ObjectId>;
	/** Folders of ours with content that waits, or that was kept aside. */
	readonly stages: readonly string[];
	/** Milliseconds since the epoch. */
	readonly startedAt: number;
}

/** What the engine knows of a restore about to begin; the writer adds the rest. */
export type JournalDraft = Pick<
	Journal,
	"sessionId" | "target" | "undo" | "paths" | "contents" | "startedAt"
> & {
	/** A step that finds its path not as planned fails the restore, instead of being left alone. */
	readonly asShown?: boolean;
	/** Paths of an interrupted restore: folders above them that are empty by now were emptied, or made, by it. */
	readonly formerPaths?: readonly BytePath[];
};

/** A journal that its process did not finish. */
export interface Interrupted {
	readonly file: string;
	readonly journal: Journal;
	/** Begun on another host, which cannot be asked whether it is still at it. */
	readonly isForeign: boolean;
}

export interface Worktree {
	/** What is on the disk at each path. */
	inspect(paths: readonly BytePath[]): Promise<(path: BytePath) => DiskFact>;
	/**
	 * Puts the content of every write beside its place; throws on a missing object, a full disk, no permission, and
	 * `aborted` when `signal` says so.
	 */
	stage(
		steps: readonly Step[],
		blobs: SnapshotStore["readBlobs"],
		signal?: AbortSignal,
	): Promise<Stage>;
	/**
	 * Does the steps. On failure it rolls back what it did and throws `restore-rolled-back`, or, when that fails too,
	 * `restore-interrupted`; then the journal stays.
	 */
	perform(stage: Stage, steps: readonly Step[], journal: JournalDraft): Promise<Performed>;
	/** Journals of processes that are gone. */
	interrupted(): Promise<Interrupted[]>;
	/** Journals of other hosts, which may still be at it. */
	elsewhere(): Promise<Interrupted[]>;
	/** Forgets a journal, and its stage. */
	forget(interrupted: Interrupted): Promise<void>;
	/** Removes what processes that are gone left behind, some minutes later. */
	clearLeftovers(): Promise<void>;
}

/** What was done, as found on the disk afterwards. [R15] */
export interface Performed {
	/** Steps whose result is on the disk. */
	readonly done: readonly Step[];
	/** Steps left alone, because the disk was not as planned when their turn came. */
	readonly skips: readonly Skip[];
	/** Ends the restore once it is recorded: the journal and the old files go. Until then a crash is named. [R9] */
	complete(): Promise<void>;
}
