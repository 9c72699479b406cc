/**
 * The wire format of the ledger: what stands in a session file, and what it means.
 *
 * Version 2, shared with the predecessors (pi-rewind-hook 1.8, pi-rewind 0.84):
 *   rewind-turn          { v: 2, snapshots: [id…], bindings: [[entryId, index]…] }
 *   rewind-op            { v: 2, snapshots: [id…], bindings?, current?: index, undo?: index, undoAfter?: index, restored? }
 *   rewind-fork-pending  { v: 2, current: id, undo?: id, undoAfter?: id }
 * `index` points into `snapshots`, where each id stands once. `undoAfter` and `restored` are ours; older readers ignore
 * them.
 *
 * Invariants: [R10] an unknown version is rejected as a whole, unknown keys are ignored, nothing throws. [R13] what is
 * not exactly a full object id takes only what refers to it along, and that is counted. decode ∘ encode is identity.
 *
 * Limit: whether an id names a snapshot that exists is not known here.
 */
import * as v from "valibot";
import type { EntryId, SnapshotId } from "./ids.ts";
import { decodeAnyObjectId } from "./ids.ts";

/** Names of our custom entries; part of the format. */
export const customTypes = {
	turn: "rewind-turn",
	op: "rewind-op",
	forkPending: "rewind-fork-pending",
} as const;

/** Snapshots and bindings looked at in one record; real records hold tens. */
export const recordListLengthMax = 10_000;

/** Characters of a label that a record keeps. */
export const labelLengthMax = 200;

/** An entry and the snapshot that belongs to it. */
export type Binding = readonly [entry: EntryId, snapshot: SnapshotId];

/** What a restore did, as it was verified afterwards. [R15] */
export interface Restored {
	readonly what: "restore" | "undo" | "recovery";
	readonly changed: number;
	readonly added: number;
	readonly deleted: number;
	readonly skipped: number;
	/** Where the files went back to, in words for a person. */
	readonly label?: string;
}

interface Named {
	/** Every id that the record lists, used or not: a sweep keeps them all. [R8] */
	readonly snapshots: readonly SnapshotId[];
	/** References and notes that could not be read and fell away. [R10] */
	readonly dropped: number;
}

/** The points of one prompt. */
export interface TurnRecord extends Named {
	readonly kind: "turn";
	readonly bindings: readonly Binding[];
}

/** A navigation, a restore, or an entry bound outside a prompt. */
export interface OpRecord extends Named {
	readonly kind: "op";
	readonly bindings: readonly Binding[];
	/** The files equal this snapshot after the op. */
	readonly current?: SnapshotId;
	/** The files as they were before the restore. */
	readonly undo?: SnapshotId;
	/** The files right after a restore of chosen paths: an undo of it touches only what differs between the two. */
	readonly undoAfter?: SnapshotId;
	/** Present exactly when the op was a restore of ours. */
	readonly restored?: Restored;
}

/** Left in the parent by a fork, for the child to take over. */
export interface ForkPendingRecord extends Named {
	readonly kind: "fork-pending";
	readonly current?: SnapshotId;
	readonly undo?: SnapshotId;
	readonly undoAfter?: SnapshotId;
}

export type LedgerRecord = TurnRecord | OpRecord | ForkPendingRecord;

/** One of ours by name, but not to be read; skipped and counted, never rewritten. [R10] */
export interface RejectedRecord {
	readonly kind: "rejected";
	readonly reason: "unknown-version" | "malformed";
}

const version = v.literal(2);
const list = v.array(v.unknown());
const anything = v.optional(v.unknown());
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const versionSchema = v.object({ v: version });
const turnSchema = v.object({ v: version, snapshots: list, bindings: list });
const opSchema = v.object({
	v: version,
	snapshots: list,
	bindings: anything,
	current: anything,
	undo: anything,
	undoAfter: anything,
	restored: anything,
});
const forkPendingSchema = v.object({
	v: version,
	current: v.unknown(),
	undo: anything,
	undoAfter: anything,
});
const restoredSchema = v.object({
	what: v.picklist(["restore", "undo", "recovery"]),
	changed: count,
	added: count,
	deleted: count,
	skipped: count,
	label: v.optional(v.string()),
});

/** Decodes the data of a custom entry; absent when the entry is not one of ours. */
export function decodeRecord(
	customType: string,
	data: unknown,
): LedgerRecord | RejectedRecord | undefined {
	switch (customType) {
		case customTypes.turn:
			return decodeTurn(data);
		case customTypes.op:
			return decodeOp(data);
		case customTypes.forkPending:
			return decodeForkPending(data);
		default:
			return undefined;
	}
}

function decodeTurn(data: unknown): TurnRecord | RejectedRecord {
	const result = v.safeParse(turnSchema, data);
	if (!result.success) return rejection(data);
	const reader = referenceReader(result.output.snapshots);
	const bindings = reader.bindings(result.output.bindings);
	return { kind: "turn", bindings, ...reader.named() };
}

function decodeOp(data: unknown): OpRecord | RejectedRecord {
	const result = v.safeParse(opSchema, data);
	if (!result.success) return rejection(data);
	const reader = referenceReader(result.output.snapshots);
	const bindings = reader.bindings(result.output.bindings ?? []);
	const current = reader.optional(result.output.current, reader.at);
	const undoAfter = reader.optional(result.output.undoAfter, reader.at);
	const isWholeUndo = result.output.undoAfter === undefined || undoAfter !== undefined;
	// Without what it may touch, an undo of chosen paths would become one of everything.
	const undo = isWholeUndo ? reader.optional(result.output.undo, reader.at) : undefined;
	const restored = reader.optional(result.output.restored, decodeRestored);
	const optional = present({ current, undo, undoAfter, restored });
	return { kind: "op", bindings, ...optional, ...reader.named() };
}

function decodeForkPending(data: unknown): ForkPendingRecord | RejectedRecord {
	const result = v.safeParse(forkPendingSchema, data);
	if (!result.success) return rejection(data);
	const { output } = result;
	const reader = referenceReader([output.current, output.undo, output.undoAfter]);
	const current = reader.optional(output.current, decodeAnyObjectId);
	const undo = reader.optional(output.undo, decodeAnyObjectId);
	const undoAfter = reader.optional(output.undoAfter, decodeAnyObjectId);
	return { kind: "fork-pending", ...present({ current, undo, undoAfter }), ...reader.named() };
}

/** A note that is not one of ours is no note; the record it stands in is still good. */
function decodeRestored(value: unknown): Restored | undefined {
	const result = v.safeParse(restoredSchema, value);
	if (!result.success) return undefined;
	const { label, ...counts } = result.output;
	return { ...counts, ...present({ label: label?.slice(0, labelLengthMax) }) };
}

function rejection(data: unknown): RejectedRecord {
	const reason = v.is(versionSchema, data) ? "malformed" : "unknown-version";
	return { kind: "rejected", reason };
}

/** Reads what refers into a record's list of snapshots, counting what falls away. */
function referenceReader(listed: readonly unknown[]) {
	const ids = listed.slice(0, recordListLengthMax).map(decodeAnyObjectId);
	let dropped = 0;

	/** Negative, fractional and too large indexes find nothing, as any list has it. */
	const at = (index: unknown): SnapshotId | undefined =>
		typeof index === "number" ? ids[index] : undefined;

	const binding = (value: unknown): Binding | undefined => {
		if (!Array.isArray(value)) return undefined;
		const [entry, index]: readonly unknown[] = value;
		const snapshot = at(index);
		if (typeof entry !== "string" || entry === "" || snapshot === undefined) return undefined;
		return [entry, snapshot];
	};

	/** Absent stays absent; present but not readable falls away. */
	function optional<T>(value: unknown, decode: (value: unknown) => T | undefined): T | undefined {
		if (value === undefined) return undefined;
		const decoded = decode(value);
		if (decoded === undefined) dropped += 1;
		return decoded;
	}

	function bindings(value: unknown): Binding[] {
		const values = optional(value, asList) ?? [];
		dropped += Math.max(0, values.length - recordListLengthMax);
		return values
			.slice(0, recordListLengthMax)
			.map((item) => optional(item, binding))
			.filter((item) => item !== undefined);
	}

	const named = (): Named => ({
		snapshots: [...new Set(ids.filter((id) => id !== undefined))],
		dropped,
	});

	return { at, optional, bindings, named };
}

const asList = (value: unknown): readonly unknown[] | undefined =>
	Array.isArray(value) ? value : undefined;

/** The properties of `values` that are there. */
function present<T extends object>(values: T): Present<T> {
	const kept: Present<T> = { ...values };
	for (const key in kept) if (kept[key] === undefined) delete kept[key];
	return kept;
}
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Data of a `rewind-turn` entry. */
export interface TurnData {
	readonly v: 2;
	readonly snapshots: readonly SnapshotId[];
	readonly bindings: readonly (readonly [EntryId, number])[];
}

/** Data of a `rewind-op` entry. */
export interface OpData {
	readonly v: 2;
	readonly snapshots: readonly SnapshotId[];
	readonly bindings?: readonly (readonly [EntryId, number])[];
	readonly current?: number;
	readonly undo?: number;
	readonly undoAfter?: number;
	readonly restored?: Restored;
}

/** Data of a `rewind-fork-pending` entry. */
export interface ForkPendingData {
	readonly v: 2;
	readonly current: SnapshotId;
	readonly undo?: SnapshotId;
	readonly undoAfter?: SnapshotId;
}

/** The data to append for the points of a prompt. The snapshots must be durable and kept by now. [R2] */
export function encodeTurn(bindings: readonly Binding[]): TurnData {
	const table = snapshotTable();
	const encoded = bindings.map(([entry, id]) => [entry, table.indexOf(id)] as const);
	return { v: 2, snapshots: table.snapshots, bindings: encoded };
}

/** The data to append for an op. The snapshots must be durable and kept by now. [R2] */
export function encodeOp(op: {
	readonly bindings?: readonly Binding[];
	readonly current?: SnapshotId;
	readonly undo?: SnapshotId;
	readonly undoAfter?: SnapshotId;
	readonly restored?: Restored;
}): OpData {
	const table = snapshotTable();
	const place = (id: SnapshotId | undefined): number | undefined =>
		id === undefined ? undefined : table.indexOf(id);
	const bindings = op.bindings?.map(([entry, id]) => [entry, table.indexOf(id)] as const);
	const [current, undo, undoAfter] = [place(op.current), place(op.undo), place(op.undoAfter)];
	const restored = op.restored === undefined ? undefined : decodeRestored(op.restored);
	return {
		v: 2,
		snapshots: table.snapshots,
		...present({ bindings: bindings?.length === 0 ? undefined : bindings }),
		...present({ current, undo, undoAfter, restored }),
	};
}

/** The data to append for a fork that the child has yet to take over. */
export function encodeForkPending(pending: {
	readonly current: SnapshotId;
	readonly undo?: SnapshotId;
	readonly undoAfter?: SnapshotId;
}): ForkPendingData {
	const { current, undo, undoAfter } = pending;
	return { v: 2, current, ...present({ undo, undoAfter }) };
}

/** Gives every snapshot one place in the list, in the order of first use. */
function snapshotTable() {
	const places = new Map<SnapshotId, number>();
	const snapshots: SnapshotId[] = [];
	const indexOf = (id: SnapshotId): number => {
		const known = places.get(id);
		if (known !== undefined) return known;
		places.set(id, snapshots.length);
		return snapshots.push(id) - 1;
	};
	return { snapshots, indexOf };
}
