/** The screens of `/review` without a terminal: what stands there at any size, and what the keys come to. */
import { describe, expect, test } from "vitest";
import type { FileChange } from "../../src/core/changes.ts";
import { parseHunks } from "../../src/core/hunks.ts";
import { bytePathFromText, trustedObjectId } from "../../src/core/ids.ts";
import { fileModes } from "../../src/core/plan.ts";
import { type LineCountsByPath, type ReviewAnswer, reviewRows } from "../../src/core/review.ts";
import { createFileDiff, createHunkList, createReviewList } from "../../src/screens/review.ts";
import { openScreen, type ScreenSize } from "../support/screen.ts";

const id = (digit: string) => trustedObjectId(digit.repeat(40));
const entry = (digit: string) => ({ mode: fileModes.file, id: id(digit) });
const modified = (name: string): FileChange => ({
	path: bytePathFromText(name),
	from: entry("1"),
	to: entry("2"),
});
const names = ["a.txt", "漢字/ümläut é.md", "\u001b[31mred\nline\u202e", "z".repeat(200)];
const sizes: ScreenSize[] = [
	{ columns: 120, rows: 45 },
	{ columns: 80, rows: 24 },
	{ columns: 40, rows: 12 },
];

function openList(
	changes: readonly FileChange[],
	size: ScreenSize,
	lines: Promise<LineCountsByPath> = Promise.resolve(new Map()),
	bindings = {},
	said: { said?: string } = {},
) {
	const answers: (ReviewAnswer | undefined)[] = [];
	const rows = reviewRows({ changes, skips: [], uncommitted: undefined, changedSince: [] });
	const screen = openScreen(
		(env) =>
			createReviewList(env, {
				title: "Changes since “tidy up”",
				notes: [],
				rows,
				lines,
				place: { cursor: 0, picked: new Set() },
				...said,
				close: (answer) => void answers.push(answer),
			}),
		size,
		bindings,
	);
	return { ...screen, answers };
}

describe.each(sizes)("on $columns columns and $rows rows", (size) => {
	test("any name fits, and none drives the terminal", () => {
		// openScreen() fails when a line is too wide, or holds a control character.
		const { lines, press } = openList(names.map(modified), size);
		expect(lines().join("\n")).toContain("→ [ ] M a.txt");
		press("down", "down");
		expect(lines().join("\n")).toContain("M \\x1b[31mred\\nline\\u{202e}");
		press("down", "space");
		expect(lines().join("\n")).toMatch(/→ \[x\] M z+…?/);
	});

	test("lines are shown once they are counted", async () => {
		const path = bytePathFromText("a.txt");
		const counted = Promise.resolve(new Map([[path, { added: 3, removed: 1 }]]));
		const { lines } = openList([modified("a.txt")], size, counted);
		expect(lines().join("\n")).not.toContain("+3");
		await counted;
		expect(lines().join("\n")).toMatch(/1 file \+3 −1/);
		expect(lines().join("\n")).toMatch(/a\.txt +\+3 +−1/);
	});

	test("numbers stand together, however narrow", async () => {
		const counts = { added: 3333, removed: 1000 };
		const counted = Promise.resolve(new Map([[bytePathFromText("a.txt"), counts]]));
		const { lines } = openList([modified("a.txt")], size, counted);
		await counted;
		await Promise.resolve();
		expect(lines().join("\n")).toContain("1 file +3333 −1000");
	});

	test("the hunks show their lines, and a choice is at least one", () => {
		const patch = "@@ -1,2 +1,2 @@ fn\n-\told\u001b\n+\tnew 漢\n same\n@@ -9 +9 @@\n-x\n+y\n";
		const hunks = parseHunks(Buffer.from(patch)) ?? [];
		const answers: unknown[] = [];
		const { lines, press } = openScreen(
			(env) =>
				createHunkList(env, {
					change: modified("a.txt"),
					hunks,
					close: (picked) => void answers.push(picked),
				}),
			size,
		);
		expect(lines().join("\n")).toContain("-    old\\x1b");
		press("enter");
		expect(lines().join("\n")).toContain("Nothing is picked");
		press("G", "space");
		expect(lines()[size.rows < 16 ? 0 : 1]).toContain("1 of 2 picked");
		press("enter");
		expect(answers).toEqual([new Set([1])]);
	});
});

test("each key does what its hint says, with the rows that are meant", () => {
	const press = (...keys: string[]) => {
		const list = openList(names.map(modified), { columns: 80, rows: 24 });
		list.press(...keys);
		return list.answers[0];
	};
	const at = (cursor: number, ...picked: number[]) => ({ cursor, picked: new Set(picked) });
	expect(press("j", "enter")).toEqual({ kind: "open", row: 1, place: at(1) });
	expect(press("end", "r")).toEqual({ kind: "revert", rows: [3], place: at(3) });
	expect(press("G", "space", "g", "space", "down", "r")).toEqual({
		kind: "revert",
		rows: [0, 3],
		place: at(1, 3, 0),
	});
	expect(press("R")).toEqual({ kind: "revert", rows: [0, 1, 2, 3], place: at(0) });
	expect(press("a", "space", "r")).toMatchObject({ rows: [1, 2, 3] });
	expect(press("a", "n", "r")).toMatchObject({ rows: [0] });
	expect(press("escape")).toBeUndefined();
});

test.each(["down", "space"])("what was told stays until a key is pressed: %s", (key) => {
	const told = { said: "a.txt changed in the meantime · No files were changed" };
	const size = { columns: 40, rows: 12 };
	const { lines, press } = openList(names.map(modified), size, undefined, {}, told);
	expect(lines().join(" ")).toMatch(/a\.txt changed in the meantime · No\s+files were changed/);
	press(key, "g");
	expect(lines().join("\n")).not.toContain("meantime");
});

test("the person's own keybindings come first", () => {
	const list = openList(names.map(modified), { columns: 80, rows: 24 }, undefined, {
		"tui.select.confirm": "r",
		"tui.select.cancel": "x",
	});
	expect(list.lines().join("\n")).toContain("r diff");
	list.press("r", "x");
	expect(list.answers).toEqual([expect.objectContaining({ kind: "open", row: 0 }), undefined]);
});

test("twenty thousand rows are worked out as they are seen", () => {
	const changes = Array.from({ length: 20_000 }, (_, i) => modified(`dir/${i}.txt`));
	const { lines, press } = openList(changes, { columns: 80, rows: 24 });
	press("G");
	expect(lines().join("\n")).toContain("→ [ ] M dir/19999.txt");
	press("a");
	expect(lines().join("\n")).toContain("20000 picked");
});

test("a diff offers its hunks only where there are some", () => {
	const open = (hunks: number) => {
		const answers: unknown[] = [];
		const screen = openScreen((env) =>
			createFileDiff(env, {
				title: "Changes since “tidy up”",
				notes: [],
				change: modified("a.txt"),
				patch: { kind: "text", hunks: Buffer.from("@@ -1 +1 @@\n-x\n+y\n") },
				hunks,
				close: (answer) => void answers.push(answer),
			}),
		);
		return { ...screen, answers };
	};
	const without = open(0);
	without.press("h");
	expect([without.answers, without.lines().join("\n").includes("h choose hunks")]).toEqual([
		[],
		false,
	]);
	const some = open(1);
	expect(some.lines().join("\n")).toContain("h choose hunks");
	some.press("h", "r", "escape");
	expect(some.answers).toEqual(["hunks", "revert", undefined]);
});
