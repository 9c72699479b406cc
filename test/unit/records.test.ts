/** The wire format: what predecessors wrote is read, what is hostile falls away alone. */
import { describe, expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import {
	customTypes,
	decodeRecord,
	encodeForkPending,
	encodeOp,
	encodeTurn,
	recordListLengthMax,
} from "../../src/core/records.ts";

const a = trustedObjectId("a".repeat(40));
const b = trustedObjectId("b".repeat(40));
const long = trustedObjectId("c".repeat(64));

/** As a session file gives it back. */
const written = (data: unknown): unknown => JSON.parse(JSON.stringify(data));

describe("what the predecessors wrote", () => {
	test("a turn binds entries by their place in the list", () => {
		const data = {
			v: 2,
			snapshots: [a, b],
			bindings: [
				["u1", 0],
				["a1", 1],
				["a2", 1],
			],
		};
		expect(decodeRecord("rewind-turn", data)).toEqual({
			kind: "turn",
			bindings: [
				["u1", a],
				["a1", b],
				["a2", b],
			],
			snapshots: [a, b],
			dropped: 0,
		});
	});

	test("an op has bindings, current and undo, each optional", () => {
		expect(decodeRecord("rewind-op", { v: 2, snapshots: [] })).toEqual({
			kind: "op",
			bindings: [],
			snapshots: [],
			dropped: 0,
		});
		const data = { v: 2, snapshots: [a, b], bindings: [["s1", 0]], current: 0, undo: 1 };
		expect(decodeRecord("rewind-op", data)).toEqual({
			kind: "op",
			bindings: [["s1", a]],
			current: a,
			undo: b,
			snapshots: [a, b],
			dropped: 0,
		});
	});

	test("a fork-pending names its snapshots directly, of either object format", () => {
		expect(decodeRecord("rewind-fork-pending", { v: 2, current: long, undo: a })).toEqual({
			kind: "fork-pending",
			current: long,
			undo: a,
			snapshots: [long, a],
			dropped: 0,
		});
	});

	test("another extension's entry is not a record", () => {
		expect(decodeRecord("rewind-turns", { v: 2 })).toBeUndefined();
		expect(decodeRecord("constructor", { v: 2 })).toBeUndefined();
	});
});

describe("what is hostile, newer or damaged", () => {
	test.each([
		"--output=/outside/pwn",
		"HEAD",
		"refs/heads/x",
		"a".repeat(41),
		"a".repeat(39),
		"A".repeat(40),
		`${"a".repeat(40)}\n`,
		"",
		7,
		null,
		[a],
		{ toString: a },
	])("takes only what refers to it along: %j [R13]", (hostile) => {
		const data = {
			v: 2,
			snapshots: [hostile, b],
			bindings: [
				["u1", 0],
				["a1", 1],
			],
		};
		expect(decodeRecord("rewind-turn", data)).toMatchObject({
			bindings: [["a1", b]],
			snapshots: [b],
			dropped: 1,
		});
		const op = { v: 2, snapshots: [hostile, b], current: 0, undo: 1 };
		expect(decodeRecord("rewind-op", op)).toEqual({
			kind: "op",
			bindings: [],
			undo: b,
			snapshots: [b],
			dropped: 1,
		});
		const pending = { v: 2, current: hostile, undo: b };
		expect(decodeRecord("rewind-fork-pending", pending)).toEqual({
			kind: "fork-pending",
			undo: b,
			snapshots: [b],
			dropped: 1,
		});
	});

	test.each([-1, 2, 0.5, Number.NaN, 1e300, "0", null, [0]])(
		"drops a reference to place %j of two [R13]",
		(index) => {
			const data = { v: 2, snapshots: [a, b], bindings: [["u1", index]], current: index, undo: 0 };
			expect(decodeRecord("rewind-op", data)).toEqual({
				kind: "op",
				bindings: [],
				undo: a,
				snapshots: [a, b],
				dropped: 2,
			});
		},
	);

	test.each([[["u1"]], [[7, 0]], [["", 0]], ["u1"], [null], [{ 0: "u1", 1: 0 }]])(
		"drops a binding that is not an entry and a place: %j",
		(binding) => {
			const data = { v: 2, snapshots: [a], bindings: [binding, ["a1", 0]] };
			expect(decodeRecord("rewind-turn", data)).toMatchObject({
				bindings: [["a1", a]],
				dropped: 1,
			});
		},
	);

	test.each([
		[{ v: 3, snapshots: [], bindings: [] }, "unknown-version"],
		[{ v: "2", snapshots: [], bindings: [] }, "unknown-version"],
		[{ snapshots: [], bindings: [] }, "unknown-version"],
		[null, "unknown-version"],
		[undefined, "unknown-version"],
		["text", "unknown-version"],
		[{ v: 2 }, "malformed"],
		[{ v: 2, snapshots: {}, bindings: [] }, "malformed"],
		[{ v: 2, snapshots: [], bindings: "x" }, "malformed"],
	])("rejects %j as a whole: %s [R10]", (data, reason) => {
		expect(decodeRecord("rewind-turn", data)).toEqual({ kind: "rejected", reason });
	});

	test("ignores unknown keys and is not harmed by __proto__ [R10]", () => {
		const text = `{"v":2,"snapshots":["${a}"],"bindings":[["__proto__",0]],"__proto__":{"undo":0},"new":[1]}`;
		expect(decodeRecord("rewind-op", JSON.parse(text))).toEqual({
			kind: "op",
			bindings: [["__proto__", a]],
			snapshots: [a],
			dropped: 0,
		});
		expect(Object.hasOwn(Object.prototype, "undo")).toBe(false);
	});

	test("looks at no more than a bounded number of snapshots and bindings, and counts the rest", () => {
		const data = {
			v: 2,
			snapshots: [...Array(recordListLengthMax).fill(a), b],
			bindings: [
				["last", recordListLengthMax],
				...Array.from({ length: recordListLengthMax + 4 }, () => ["u1", 0]),
			],
		};
		const record = decodeRecord("rewind-turn", data);
		expect(record).toMatchObject({ kind: "turn", snapshots: [a], dropped: 1 + 5 });
		expect(record).toHaveProperty("bindings.length", recordListLengthMax - 1);
	});

	test("a note of a restore that cannot be read leaves the op", () => {
		const data = { v: 2, snapshots: [a], current: 0, restored: { what: "magic", changed: -1 } };
		expect(decodeRecord("rewind-op", data)).toEqual({
			kind: "op",
			bindings: [],
			current: a,
			snapshots: [a],
			dropped: 1,
		});
	});
});

describe("what is written", () => {
	test("lists each snapshot once, in the order of first use", () => {
		expect(
			written(
				encodeTurn([
					["u1", a],
					["a1", b],
					["a2", a],
				]),
			),
		).toEqual({
			v: 2,
			snapshots: [a, b],
			bindings: [
				["u1", 0],
				["a1", 1],
				["a2", 0],
			],
		});
		expect(written(encodeOp({ current: a, undo: a }))).toEqual({
			v: 2,
			snapshots: [a],
			current: 0,
			undo: 0,
		});
		expect(written(encodeForkPending({ current: a }))).toEqual({ v: 2, current: a });
	});

	test("the note of a restore says what came of it [R15]", () => {
		const restored = { what: "undo", changed: 3, added: 1, deleted: 0, skipped: 2 } as const;
		const data = written(encodeOp({ current: b, undo: a, restored: { ...restored, label: "u1" } }));
		expect(decodeRecord(customTypes.op, data)).toEqual({
			kind: "op",
			bindings: [],
			current: b,
			undo: a,
			restored: { ...restored, label: "u1" },
			snapshots: [b, a],
			dropped: 0,
		});
	});
});

test("an undo of chosen paths whose paths cannot be told is no undo: it would become one of everything", () => {
	const data = { v: 2, snapshots: ["a".repeat(40), "b".repeat(40)], undo: 0, undoAfter: 9 };
	const record = decodeRecord("rewind-op", data);
	expect(record).toMatchObject({ kind: "op", dropped: 1 });
	expect(record).not.toHaveProperty("undo");
	expect(decodeRecord("rewind-op", { ...data, undoAfter: 1 })).toHaveProperty("undo");
});
