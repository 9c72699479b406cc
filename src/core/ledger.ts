/**
 * Folds the records of one session into what they say together.
 *
 * One fold for both sources: the entries of a live session and the lines of a file. It takes *all* entries of a
 * session, not a branch: the record that binds an answer is its child, not its ancestor.
 *
 * Invariants: [R1] a ledger is a pure function of the records. [R10] what cannot be read is counted and changes nothing
 * else. Folding a prefix and then the rest equals folding all.
 */
import type { EntryId, SnapshotId } from "./ids.ts";
import type { LedgerRecord } from "./records.ts";
import { decodeRecord } from "./records.ts";

/** What the fold needs of a session entry; any entry of Pi's fits. */
export interface LedgerEntry {
	readonly type: string;
	readonly id: EntryId;
	readonly timestamp?: string;
	readonly customType?: string;
	readonly data?: unknown;
	/** Of a `label` entry: what it names, and the name; without one, the name is taken away. */
	readonly targetId?: unknown;
	readonly label?: unknown;
}

/** What a fork left for its child to take over. */
export interface ForkPending {
	/** The entry that says so. */
	readonly entry: EntryId;
	readonly timestamp: string | undefined;
	readonly current: SnapshotId | undefined;
	readonly undo: SnapshotId | undefined;
	readonly undoAfter: SnapshotId | undefined;
}

export interface Ledger {
	/** The last binding of an entry wins. */
	readonly bindings: ReadonlyMap<EntryId, SnapshotId>;
	/** What the files equal, by the newest op or fork-pending that says so. */
	readonly current: SnapshotId | undefined;
	/** The files at the newest boundary of all: what differs from it now was changed by hand, or by another session. */
	readonly latest: SnapshotId | undefined;
	/** What *undo* restores: from the newest op that has one, over all branches. */
	readonly undo: SnapshotId | undefined;
	/** The files right after the restore that it takes back, when that was one of chosen paths only. */
	readonly undoAfter: SnapshotId | undefined;
	/** The newest fork-pending. */
	readonly forkPending: ForkPending | undefined;
	/** Every snapshot that any record names. */
	readonly snapshots: ReadonlySet<SnapshotId>;
	/**
	 * When a record named each of them last, in ms since the epoch, NaN when it does not say; in the order of those
	 * records.
	 */
	readonly namedAt: ReadonlyMap<SnapshotId, number>;
	/** Names that a person gave to entries. */
	readonly labels: ReadonlyMap<EntryId, string>;
	/** Records that could not be read at all; they may name snapshots that we do not know of. [R8] */
	readonly rejected: number;
	/** References inside readable records that fell away. */
	readonly dropped: number;
}

export const emptyLedger: Ledger = {
	bindings: new Map(),
	current: undefined,
	latest: undefined,
	undo: undefined,
	undoAfter: undefined,
	forkPending: undefined,
	snapshots: new Set(),
	namedAt: new Map(),
	labels: new Map(),
	rejected: 0,
	dropped: 0,
};

/** Folds all entries of a session, oldest first. */
export const foldLedger = (entries: Iterable<LedgerEntry>): Ledger =>
	foldInto(emptyLedger, entries);

/** Folds further entries; gives the same ledger when none of them is ours. Copies once a call, not once an entry. */
export function foldInto(ledger: Ledger, entries: Iterable<LedgerEntry>): Ledger {
	let draft: Draft | undefined;
	for (const entry of entries) {
		if (entry.type === "label" && typeof entry.targetId === "string") {
			draft ??= draftOf(ledger);
			applyLabel(draft, entry.targetId, entry.label);
		}
		if (entry.type !== "custom" || entry.customType === undefined) continue;
		const record = decodeRecord(entry.customType, entry.data);
		if (record === undefined) continue;
		draft ??= draftOf(ledger);
		if (record.kind === "rejected") draft.rejected += 1;
		else apply(draft, entry, record);
	}
	return draft ?? ledger;
}

/** Counts records that were not even entries: torn, glued or over-long lines. [R10] */
export const withRejected = (ledger: Ledger, count: number): Ledger =>
	count === 0 ? ledger : { ...ledger, rejected: ledger.rejected + count };

interface Draft {
	readonly bindings: Map<EntryId, SnapshotId>;
	readonly snapshots: Set<SnapshotId>;
	readonly namedAt: Map<SnapshotId, number>;
	readonly labels: Map<EntryId, string>;
	current: SnapshotId | undefined;
	latest: SnapshotId | undefined;
	undo: SnapshotId | undefined;
	undoAfter: SnapshotId | undefined;
	forkPending: ForkPending | undefined;
	rejected: number;
	dropped: number;
}

const draftOf = (ledger: Ledger): Draft => ({
	...ledger,
	bindings: new Map(ledger.bindings),
	snapshots: new Set(ledger.snapshots),
	namedAt: new Map(ledger.namedAt),
	labels: new Map(ledger.labels),
});

function applyLabel({ labels }: Draft, entry: EntryId, label: unknown): void {
	if (typeof label === "string" && label !== "") labels.set(entry, label);
	else labels.delete(entry);
}

function apply(draft: Draft, { id, timestamp }: LedgerEntry, record: LedgerRecord): void {
	draft.dropped += record.dropped;
	const at = Date.parse(timestamp ?? "");
	for (const snapshot of record.snapshots) {
		draft.snapshots.add(snapshot);
		// Taken out first: a map keeps the place of a key that it has.
		draft.namedAt.delete(snapshot);
		draft.namedAt.set(snapshot, at);
	}
	if (record.kind === "turn" || record.kind === "op")
		for (const [entry, snapshot] of record.bindings) {
			draft.bindings.set(entry, snapshot);
			draft.latest = snapshot;
		}
	if (record.kind === "op" || record.kind === "fork-pending") {
		draft.current = record.current ?? draft.current;
		draft.latest = record.current ?? draft.latest;
	}
	if (record.kind === "op" && record.undo !== undefined) {
		draft.undo = record.undo;
		draft.undoAfter = record.undoAfter;
	}
	if (record.kind === "fork-pending") {
		const { current, undo, undoAfter } = record;
		draft.forkPending = { entry: id, timestamp, current, undo, undoAfter };
	}
}
