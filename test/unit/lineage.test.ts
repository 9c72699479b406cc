/** Inheritance: a point found in an ancestor, and the short ids that only look like it. */
import { expect, test } from "vitest";
import type { ObjectId } from "../../src/core/ids.ts";
import { trustedObjectId } from "../../src/core/ids.ts";
import { emptyLedger } from "../../src/core/ledger.ts";
import type { SessionLedger } from "../../src/core/lineage.ts";
import { resolvePoint, resolveUndo } from "../../src/core/lineage.ts";

const a = trustedObjectId("a".repeat(40));
const b = trustedObjectId("b".repeat(40));

/** Minutes after noon. */
const at = (minute: number): number => Date.UTC(2026, 0, 1, 12, minute);
const entry = (id: string, minute: number) => ({
	id,
	timestamp: new Date(at(minute)).toISOString(),
});

function session(
	startedAt: number,
	bindings: readonly (readonly [string, ObjectId])[],
	undo?: ObjectId,
): SessionLedger {
	const ledger = { ...emptyLedger, bindings: new Map(bindings), undo };
	return { sessionId: `s${startedAt}`, startedAt, ledger };
}

// grandparent 12:00 ──u1 12:01──u2 12:05──┐ parent 12:10 ──u3 12:15──┐ child 12:20 ──u4 12:25

test("a session's own binding comes first", () => {
	const chain = [session(at(20), [["u1", a]]), session(at(10), [["u1", b]])];
	expect(resolvePoint(entry("u1", 1), chain)).toEqual({ snapshot: a, from: 0 });
});

test("an entry that was copied is looked up in the nearest ancestor that binds it, at any depth", () => {
	const chain = [session(at(20), []), session(at(10), [["u3", b]]), session(at(0), [["u1", a]])];
	expect(resolvePoint(entry("u1", 1), chain)).toEqual({ snapshot: a, from: 2 });
	expect(resolvePoint(entry("u3", 15), chain)).toEqual({ snapshot: b, from: 1 });
});

test("an entry as old as the header is inherited", () => {
	const chain = [session(at(20), []), session(at(10), [["u3", a]])];
	expect(resolvePoint(entry("u3", 20), chain)).toEqual({ snapshot: a, from: 1 });
});

test("an entry younger than a header between the two is another one with the same short id", () => {
	const chain = [session(at(20), []), session(at(10), []), session(at(0), [["u1", a]])];
	expect(resolvePoint(entry("u1", 25), chain)).toBeUndefined();
	expect(resolvePoint(entry("u1", 15), chain)).toBeUndefined();
	expect(resolvePoint(entry("u1", 10), chain)).toEqual({ snapshot: a, from: 2 });
});

test("nothing is inherited across a time that is not known", () => {
	const parent = session(at(10), [["u1", a]]);
	expect(resolvePoint(entry("u1", 1), [session(Number.NaN, []), parent])).toBeUndefined();
	const undated = { id: "u1", timestamp: "yesterday" };
	expect(resolvePoint(undated, [session(at(20), []), parent])).toBeUndefined();
	expect(resolvePoint(undated, [parent])).toEqual({ snapshot: a, from: 0 });
});

test("undo is this session's, else the nearest ancestor's", () => {
	const parent = session(at(10), [], b);
	expect(resolveUndo([session(at(20), [], a), parent])).toEqual({ snapshot: a, from: 0 });
	expect(resolveUndo([session(at(20), []), session(at(15), []), parent])).toEqual({
		snapshot: b,
		from: 2,
	});
	expect(resolveUndo([])).toBeUndefined();
	const chosen = { ...parent, ledger: { ...parent.ledger, undoAfter: a } };
	expect(resolveUndo([session(at(20), []), chosen])).toEqual({ snapshot: b, after: a, from: 1 });
});
