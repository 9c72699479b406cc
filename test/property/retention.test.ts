/** Laws of retention, over random sessions, owners and policies. [R8] */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type SnapshotId, trustedObjectId } from "../../src/core/ids.ts";
import { foldLedger, type LedgerEntry } from "../../src/core/ledger.ts";
import { encodeForkPending, encodeOp, encodeTurn } from "../../src/core/records.ts";
import {
	type KeptSnapshot,
	type Owner,
	type OwnerPlace,
	type Pin,
	planRetention,
	type RetentionInput,
	type RetentionPlan,
	type RetentionPolicy,
	type SeenSession,
} from "../../src/core/retention.ts";

const now = Date.UTC(2026, 5, 1);
const hourMs = 60 * 60 * 1000;
const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** Few of everything, so that sessions, files, entries and snapshots meet. */
const snapshot = fc
	.constantFrom(...digits)
	.map((digit) => trustedObjectId(String(digit).repeat(40)));
const names = ["a", "b", "c", "d"] as const;
const name = fc.constantFrom(...names);
const entryId = fc.constantFrom("e1", "e2", "e3");
const hoursAgo = fc.constantFrom(0, 1, 30, 800, 3_000);
const fileOf = (of: string): string => `/s/${of}`;

const record = fc.oneof(
	fc
		.array(fc.tuple(entryId, snapshot), { maxLength: 3 })
		.map((bindings) => ["rewind-turn", encodeTurn(bindings)] as const),
	fc
		.record({ current: snapshot, undo: snapshot }, { requiredKeys: [] })
		.map((op) => ["rewind-op", encodeOp(op)] as const),
	snapshot.map((current) => ["rewind-fork-pending", encodeForkPending({ current })] as const),
);
const rarelyTorn = fc.constantFrom(["rewind-turn", "torn"] as const);
const entry: fc.Arbitrary<LedgerEntry> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc
			.tuple(fc.oneof({ weight: 20, arbitrary: record }, rarelyTorn), hoursAgo)
			.map(([[customType, data], hours]) => ({
				type: "custom",
				id: "r",
				customType,
				data,
				timestamp: new Date(now - hours * hourMs).toISOString(),
			})),
	},
	entryId.map((targetId) => ({ type: "label", id: "l", targetId, label: "x" })),
);

const session: fc.Arbitrary<SeenSession> = fc
	.tuple(
		name,
		fc.option(name, { nil: undefined }),
		fc.option(fc.array(entry, { maxLength: 6 }), { nil: undefined, freq: 10 }),
		fc.boolean(),
	)
	.map(([of, parent, entries, isTorn]) => ({
		sessionId: of,
		file: fileOf(of),
		parentFile: parent === undefined ? undefined : fileOf(parent),
		ledger: entries === undefined ? undefined : foldLedger(entries),
		isTorn: isTorn && entries?.length === 3,
	}));
const owner: fc.Arbitrary<Owner> = fc.oneof(
	{ weight: 10, arbitrary: name.map((of) => ({ sessionId: of, sessionFile: fileOf(of) })) },
	fc.constantFrom({ sessionId: "ephemeral" }, { sessionId: "" }),
);
const kept: fc.Arbitrary<KeptSnapshot> = fc
	.tuple(snapshot, hoursAgo, hoursAgo, fc.array(owner, { minLength: 1, maxLength: 2 }))
	.map(([id, taken, kept, owners]) => ({
		id,
		takenAt: now - taken * hourMs,
		keptAt: now - kept * hourMs,
		owners,
	}));
const policy: fc.Arbitrary<RetentionPolicy> = fc.record({
	maxSnapshots: fc.constantFrom(1, 2, 3),
	maxAgeDays: fc.constantFrom(undefined, 0.5, 20),
	pinLabeledEntries: fc.boolean(),
	scanMode: fc.constantFrom("ancestor-only", "repo-sessions"),
	graceHours: fc.constantFrom(0, 24),
});

/** Held by a working tree, so that there always is something live: else nothing goes, whatever is known. */
const held: KeptSnapshot = {
	id: trustedObjectId("f".repeat(40)),
	takenAt: 0,
	keptAt: 0,
	owners: [],
};

const input: fc.Arbitrary<RetentionInput> = fc
	.record({
		policy,
		kept: fc.uniqueArray(kept, { selector: ({ id }) => id, minLength: 5, maxLength: 10 }),
		sessions: fc.uniqueArray(session, { selector: ({ sessionId }) => sessionId, maxLength: 4 }),
		states: fc.array(fc.constantFrom("there", "deleted", "deleted", "unknown"), {
			minLength: 4,
			maxLength: 4,
		}),
		pins: fc.dictionary(snapshot, fc.constantFrom("head", "restore"), { maxKeys: 2 }),
		running: fc.subarray(["a", "ephemeral"]),
		current: fc.constantFrom("a", "b", undefined),
	})
	.map(({ states, pins, running, kept, ...rest }) => ({
		...rest,
		kept: [...kept, held],
		hidden: [],
		places: new Map<string, OwnerPlace>(
			names.map((of, i) => [fileOf(of), { file: fileOf(of), state: states[i] ?? "unknown" }]),
		),
		pins: new Map<SnapshotId, Pin>([
			[held.id, "head"],
			...Object.entries(pins).map(([id, pin]): [SnapshotId, Pin] => [trustedObjectId(id), pin]),
		]),
		running: new Set(running),
		now,
	}));

const droppedIn = (plan: RetentionPlan): ReadonlySet<SnapshotId> =>
	new Set(plan.kind === "plan" ? plan.dropped : []);

test("every kept snapshot is either live, with a reason, or dropped", () => {
	let plans = 0;
	fc.assert(
		fc.property(input, (given) => {
			const plan = planRetention(given);
			if (plan.kind !== "plan") return;
			plans += plan.dropped.length > 0 ? 1 : 0;
			const all = given.kept.map(({ id }) => id);
			expect([...plan.live.keys(), ...plan.dropped].toSorted()).toEqual(all.toSorted());
			for (const reasons of plan.live.values()) expect(reasons).not.toEqual([]);
		}),
		{ numRuns: 1_000 },
	);
	// Otherwise the laws below would say nothing.
	expect(plans).toBeGreaterThan(100);
});

test("live ⊇ pinned ∪ current ∪ undo ∪ pending ∪ young ∪ held by HEADs and journals", () => {
	fc.assert(
		fc.property(input, (given) => {
			const dropped = droppedIn(planRetention(given));
			for (const id of given.pins.keys()) expect(dropped).not.toContain(id);
			for (const { id, keptAt, takenAt } of given.kept)
				if (now - Math.max(keptAt, takenAt) < given.policy.graceHours * hourMs)
					expect(dropped).not.toContain(id);
			for (const { ledger } of given.sessions) {
				if (ledger === undefined) continue;
				const { current, undo, forkPending, latest } = ledger;
				for (const id of [current, undo, latest, forkPending?.current, forkPending?.undo])
					if (id !== undefined) expect(dropped).not.toContain(id);
				if (given.policy.pinLabeledEntries)
					for (const labelled of ledger.labels.keys()) {
						const id = ledger.bindings.get(labelled);
						if (id !== undefined) expect(dropped).not.toContain(id);
					}
			}
		}),
		{ numRuns: 1_000 },
	);
});

test("nothing goes that a session without a word of its own might need", () => {
	fc.assert(
		fc.property(input, (given) => {
			const dropped = droppedIn(planRetention(given));
			const silent = new Set(
				given.sessions
					.filter(({ ledger }) => ledger === undefined)
					.map(({ sessionId }) => sessionId),
			);
			for (const { id, owners } of given.kept)
				if (owners.some(({ sessionId }) => sessionId === "" || silent.has(sessionId)))
					expect(dropped).not.toContain(id);
		}),
		{ numRuns: 1_000 },
	);
});

const newcomer: fc.Arbitrary<SeenSession> = session.map((each) => ({
	...each,
	sessionId: "new",
	file: fileOf("new"),
}));

test("learning of one more session never drops more of what it names", () => {
	fc.assert(
		fc.property(input, newcomer, (given, found) => {
			const before = droppedIn(planRetention(given));
			const after = droppedIn(planRetention({ ...given, sessions: [...given.sessions, found] }));
			for (const id of found.ledger?.snapshots ?? [])
				if (after.has(id)) expect(before).toContain(id);
		}),
		{ numRuns: 2_000 },
	);
});

test("and an owner that was taken for deleted and is found gets back what it needs, and loses nothing", () => {
	fc.assert(
		fc.property(input, newcomer, fc.infiniteStream(fc.boolean()), (given, found, owns) => {
			const places = new Map(given.places).set(fileOf("new"), {
				file: fileOf("new"),
				state: "deleted",
			});
			const whose: Owner = { sessionId: "new", sessionFile: fileOf("new") };
			const kept = given.kept.map((each) => ({
				...each,
				owners: owns.next().value === true ? [...each.owners, whose] : each.owners,
			}));
			const policy: RetentionPolicy = { ...given.policy, scanMode: "repo-sessions" };
			const without = { ...given, policy, kept, places };
			const before = droppedIn(planRetention(without));
			const after = droppedIn(planRetention({ ...without, sessions: [...given.sessions, found] }));
			for (const id of found.ledger?.snapshots ?? [])
				if (after.has(id)) expect(before).toContain(id);
		}),
		{ numRuns: 2_000 },
	);
});

test("a longer grace, a higher limit never drops more", () => {
	fc.assert(
		fc.property(input, (given) => {
			const loose = { ...given.policy, graceHours: 100, maxAgeDays: undefined, maxSnapshots: 5 };
			const strict = droppedIn(planRetention(given));
			for (const id of droppedIn(planRetention({ ...given, policy: loose })))
				if (strict.size > 0) expect(strict).toContain(id);
		}),
		{ numRuns: 1_000 },
	);
});
