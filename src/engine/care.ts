/**
 * What is true of the store as a whole: what it weighs, whether it is whole, what processes that are gone left in it.
 *
 * For people who look after a store; no capture and no restore needs it. Only `clear` changes anything.
 */
import type { BytePath, ObjectId, SnapshotId } from "../core/ids.ts";

/** Objects that nothing but kept snapshots reaches. */
export interface Weight {
	readonly objects: number;
	/** On the disk, in bytes. */
	readonly bytes: number;
	/** The largest files among them, largest first. */
	readonly largest: readonly HeavyFile[];
}

export interface HeavyFile {
	/** A place where a snapshot has it. */
	readonly path: BytePath;
	readonly id: ObjectId;
	/** Bytes of its content. */
	readonly size: number;
}

/** A kept snapshot that is not whole any more. */
export interface Incomplete {
	readonly snapshot: SnapshotId;
	/** Objects of it that are not in the repository. */
	readonly missing: readonly ObjectId[];
}

/** A lock, or what a process left behind. */
export interface Remnant {
	readonly kind: "lock" | "leftover" | "broken-journal" | "stale-private-dir";
	readonly file: string;
	/** The process that a lock names. */
	readonly holder?: { readonly pid: number; readonly host: string };
	/** Nobody needs it: its process is gone. */
	readonly isStale: boolean;
}

export interface Care {
	/** Every kept snapshot, newest first. */
	kept(): Promise<readonly SnapshotId[]>;
	/** Reads the names of all objects of the repository. */
	weigh(): Promise<Weight>;
	/** Looks for every object of every kept snapshot, not at their content. */
	incomplete(): Promise<readonly Incomplete[]>;
	remnants(): Promise<readonly Remnant[]>;
	/** Removes what is stale and nobody needs: locks and leftovers, nothing that names a restore. */
	clear(): Promise<void>;
}
