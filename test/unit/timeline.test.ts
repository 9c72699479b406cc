/** The rows of the timeline, and which points they are about. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import type { FileChange } from "../../src/core/changes.ts";
import { bytePathFromText, type ObjectId, trustedObjectId } from "../../src/core/ids.ts";
import { emptyLedger } from "../../src/core/ledger.ts";
import type { Chain } from "../../src/core/lineage.ts";
import type { RowText, Span } from "../../src/core/spans.ts";
import {
	ago,
	nowDetail,
	nowRow,
	type PointFacts,
	type Prompt,
	printedPrompt,
	promptDetail,
	promptRow,
	undoDetail,
	undoRow,
} from "../../src/core/timeline.ts";
import { promptsOf } from "../../src/pi/timeline.ts";

const entry = { mode: 0o100644, id: trustedObjectId("a".repeat(40)) };
const change = (path: string, sides: "A" | "M" | "D"): FileChange => ({
	path: bytePathFromText(path),
	...(sides === "A" ? {} : { from: entry }),
	...(sides === "D" ? {} : { to: entry }),
});
const text = (spans: readonly Span[]): string => spans.map((each) => each.text).join("");
const row = ({ left, right = [] }: RowText): string[] => [
	text(left),
	...right.map((spans) => text(spans).trim()).filter((each) => each !== ""),
];

const minute = 60_000;
const prompt: Prompt = { id: "u1", text: "mend the form", at: 0, point: entry.id };
const facts: PointFacts = {
	kind: "available",
	branch: "refs/heads/feature/x",
	run: {
		changes: [change("a", "A"), change("b", "A"), change("c", "M"), change("d", "D")],
		lines: { added: 120, removed: 8 },
	},
};

test.each([
	[30_000, "now"],
	[-5_000, "now"],
	[3 * minute, "3 min"],
	[5 * 60 * minute, "5 h"],
	[49 * 60 * minute, "2 d"],
	[100 * 24 * 60 * minute, "14 w"],
	[Number.NaN, ""],
])("%d ms ago are %j", (ms, words) => {
	expect(ago(0, ms)).toBe(words);
});

test("a prompt says what its run changed, on which branch, and how long ago", () => {
	expect(row(promptRow({ ...prompt, label: "good" }, facts, 3 * minute))).toEqual([
		"⬥ mend the form [good]",
		"feature/x",
		"+120 −8",
		"+2 ~1 −1",
		"3 min",
	]);
	expect(text(promptDetail(prompt, facts))).toBe(
		"⬥ Its run changed a, b, c, d (+120 −8) · on feature/x · aaaaaaaaaaaa",
	);
	expect(printedPrompt(7, prompt, facts, 0)).toBe(
		"  7  ⬥ mend the form  feature/x  +120 −8  +2 ~1 −1  now",
	);
});

test("what is not known yet leaves its place empty; what is not there says why", () => {
	expect(row(promptRow(prompt, undefined, 0))).toEqual(["· mend the form", "now"]);
	const gone: PointFacts = { kind: "unavailable", reason: "no point was taken there" };
	expect(row(promptRow({ ...prompt, text: "" }, gone, 0))).toEqual(["◇ (no text)", "now"]);
	expect(text(promptDetail(prompt, gone))).toMatch(/cannot be restored there: no point was taken/);
	expect(printedPrompt(1, prompt, gone, 0)).toMatch(/no files: no point was taken there$/);
	const quiet: PointFacts = { kind: "available", run: { changes: [] } };
	expect(text(promptDetail(prompt, quiet))).toMatch(/^⬥ Its run changed no files · aaaa/);
	expect(text(promptDetail(prompt, { kind: "available" }))).toMatch(/is not known/);
});

test("now names what changed since the last answer, undo what it would do", () => {
	const changed = [change("hand", "A"), change("d", "D")];
	expect(row(nowRow({ changed }))).toEqual(["● now  since the last answer", "+1 −1"]);
	expect(text(nowDetail({ changed }))).toBe(
		"● You are here. Changed since the last answer: hand, d.",
	);
	expect(row(nowRow({ changed: [] }))).toEqual(["● now"]);
	expect(text(nowDetail({ reason: "a disk is full" }))).toBe("● You are here. a disk is full");
	const counts = { changed: 1, added: 0, deleted: 2 };
	expect(row(undoRow({ kind: "available", counts }))).toEqual(["↶ undo last rewind", "~1 −2"]);
	expect(text(undoDetail({ kind: "unavailable", reason: "it is gone" }))).toBe(
		"Undo is not possible: it is gone",
	);
});

describe("the prompts of a branch", () => {
	const at = "2026-01-01T00:00:00.000Z";
	const base = (id: string) => ({ id, parentId: null, timestamp: at });
	const user = (id: string, said: string): SessionEntry => ({
		...base(id),
		type: "message",
		message: { role: "user", content: said, timestamp: 0 },
	});
	const summary = (id: string): SessionEntry => ({
		...base(id),
		type: "branch_summary",
		fromId: "x",
		summary: "s",
	});
	const answer = (id: string): SessionEntry => ({
		...base(id),
		type: "message",
		message: {
			role: "assistant",
			content: [{ type: "text", text: id }],
			api: "faux",
			provider: "faux",
			model: "faux",
			usage: {
				input: 0,
				output: 0,
				cacheRead: 0,
				cacheWrite: 0,
				totalTokens: 0,
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
			},
			stopReason: "stop",
			timestamp: 0,
		},
	});
	const id = (digit: string): ObjectId => trustedObjectId(digit.repeat(40));
	const bound = (points: Record<string, ObjectId>): Chain => [
		{
			sessionId: "s",
			startedAt: 0,
			ledger: { ...emptyLedger, bindings: new Map(Object.entries(points)) },
		},
	];

	test("are newest first, each with the points before and after its run, and its first line", () => {
		const branch = [
			user("u1", "\n  first\x1b[31m line\nmore"),
			answer("a1"),
			answer("a2"),
			summary("s1"),
			user("u2", "second"),
			answer("a3"),
			user("u3", ""),
		];
		const chain = bound({ u1: id("1"), a1: id("2"), a2: id("3"), u2: id("4") });
		const labels: Record<string, string> = { u2: "a\nlabel" };
		expect(promptsOf(branch, chain, (entryId) => labels[entryId])).toEqual([
			{ id: "u3", text: "", at: Date.parse(at) },
			{ id: "u2", text: "second", at: Date.parse(at), label: "a label", point: id("4") },
			{
				id: "u1",
				text: "first [31m line",
				at: Date.parse(at),
				point: id("1"),
				after: id("3"),
			},
		]);
	});

	test("5,000 prompts are listed at once", () => {
		const branch = Array.from({ length: 5_000 }, (_, i) => [
			user(`u${i}`, `p${i}`),
			answer(`a${i}`),
		]);
		expect(promptsOf(branch.flat(), bound({}), () => undefined)).toHaveLength(5_000);
	});
});
