/** Laws of the wire format, over random records and random JSON. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeAnyObjectId, trustedObjectId } from "../../src/core/ids.ts";
import type { Restored } from "../../src/core/records.ts";
import {
	customTypes,
	decodeRecord,
	encodeForkPending,
	encodeOp,
	encodeTurn,
	labelLengthMax,
} from "../../src/core/records.ts";

/** Few, so that records repeat them. */
const snapshot = fc
	.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom(40, 64))
	.map(([digit, length]) => trustedObjectId(String(digit).repeat(length)));
const entryId = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("__proto__", "constructor"));
const bindings = fc.array(fc.tuple(entryId, snapshot));
const count = fc.nat();
const restored: fc.Arbitrary<Restored> = fc.record(
	{
		what: fc.constantFrom("restore", "undo", "recovery"),
		changed: count,
		added: count,
		deleted: count,
		skipped: count,
		label: fc.string({ maxLength: labelLengthMax }),
	},
	{ requiredKeys: ["what", "changed", "added", "deleted", "skipped"] },
);

/** As a session file gives it back. */
const written = (data: unknown): unknown => JSON.parse(JSON.stringify(data));

test("a turn that is written and read is the same", () => {
	fc.assert(
		fc.property(bindings, (points) => {
			const snapshots = [...new Set(points.map(([, id]) => id))];
			const record = decodeRecord(customTypes.turn, written(encodeTurn(points)));
			expect(record).toEqual({ kind: "turn", bindings: points, snapshots, dropped: 0 });
		}),
	);
});

test("an op that is written and read is the same", () => {
	const op = fc.record(
		{ bindings, current: snapshot, undo: snapshot, undoAfter: snapshot, restored },
		{ requiredKeys: [] },
	);
	fc.assert(
		fc.property(op, (said) => {
			const { bindings: points = [], current, undo, undoAfter } = said;
			const named = [...points.map(([, id]) => id), current, undo, undoAfter];
			const snapshots = [...new Set(named.filter((id) => id !== undefined))];
			const record = decodeRecord(customTypes.op, written(encodeOp(said)));
			expect(record).toEqual({ kind: "op", ...said, bindings: points, snapshots, dropped: 0 });
		}),
	);
});

test("a fork-pending that is written and read is the same", () => {
	const pending = fc.record(
		{ current: snapshot, undo: snapshot, undoAfter: snapshot },
		{ requiredKeys: ["current"] },
	);
	fc.assert(
		fc.property(pending, (said) => {
			const { current, undo, undoAfter } = said;
			const snapshots = [...new Set([current, undo, undoAfter].filter((id) => id !== undefined))];
			const record = decodeRecord(customTypes.forkPending, written(encodeForkPending(said)));
			expect(record).toEqual({ kind: "fork-pending", ...said, snapshots, dropped: 0 });
		}),
	);
});

test("whatever stands in a session file, decoding ends, and only full object ids come out [R10] [R13]", () => {
	const part = fc.oneof(snapshot, fc.integer({ min: -2, max: 4 }), fc.jsonValue());
	const list = fc.oneof(fc.array(part), fc.array(fc.tuple(part, part)), part);
	const likely = fc.record(
		{
			v: fc.oneof(fc.constant(2), part),
			snapshots: list,
			bindings: list,
			current: part,
			undo: part,
			undoAfter: part,
			restored: fc.oneof(part, restored),
		},
		{ requiredKeys: [] },
	);
	const customType = fc.constantFrom(...Object.values(customTypes));
	fc.assert(
		fc.property(customType, fc.oneof(likely, fc.jsonValue(), fc.anything()), (type, data) => {
			const record = decodeRecord(type, data);
			if (record === undefined || record.kind === "rejected") return record !== undefined;
			const bound = record.kind === "fork-pending" ? [] : record.bindings.map(([, id]) => id);
			const single = record.kind === "turn" ? [] : [record.current, record.undo, record.undoAfter];
			const named = [...bound, ...single].filter((id) => id !== undefined);
			expect(record.snapshots.map(decodeAnyObjectId)).toEqual(record.snapshots);
			expect(record.snapshots).toEqual(expect.arrayContaining(named));
			return true;
		}),
		{ numRuns: 1_000 },
	);
});
