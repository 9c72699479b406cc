/** Laws of the fold and of inheritance, over random sessions. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import type { LedgerEntry } from "../../src/core/ledger.ts";
import { emptyLedger, foldInto, foldLedger } from "../../src/core/ledger.ts";
import type { Chain, Resolved, SessionLedger } from "../../src/core/lineage.ts";
import { resolvePoint, resolveUndo } from "../../src/core/lineage.ts";
import { decodeRecord, encodeForkPending, encodeOp, encodeTurn } from "../../src/core/records.ts";

const snapshot = fc
	.integer({ min: 0, max: 9 })
	.map((digit) => trustedObjectId(String(digit).repeat(40)));
/** Few, so that sessions collide. */
const entryId = fc.constantFrom("e1", "e2", "e3", "e4", "__proto__");
const bindings = fc.array(fc.tuple(entryId, snapshot), { maxLength: 4 });

const record = fc.oneof(
	bindings.map((points) => ["rewind-turn", encodeTurn(points)] as const),
	fc
		.record({ bindings, current: snapshot, undo: snapshot }, { requiredKeys: [] })
		.map((op) => ["rewind-op", encodeOp(op)] as const),
	fc
		.record({ current: snapshot, undo: snapshot }, { requiredKeys: ["current"] })
		.map((pending) => ["rewind-fork-pending", encodeForkPending(pending)] as const),
	fc.tuple(
		fc.constantFrom("rewind-turn", "rewind-op", "rewind-fork-pending", "other"),
		fc.jsonValue(),
	),
);
const entry: fc.Arbitrary<LedgerEntry> = fc
	.tuple(fc.constantFrom("custom", "custom", "custom", "message"), entryId, record)
	.map(([type, id, [customType, data]]) => ({ type, id, customType, data }));
const entries = fc.array(entry, { maxLength: 12 });

const isRejected = ({ type, customType = "", data }: LedgerEntry): boolean =>
	type === "custom" && decodeRecord(customType, data)?.kind === "rejected";

test("folding a prefix and then the rest equals folding all", () => {
	fc.assert(
		fc.property(fc.array(entries), (parts) => {
			const ledger = parts.reduce(foldInto, emptyLedger);
			expect(ledger).toEqual(foldLedger(parts.flat()));
		}),
	);
});

test("rejected records are counted and change nothing else [R10]", () => {
	fc.assert(
		fc.property(entries, (all) => {
			const good = foldLedger(all.filter((one) => !isRejected(one)));
			expect(foldLedger(all)).toEqual({ ...good, rejected: all.filter(isRejected).length });
		}),
	);
});

test("every snapshot that the ledger offers is among those it names [R8]", () => {
	fc.assert(
		fc.property(entries, (all) => {
			const { bindings: bound, current, undo, forkPending, snapshots } = foldLedger(all);
			const offered = [...bound.values(), current, undo, forkPending?.current, forkPending?.undo];
			for (const id of offered) if (id !== undefined) expect(snapshots.has(id)).toBe(true);
		}),
	);
});

// Inheritance

/** Few, so that they are equal, in order and out of order; some unknown. */
const minute = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(Number.NaN));
const session: fc.Arbitrary<SessionLedger> = fc
	.tuple(minute, entries)
	.map(([startedAt, all]) => ({ sessionId: "s", startedAt, ledger: foldLedger(all) }));

/** Says the rule in one sentence, and tries every session for it. */
function naivePoint(id: string, writtenAt: number, chain: Chain): Resolved | undefined {
	const [nearest] = chain.flatMap(({ ledger }, from) => {
		const between = chain.slice(0, from);
		const snapshotOf = ledger.bindings.get(id);
		const isInherited = between.every(({ startedAt }) => writtenAt <= startedAt);
		return snapshotOf !== undefined && isInherited ? [{ snapshot: snapshotOf, from }] : [];
	});
	return nearest;
}

test("a point is the nearest binding that no header between rules out", () => {
	fc.assert(
		fc.property(entryId, minute, fc.array(session, { maxLength: 5 }), (id, writtenAt, chain) => {
			const timestamp = Number.isNaN(writtenAt) ? "unknown" : new Date(writtenAt).toISOString();
			expect(resolvePoint({ id, timestamp }, chain)).toEqual(naivePoint(id, writtenAt, chain));
		}),
		{ numRuns: 500 },
	);
});

test("undo is the nearest that any session has", () => {
	fc.assert(
		fc.property(fc.array(session, { maxLength: 5 }), (chain) => {
			const [nearest] = chain.flatMap(({ ledger: { undo } }, from) =>
				undo === undefined ? [] : [{ snapshot: undo, from }],
			);
			expect(resolveUndo(chain)).toEqual(nearest);
		}),
	);
});
