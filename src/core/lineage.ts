/**
 * Looks up what a session does not say itself in the sessions that it was forked from.
 *
 * Takes ledgers that were read already; knows no files.
 *
 * Invariants: [R1] the answer is a pure function of the ledgers. A point is inherited only by an entry that can have
 * been copied: ids are short and unique within one session only, so an entry that is younger than a header between the
 * two was not copied from there, whatever its id.
 */
import type { EntryId, SnapshotId } from "./ids.ts";
import type { Ledger } from "./ledger.ts";

/** A session and what its records say. */
export interface SessionLedger {
	readonly sessionId: string;
	/** Absent for an ephemeral session, or one that was not written yet. */
	readonly file?: string;
	/** When the header was written, in ms since the epoch; NaN when it does not say, then nothing is inherited. */
	readonly startedAt: number;
	readonly ledger: Ledger;
}

/** This session first, then its ancestors, nearest first. */
export type Chain = readonly SessionLedger[];

/** A snapshot, and the place in the chain of the session whose records name it. */
export interface Resolved {
	readonly snapshot: SnapshotId;
	readonly from: number;
}

/** What *undo* restores. */
export interface ResolvedUndo extends Resolved {
	/** Only what differs between `snapshot` and this is to be restored; everything when absent. */
	readonly after?: SnapshotId;
}

/** The snapshot that belongs to an entry of this session; absent when no session of the chain binds it. */
export function resolvePoint(
	entry: { readonly id: EntryId; readonly timestamp: string },
	chain: Chain,
): Resolved | undefined {
	const writtenAt = Date.parse(entry.timestamp);
	for (const [from, { startedAt, ledger }] of chain.entries()) {
		const snapshot = ledger.bindings.get(entry.id);
		if (snapshot !== undefined) return { snapshot, from };
		// Written so that a time that is not known (NaN) ends the search.
		if (!(writtenAt <= startedAt)) return undefined;
	}
	return undefined;
}

/** What *undo* restores: this session's newest, else the nearest ancestor's. */
export function resolveUndo(chain: Chain): ResolvedUndo | undefined {
	for (const [from, { ledger }] of chain.entries()) {
		const { undo: snapshot, undoAfter: after } = ledger;
		if (snapshot !== undefined)
			return { snapshot, from, ...(after === undefined ? {} : { after }) };
	}
	return undefined;
}
