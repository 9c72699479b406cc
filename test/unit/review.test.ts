import { describe, expect, test } from "vitest";
import type { FileChange } from "../../src/core/changes.ts";
import { bytePathFromText, displayPath, trustedObjectId } from "../../src/core/ids.ts";
import { fileModes, type TreeEntry } from "../../src/core/plan.ts";
import {
	describeTotal,
	pathsToRevert,
	promptToReview,
	reviewDetail,
	type ReviewFacts,
	reviewJson,
	reviewLine,
	reviewNotes,
	reviewRows,
	reviewRowText,
} from "../../src/core/review.ts";
import type { Prompt } from "../../src/core/timeline.ts";

const p = bytePathFromText;
const id = (digit: string) => trustedObjectId(digit.repeat(40));
const side = (digit: string): TreeEntry => ({ mode: fileModes.file, id: id(digit) });
const changed: FileChange = { path: p("a.txt"), from: side("1"), to: side("2") };
const added: FileChange = { path: p("new.txt"), to: side("3") };
const deleted: FileChange = { path: p("gone.txt"), from: side("4") };
const renamed: FileChange = {
	path: p("d/now.txt"),
	renamedFrom: p("was.txt"),
	from: side("5"),
	to: side("5"),
};
const rows = (facts: Partial<ReviewFacts>) =>
	reviewRows({ changes: [], skips: [], uncommitted: undefined, changedSince: [], ...facts });

describe("which prompt is looked at", () => {
	const prompt = (entry: string, before?: string, after?: string): Prompt => ({
		id: entry,
		text: entry,
		at: 0,
		...(before === undefined ? {} : { point: id(before) }),
		...(after === undefined ? {} : { after: id(after) }),
	});
	const reviewed = async (newestFirst: Prompt[], same: readonly string[] = []) => {
		const found = await promptToReview(newestFirst, async (before, after) => {
			if (before === id("0")) return Promise.resolve("unusable");
			const isSame = before === after || same.includes(`${before[0]}${after?.[0]}`);
			return Promise.resolve(isSame ? "same" : "changed");
		});
		return found === undefined ? undefined : [found.prompt.id, found.laterWithout];
	};

	test("the newest that changed files", async () => {
		expect(await reviewed([prompt("b", "2", "3"), prompt("a", "1", "2")])).toEqual(["b", 0]);
		expect(await reviewed([prompt("b", "2", "2"), prompt("a", "1", "2")])).toEqual(["a", 0]);
		// Another commit under the same files is no change of them.
		expect(await reviewed([prompt("b", "2", "3"), prompt("a", "1", "2")], ["23"])).toEqual([
			"a",
			0,
		]);
	});

	test("one whose end is not known may have changed files", async () => {
		expect(await reviewed([prompt("b", "2"), prompt("a", "1", "2")])).toEqual(["b", 0]);
	});

	test("the newest with a point when none changed anything", async () => {
		expect(await reviewed([prompt("b", "1", "1"), prompt("a", "1", "1")])).toEqual(["b", 0]);
	});

	test("later ones without a point are counted, earlier ones are not", async () => {
		const all = [prompt("d"), prompt("c"), prompt("b", "1", "2"), prompt("a")];
		expect(await reviewed(all)).toEqual(["b", 2]);
		expect(await reviewed([prompt("b", "0", "1"), prompt("a", "1", "2")])).toEqual(["a", 1]);
		expect(await reviewed([prompt("a")])).toBeUndefined();
		expect(await reviewed([])).toBeUndefined();
	});
});

describe("a row", () => {
	test("is one for each file, and one for a rename, which goes back whole", () => {
		const all = rows({ changes: [changed, added, deleted, renamed] });
		expect(all.map(({ mark }) => mark).join("")).toBe("MADR");
		expect([...pathsToRevert(all.slice(2))].map(displayPath)).toEqual([
			"gone.txt",
			"was.txt",
			"d/now.txt",
		]);
	});

	test("says what it is, how many lines, and what is special about it", () => {
		const [a, r] = rows({
			changes: [changed, renamed],
			skips: [{ path: p("was.txt"), reason: { kind: "ignored-then" } }],
			uncommitted: new Set([p("d/now.txt")]),
			changedSince: [p("a.txt")],
		});
		if (a === undefined || r === undefined) throw new Error("no rows");
		const lines = { added: 3, removed: 1 };
		expect(reviewLine(a, lines)).toBe(
			"M a.txt · +3 −1 · changed since the last answer · committed",
		);
		expect(reviewLine(r, undefined)).toBe(
			"R was.txt → d/now.txt · left alone: was.txt (ignored at that point)",
		);
		expect(reviewDetail(r)[0]?.text).toBe(
			"was.txt → d/now.txt · left alone: was.txt (ignored at that point)",
		);
		const shown = reviewRowText(a, true, lines);
		const text = (spans: readonly { text: string }[] = []): string =>
			spans.map((each) => each.text).join("");
		expect([text(shown.left), text(shown.right?.flat())]).toEqual([
			"[x] M a.txt · changed since the last answer",
			"+3 −1",
		]);
	});

	test("without a commit nothing is committed", () => {
		expect(rows({ changes: [changed] })[0]?.isCommitted).toBe(false);
		const [renamedHalf] = rows({ changes: [renamed], uncommitted: new Set([p("was.txt")]) });
		expect(renamedHalf?.isCommitted).toBe(false);
	});

	test("names with control characters cannot drive the terminal", () => {
		const [row] = rows({ changes: [{ path: p("a\u001b[31m\n.txt"), to: side("1") }] });
		if (row === undefined) throw new Error("no row");
		expect(reviewLine(row, undefined)).toBe("A a\\x1b[31m\\n.txt");
	});
});

test("totals count what has lines", () => {
	const all = rows({ changes: [changed, added] });
	expect(describeTotal(all)).toBe("2 files");
	expect(describeTotal(all, new Map([[p("a.txt"), { added: 2, removed: 1 }]]))).toBe(
		"2 files +2 −1",
	);
	expect(describeTotal(all.slice(1), new Map())).toBe("1 file +0 −0");
});

test("notes say what is committed, and which prompts cannot be told apart", () => {
	const some = rows({ changes: [changed, added], uncommitted: new Set([p("new.txt")]) });
	expect(reviewNotes(some, 0)).toEqual([
		"Committed already: 1 of 2; a revert changes files, the commits stay.",
	]);
	const every = rows({ changes: [changed], uncommitted: new Set() });
	expect(reviewNotes(every, 2)).toEqual([
		"These changes are committed already; a revert changes files, the commits stay.",
		"2 later prompts have no point: what changed there is shown too.",
	]);
	expect(reviewNotes(rows({ changes: [changed] }), 0)).toEqual([]);
});

test("programs get every row with its counts", () => {
	const about = { prompt: "e1", text: "do it", point: id("a") };
	const lines = new Map([[p("a.txt"), { added: 2, removed: 1 }]]);
	const json = reviewJson(rows({ changes: [changed, renamed] }), lines, about);
	expect(json).toEqual({
		...about,
		files: [
			{ mark: "M", path: "a.txt", added: 2, removed: 1, committed: false, changedSince: false },
			{
				mark: "R",
				path: "d/now.txt",
				renamedFrom: "was.txt",
				committed: false,
				changedSince: false,
			},
		],
	});
});
