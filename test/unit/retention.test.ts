/** Which snapshots stay, and why: one table a rule. Snapshots are single digits, days count back from now. */
import { describe, expect, test } from "vitest";
import { type SnapshotId, trustedObjectId } from "../../src/core/ids.ts";
import { foldLedger, type LedgerEntry } from "../../src/core/ledger.ts";
import { encodeForkPending, encodeOp, encodeTurn } from "../../src/core/records.ts";
import {
	type KeptSnapshot,
	type LiveReason,
	type Owner,
	type OwnerPlace,
	planRetention,
	type RetentionInput,
	type RetentionPolicy,
	type SeenSession,
	sessionsToRead,
} from "../../src/core/retention.ts";

const now = Date.UTC(2026, 5, 1);
const dayMs = 24 * 60 * 60 * 1000;
const daysAgo = (days: number): number => now - days * dayMs;

const id = (digit: number): SnapshotId => trustedObjectId(String(digit).repeat(40));
const digitOf = (snapshot: SnapshotId): number => Number(snapshot[0]);

let count = 0;
const custom = (customType: string, data: unknown, days: number): LedgerEntry => ({
	type: "custom",
	id: `r${count++}`,
	customType,
	data,
	timestamp: new Date(daysAgo(days)).toISOString(),
});
/** Binds entry `e1` to snapshot 1, and so on: `turn(30, 1, 2)` said so 30 days ago. */
const turn = (days: number, ...digits: number[]): LedgerEntry =>
	custom("rewind-turn", encodeTurn(digits.map((digit) => [`e${digit}`, id(digit)])), days);
const op = (
	days: number,
	data: { current?: number; undo?: number; undoAfter?: number },
): LedgerEntry =>
	custom(
		"rewind-op",
		encodeOp({
			...(data.current === undefined ? {} : { current: id(data.current) }),
			...(data.undo === undefined ? {} : { undo: id(data.undo) }),
			...(data.undoAfter === undefined ? {} : { undoAfter: id(data.undoAfter) }),
		}),
		days,
	);
const label = (entry: string, text: string | undefined): LedgerEntry => ({
	type: "label",
	id: `l${count++}`,
	targetId: entry,
	label: text,
});

const fileOf = (name: string): string => `/s/${name}.jsonl`;
/** A session that was read. */
const session = (
	name: string,
	entries: readonly LedgerEntry[],
	more: Partial<SeenSession> & { readonly parent?: string } = {},
): SeenSession => ({
	sessionId: name,
	file: fileOf(name),
	parentFile: more.parent === undefined ? undefined : fileOf(more.parent),
	ledger: foldLedger(entries),
	isTorn: false,
	...more,
});
const owner = (name: string): Owner => ({ sessionId: name, sessionFile: fileOf(name) });
const ephemeral = (name: string): Owner => ({ sessionId: name });
/** Snapshots of digits, taken and kept days ago, for the named. */
const kept = (days: number, owners: readonly Owner[], ...digits: number[]): KeptSnapshot[] =>
	digits.map((digit) => ({ id: id(digit), takenAt: daysAgo(days), keptAt: daysAgo(days), owners }));
const place = (name: string, state: OwnerPlace["state"]): [string, OwnerPlace] => [
	fileOf(name),
	{ file: fileOf(name), state },
];

const policyDefault: RetentionPolicy = {
	maxSnapshots: 1,
	maxAgeDays: undefined,
	pinLabeledEntries: true,
	scanMode: "repo-sessions",
	graceHours: 24,
};

type Given = Partial<Omit<RetentionInput, "policy">> & { policy?: Partial<RetentionPolicy> };

function plan({ policy, ...given }: Given) {
	return planRetention({
		kept: [],
		sessions: [],
		hidden: [],
		places: new Map(),
		pins: new Map(),
		running: new Set(),
		current: "a",
		now,
		...given,
		policy: { ...policyDefault, ...policy },
	});
}

/** `{ 1: ["bound a"], 2: "dropped" }`, or why nothing is dropped. */
function outcome(given: Given): unknown {
	const planned = plan(given);
	if (planned.kind === "keep-all") return planned.why.kind;
	return Object.fromEntries([
		...[...planned.live].map(([snapshot, reasons]) => [digitOf(snapshot), reasons.map(word)]),
		...planned.dropped.map((snapshot) => [digitOf(snapshot), "dropped"]),
	]);
}

const word = (reason: LiveReason): string =>
	[reason.kind, "session" in reason ? reason.session : "", "label" in reason ? reason.label : ""]
		.filter(Boolean)
		.join(" ");

describe("limits", () => {
	// The newest binding is also what the files were at last, so a fourth one is there to be no point of interest.
	const records = [turn(90, 1), turn(60, 2), turn(30, 3), turn(2, 4)];
	const given = { kept: kept(100, [owner("a")], 1, 2, 3, 4), sessions: [session("a", records)] };

	test.each<[string, Partial<RetentionPolicy>, unknown]>([
		["none: nothing goes", { maxSnapshots: undefined }, "no-limits"],
		[
			"one",
			{ maxSnapshots: 1 },
			{ 1: "dropped", 2: "dropped", 3: "dropped", 4: ["current a", "bound a"] },
		],
		[
			"three",
			{ maxSnapshots: 3 },
			{ 1: "dropped", 2: ["bound a"], 3: ["bound a"], 4: ["current a", "bound a"] },
		],
		[
			"45 days",
			{ maxSnapshots: undefined, maxAgeDays: 45 },
			{ 1: "dropped", 2: "dropped", 3: ["bound a"], 4: ["current a", "bound a"] },
		],
		[
			"an hour: what the files are now stays",
			{ maxSnapshots: undefined, maxAgeDays: 1 / 24 },
			{ 1: "dropped", 2: "dropped", 3: "dropped", 4: ["current a"] },
		],
		[
			"both: each counts",
			{ maxSnapshots: 2, maxAgeDays: 10 },
			{ 1: "dropped", 2: "dropped", 3: "dropped", 4: ["current a", "bound a"] },
		],
	])("%s", (_name, policy, expected) => {
		expect(outcome({ ...given, policy })).toEqual(expected);
	});

	test("count by session: a busy one takes no place from another", () => {
		const b = session("b", [turn(80, 5), turn(70, 6)]);
		const all = [...given.kept, ...kept(100, [owner("b")], 5, 6)];
		expect(
			outcome({ kept: all, sessions: [...given.sessions, b], policy: { maxSnapshots: 2 } }),
		).toEqual({
			1: "dropped",
			2: "dropped",
			3: ["bound a"],
			4: ["current a", "bound a"],
			5: ["bound b"],
			6: ["current b", "bound b"],
		});
	});

	test("what one session lets go of, another may keep", () => {
		const b = session("b", [turn(80, 1)]);
		const shared = kept(100, [owner("a"), owner("b")], 1);
		expect(
			outcome({ kept: [...shared, ...given.kept.slice(1)], sessions: [...given.sessions, b] }),
		).toMatchObject({ 1: ["current b", "bound b"], 2: "dropped" });
	});

	test("an old snapshot that was bound again lately is not old", () => {
		const again = session("a", [turn(90, 1), turn(60, 2), turn(1, 1)]);
		expect(
			outcome({
				kept: kept(100, [owner("a")], 1, 2),
				sessions: [again],
				policy: { maxAgeDays: 50 },
			}),
		).toMatchObject({ 1: ["current a", "bound a"], 2: "dropped" });
	});

	test("a record without a time is not taken for old", () => {
		const undated = turn(90, 1);
		const noTime = session("a", [
			{ type: undated.type, id: "x", customType: "rewind-turn", data: undated.data },
			turn(1, 2),
		]);
		expect(
			outcome({
				kept: kept(100, [owner("a")], 1, 2),
				sessions: [noTime],
				policy: { maxSnapshots: undefined, maxAgeDays: 1 / 24 },
			}),
		).toMatchObject({ 1: ["bound a"] });
	});
});

describe("what stays whatever the limits say", () => {
	const filler = turn(1, 9);
	const old = (...digits: number[]): KeptSnapshot[] => kept(100, [owner("a")], ...digits, 9);

	test("the newest current and undo, and a fork that is pending; older ones go", () => {
		const records = [
			op(90, { current: 1, undo: 2 }),
			op(80, { current: 3, undo: 4, undoAfter: 8 }),
			custom(
				"rewind-fork-pending",
				encodeForkPending({ current: id(5), undo: id(6), undoAfter: id(0) }),
				70,
			),
			op(60, { current: 7 }),
			filler,
		];
		const all = old(0, 1, 2, 3, 4, 5, 6, 7, 8);
		expect(outcome({ kept: all, sessions: [session("a", records)] })).toEqual({
			0: ["fork-pending a"],
			1: "dropped",
			2: "dropped",
			3: "dropped",
			4: ["undo a"],
			5: ["fork-pending a"],
			6: ["fork-pending a"],
			7: ["current a"],
			8: ["undo a"],
			9: ["current a", "bound a"],
		});
	});

	test("what a working tree's private HEAD or a restore's journal names", () => {
		const pins = new Map([
			[id(1), "head" as const],
			[id(2), "restore" as const],
		]);
		expect(outcome({ kept: old(1, 2, 3), sessions: [session("a", [filler])], pins })).toMatchObject(
			{
				1: ["head"],
				2: ["restore"],
				3: "dropped",
			},
		);
	});

	test.each([
		[24, 23, ["young"]],
		[24, 25, "dropped"],
		[0, 1, "dropped"],
		[1, 0.5, ["young"]],
	])("with %s hours of grace, one of %s hours ago: %j", (graceHours, hours, expected) => {
		// Named by a record, so that only its age speaks for it.
		const records = [turn(50, 1), filler];
		expect(
			outcome({
				kept: [...kept(hours / 24, [owner("a")], 1), ...kept(100, [owner("a")], 9)],
				sessions: [session("a", records)],
				policy: { graceHours },
			}),
		).toMatchObject({ 1: expected });
	});

	test("one that was claimed lately is young, however old it is", () => {
		const claimed = { id: id(1), takenAt: daysAgo(90), keptAt: daysAgo(0.1), owners: [owner("a")] };
		expect(
			outcome({ kept: [claimed, ...old()], sessions: [session("a", [filler])] }),
		).toMatchObject({ 1: ["young"] });
	});

	test("without any grace, one that no record of its owner names yet has ten minutes [R2]", () => {
		const minutes = (digit: number, ago: number): KeptSnapshot[] =>
			kept(ago / 24 / 60, [owner("a")], digit);
		expect(
			outcome({
				kept: [...minutes(1, 9), ...minutes(2, 11), ...old()],
				sessions: [session("a", [filler])],
				policy: { graceHours: 0 },
			}),
		).toMatchObject({ 1: ["not-recorded-yet"], 2: "dropped" });
	});

	test("a time that is not known, or lies ahead, is young", () => {
		const odd = [Number.NaN, daysAgo(-3)].map((at, i) => ({
			id: id(i + 1),
			takenAt: at,
			keptAt: at,
			owners: [owner("a")],
		}));
		expect(outcome({ kept: [...odd, ...old()], sessions: [session("a", [filler])] })).toMatchObject(
			{ 1: ["young", "not-recorded-yet"], 2: ["young", "not-recorded-yet"] },
		);
	});
});

describe("labels", () => {
	const records = [turn(90, 1), turn(80, 2), turn(70, 3), turn(1, 4)];
	const owned = kept(100, [owner("a")], 1, 2, 3, 4);

	test("pin, and are not counted", () => {
		const a = session("a", [...records, label("e1", "good baseline")]);
		expect(outcome({ kept: owned, sessions: [a], policy: { maxSnapshots: 2 } })).toEqual({
			1: ["label a good baseline"],
			2: "dropped",
			3: ["bound a"],
			4: ["current a", "bound a"],
		});
	});

	test.each(["ancestor-only", "repo-sessions"] as const)(
		"pin when a child, or a sibling, has them: %s",
		(scanMode) => {
			const a = session("a", records);
			const child = session("b", [label("e1", "in the child")], { parent: "a" });
			const cousin = session("c", [label("e2", "further")], { parent: "b" });
			expect(outcome({ kept: owned, sessions: [a, child, cousin], policy: { scanMode } })).toEqual({
				1: ["label a in the child"],
				2: ["label a further"],
				3: "dropped",
				4: ["current a", "bound a"],
			});
		},
	);

	test("of another family pin nothing; taken away, or with the setting off, neither", () => {
		const a = session("a", [...records, label("e1", "x"), label("e1", undefined)]);
		const stranger = session("z", [label("e2", "x")]);
		expect(outcome({ kept: owned, sessions: [a, stranger] })).toMatchObject({
			1: "dropped",
			2: "dropped",
		});
		const named = session("a", [...records, label("e1", "x")]);
		expect(
			outcome({ kept: owned, sessions: [named], policy: { pinLabeledEntries: false } }),
		).toMatchObject({ 1: "dropped" });
	});
});

describe("only what is known to be unneeded goes [R8]", () => {
	const a = session("a", [turn(1, 9)]);
	const mine = kept(100, [owner("a")], 9);

	test.each<[string, Owner, Given, unknown]>([
		[
			"a session that was deleted frees its own",
			owner("b"),
			{ places: new Map([place("b", "deleted")]) },
			"dropped",
		],
		[
			"one whose folder is not there does not",
			owner("b"),
			{ places: new Map([place("b", "unknown")]) },
			["session-unreadable b"],
		],
		["one whose place was not looked at does not", owner("b"), {}, ["session-unreadable b"]],
		[
			"one whose file holds another session does not",
			owner("b"),
			{ places: new Map([place("b", "there")]) },
			["session-unreadable b"],
		],
		[
			"one that could not be read does not",
			owner("b"),
			{ sessions: [a, session("b", [], { ledger: undefined })] },
			["session-unreadable b"],
		],
		[
			"one that was moved is found by its id",
			owner("b"),
			{
				sessions: [a, session("b", [turn(50, 1)], { file: "/elsewhere" })],
				places: new Map([place("b", "deleted")]),
			},
			["current b", "bound b"],
		],
		[
			"one that runs and has no file yet keeps its own",
			owner("b"),
			{ places: new Map([place("b", "deleted")]), running: new Set(["b"]) },
			["running b"],
		],
		[
			"an ephemeral one that runs keeps its own",
			ephemeral("b"),
			{ running: new Set(["b"]) },
			["running b"],
		],
		["an ephemeral one is over with its process", ephemeral("b"), {}, "dropped"],
		["somebody unknown is never over", { sessionId: "" }, {}, ["unknown-owner"]],
		[
			"a torn last line may be a record",
			owner("b"),
			{ sessions: [a, session("b", [], { isTorn: true })] },
			["records-unreadable b"],
		],
		[
			"a record of an unknown version may name it",
			owner("b"),
			{ sessions: [a, session("b", [custom("rewind-turn", { v: 3 }, 50)])] },
			["records-unreadable b"],
		],
		[
			"a reference that fell away may have named it",
			owner("b"),
			{
				sessions: [
					a,
					session("b", [
						custom("rewind-turn", { v: 2, snapshots: ["x"], bindings: [["e1", 0]] }, 50),
					]),
				],
			},
			["records-unreadable b"],
		],
	])("%s", (_name, whose, given, expected) => {
		expect(
			outcome({ sessions: [a], kept: [...mine, ...kept(100, [whose], 1)], ...given }),
		).toMatchObject({ 1: expected });
	});

	test("a session with records that cannot be read keeps what it names, whoever owns it", () => {
		const b = session("b", [turn(90, 1), turn(80, 2), custom("rewind-op", "torn", 70)]);
		expect(
			outcome({ sessions: [a, b], kept: [...mine, ...kept(100, [owner("a")], 1, 2)] }),
		).toMatchObject({
			1: ["records-unreadable b"],
			2: ["records-unreadable b"],
		});
	});

	test("a snapshot without any owner stays", () => {
		expect(outcome({ sessions: [a], kept: [...mine, ...kept(100, [], 1)] })).toMatchObject({
			1: ["unknown-owner"],
		});
	});

	test("what may hide a session lets nothing go, and is named", () => {
		const hidden = [{ path: "/s/x.jsonl", why: "does not begin with a session header" }];
		expect(plan({ sessions: [a], kept: [...mine, ...kept(100, [owner("a")], 1)], hidden })).toEqual(
			{
				kind: "keep-all",
				why: { kind: "hidden", hidden },
			},
		);
	});

	test("when nothing would be left, nothing goes", () => {
		const places = new Map([place("b", "deleted")]);
		expect(outcome({ kept: kept(100, [owner("b")], 1, 2), places })).toBe("nothing-live");
		expect(outcome({})).toBe("nothing-live");
	});
});

describe("ancestor-only", () => {
	const policy = { scanMode: "ancestor-only" as const };
	const a = session("a", [turn(90, 1), turn(1, 9)]);
	const given = { policy, kept: kept(100, [owner("a")], 1, 9) };

	test("drops in the lineage: of ancestors, descendants and siblings, over a parent that is gone", () => {
		const sessions = [
			session("a", [turn(90, 1), turn(1, 9)], { parent: "gone" }),
			session("sibling", [turn(90, 2), turn(80, 3)], { parent: "gone" }),
			session("child", [turn(90, 4), turn(80, 5)], { parent: "a" }),
		];
		const all = [
			...given.kept,
			...kept(100, [owner("sibling")], 2, 3),
			...kept(100, [owner("child")], 4, 5),
			...kept(100, [owner("gone")], 6),
		];
		expect(
			outcome({ policy, sessions, kept: all, places: new Map([place("gone", "deleted")]) }),
		).toEqual({
			1: "dropped",
			2: "dropped",
			3: ["current sibling", "bound sibling"],
			4: "dropped",
			5: ["current child", "bound child"],
			6: "dropped",
			9: ["current a", "bound a"],
		});
	});

	test.each<[string, Owner[], Given]>([
		[
			"an unrelated session's",
			[owner("z")],
			{ sessions: [a, session("z", [], { ledger: undefined })] },
		],
		["also one that is deleted", [owner("z")], { places: new Map([place("z", "deleted")]) }],
		["also an ephemeral one", [ephemeral("z")], {}],
		["one shared with an unrelated session", [owner("a"), owner("z")], {}],
	])("%s stays", (_name, owners, more) => {
		expect(
			outcome({ ...given, sessions: [a], kept: [...given.kept, ...kept(100, owners, 2)], ...more }),
		).toMatchObject({
			1: "dropped",
			2: ["another-lineage z"],
		});
	});

	test("without a session of one's own nothing is in the lineage", () => {
		expect(outcome({ ...given, sessions: [a], current: undefined })).toEqual({
			1: ["another-lineage a"],
			9: ["another-lineage a"],
		});
	});
});

describe("which sessions are read", () => {
	const sessions = [
		session("a", [], { parent: "p" }),
		session("b", [], { parent: "p" }),
		session("owner-elsewhere", []),
		session("its-child", [], { parent: "owner-elsewhere" }),
		session("nobody", []),
	];
	const read = (scanMode: RetentionPolicy["scanMode"], current?: string): string[] =>
		[
			...sessionsToRead({ scanMode }, current, [owner("owner-elsewhere"), owner("a")], {
				sessions,
				places: new Map(),
			}),
		].map(({ sessionId }) => sessionId);

	test("of the lineage, or of every owner's", () => {
		expect(read("ancestor-only", "b")).toEqual(["a", "b"]);
		expect(read("ancestor-only")).toEqual([]);
		expect(read("repo-sessions", "b")).toEqual(["a", "b", "owner-elsewhere", "its-child"]);
	});
});
