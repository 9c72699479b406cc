/**
 * The session that runs now: its records, its ancestors', and appending to it.
 *
 * Invariants: [R1] everything is folded from entries; nothing is remembered that they do not say. [R10] entries are
 * shared with Pi and never changed.
 */
import { resolve } from "node:path";
import type { ExtensionAPI, ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import type { EntryId, SnapshotId } from "../core/ids.ts";
import { foldLedger, type Ledger } from "../core/ledger.ts";
import {
	type Chain,
	type ResolvedUndo,
	resolvePoint,
	resolveUndo,
	type SessionLedger,
} from "../core/lineage.ts";
import {
	type Binding,
	customTypes,
	encodeForkPending,
	encodeOp,
	encodeTurn,
	type Restored,
} from "../core/records.ts";
import type { Owner } from "../engine/ports.ts";
import type { LineageProblem, SessionLog } from "../sessions/log.ts";

export interface OpDraft {
	readonly bindings?: readonly Binding[];
	readonly current?: SnapshotId;
	readonly undo?: SnapshotId;
	/** The files right after a restore of chosen paths only. */
	readonly undoAfter?: SnapshotId;
	readonly restored?: Restored;
}

export interface Session {
	readonly owner: Owner;
	readonly isEphemeral: boolean;
	/** The file of the session that it was forked from. */
	readonly parentFile: string | undefined;
	ledger(): Ledger;
	/** This session and its ancestors, read once; a missing ancestor ends the chain with a problem. */
	lineage(): Promise<{ readonly chain: Chain; readonly problems: readonly LineageProblem[] }>;
	point(entry: SessionEntry): Promise<SnapshotId | undefined>;
	undo(): Promise<ResolvedUndo | undefined>;
	entry(id: EntryId): SessionEntry | undefined;
	entries(): readonly SessionEntry[];
	/** From the root to the leaf. */
	branch(): readonly SessionEntry[];
	appendTurn(bindings: readonly Binding[]): void;
	/** Appends nothing when the draft says nothing. */
	appendOp(draft: OpDraft): void;
	/** Appends in any case: Pi stores no leaf, so without an entry a restart would land on the branch left behind. */
	appendArrival(draft: OpDraft): void;
	appendForkPending(pending: Parameters<typeof encodeForkPending>[0]): void;
}

/** `inherited` is the chain of the session that an ephemeral one was forked from: no file tells it. */
export function openSession(
	pi: ExtensionAPI,
	ctx: ExtensionContext,
	log: SessionLog,
	inherited: Chain,
): Session {
	const manager = ctx.sessionManager;
	const file = manager.getSessionFile();
	// A relative --session-dir is relative to where the process runs, not to the session's folder.
	const sessionFile = file === undefined ? undefined : resolve(file);
	const owner: Owner = {
		sessionId: manager.getSessionId(),
		...(sessionFile === undefined ? {} : { sessionFile }),
	};
	const parent = manager.getHeader()?.parentSession;
	const ledger = (): Ledger => foldLedger(manager.getEntries());
	let ancestors:
		| Promise<{ ancestors: readonly SessionLedger[]; problems: readonly LineageProblem[] }>
		| undefined;

	async function lineage() {
		const header = manager.getHeader();
		ancestors ??= log.readLineage(header?.parentSession, { relativeTo: process.cwd() });
		const read = await ancestors;
		const own: SessionLedger = {
			sessionId: owner.sessionId,
			...(sessionFile === undefined ? {} : { file: sessionFile }),
			startedAt: Date.parse(header?.timestamp ?? ""),
			ledger: ledger(),
		};
		const older = read.ancestors.length > 0 ? read.ancestors : inherited;
		return { chain: [own, ...older], problems: read.problems };
	}

	return {
		owner,
		isEphemeral: sessionFile === undefined,
		parentFile: parent === undefined || parent === "" ? undefined : resolve(parent),
		ledger,
		lineage,
		point: async (entry) => resolvePoint(entry, (await lineage()).chain)?.snapshot,
		undo: async () => resolveUndo((await lineage()).chain),
		entry: (id) => manager.getEntry(id),
		entries: () => manager.getEntries(),
		branch: () => manager.getBranch(),
		appendTurn: (bindings) => pi.appendEntry(customTypes.turn, encodeTurn(bindings)),
		appendOp(draft) {
			const data = encodeOp(draft);
			if (data.snapshots.length > 0) pi.appendEntry(customTypes.op, data);
		},
		appendArrival: (draft) => pi.appendEntry(customTypes.op, encodeOp(draft)),
		appendForkPending: (pending) =>
			pi.appendEntry(customTypes.forkPending, encodeForkPending(pending)),
	};
}
