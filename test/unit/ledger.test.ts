/** The fold: what the records of one session say together. */
import { expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import type { LedgerEntry } from "../../src/core/ledger.ts";
import { emptyLedger, foldInto, foldLedger } from "../../src/core/ledger.ts";
import { encodeForkPending, encodeOp, encodeTurn } from "../../src/core/records.ts";

const a = trustedObjectId("a".repeat(40));
const b = trustedObjectId("b".repeat(40));
const c = trustedObjectId("c".repeat(40));

let entries = 0;
const record = (customType: string, data: unknown): LedgerEntry => ({
	type: "custom",
	id: `e${(entries += 1)}`,
	timestamp: "2026-01-01T00:00:00.000Z",
	customType,
	data,
});

test("the last binding of an entry wins", () => {
	const ledger = foldLedger([
		record(
			"rewind-turn",
			encodeTurn([
				["u1", a],
				["a1", b],
			]),
		),
		record("rewind-op", encodeOp({ bindings: [["a1", c]] })),
	]);
	expect([...ledger.bindings]).toEqual([
		["u1", a],
		["a1", c],
	]);
	expect([...ledger.snapshots]).toEqual([a, b, c]);
});

test("current is of the newest op or fork-pending that says so, undo of the newest op that has one", () => {
	const ledger = foldLedger([
		record("rewind-op", encodeOp({ current: a, undo: b })),
		record("rewind-op", encodeOp({ current: b })),
		record("rewind-fork-pending", encodeForkPending({ current: c, undo: a })),
		record("rewind-op", encodeOp({ bindings: [["s1", a]] })),
	]);
	expect(ledger).toMatchObject({ current: c, undo: b });
	expect(ledger.forkPending).toMatchObject({ current: c, undo: a });
});

test("an undo of chosen paths says so, until a newer undo is of everything", () => {
	const chosen = record("rewind-op", encodeOp({ current: c, undo: a, undoAfter: c }));
	expect(foldLedger([chosen])).toMatchObject({ undo: a, undoAfter: c });
	const navigated = record("rewind-op", encodeOp({ current: b }));
	expect(foldLedger([chosen, navigated])).toMatchObject({ undo: a, undoAfter: c });
	const whole = record("rewind-op", encodeOp({ current: b, undo: c }));
	expect(foldLedger([chosen, whole])).toMatchObject({ undo: c, undoAfter: undefined });
});

test("the newest fork-pending names the entry that says so", () => {
	const newest = record("rewind-fork-pending", encodeForkPending({ current: b }));
	const ledger = foldLedger([
		record("rewind-fork-pending", encodeForkPending({ current: a, undo: a })),
		newest,
	]);
	expect(ledger.forkPending).toEqual({
		entry: newest.id,
		timestamp: newest.timestamp,
		current: b,
		undo: undefined,
		undoAfter: undefined,
	});
});

test("only custom entries are records, whatever else carries our name", () => {
	const data = encodeTurn([["u1", a]]);
	const ledger = foldLedger([
		{ ...record("rewind-turn", data), type: "custom_message" },
		record("other", data),
		{ type: "custom", id: "x" },
		{ type: "message", id: "u1" },
	]);
	expect(ledger).toBe(emptyLedger);
});

test("what cannot be read is counted and changes nothing else [R10]", () => {
	const good = record("rewind-turn", encodeTurn([["u1", a]]));
	const bad = [
		record("rewind-turn", { v: 3, snapshots: [b], bindings: [["u1", 0]] }),
		record("rewind-op", "text"),
	];
	expect(foldLedger([...bad, good])).toEqual({ ...foldLedger([good]), rejected: 2 });
	expect(foldLedger([record("rewind-op", { v: 2, snapshots: [], undo: 0 })]).dropped).toBe(1);
});

test("folding further gives a new ledger, or the same when nothing of ours came [R1]", () => {
	const before = foldLedger([record("rewind-turn", encodeTurn([["u1", a]]))]);
	const after = foldInto(before, [record("rewind-turn", encodeTurn([["u1", b]]))]);
	expect(before.bindings.get("u1")).toBe(a);
	expect(after.bindings.get("u1")).toBe(b);
	expect(foldInto(after, [{ type: "message", id: "m" }])).toBe(after);
});
