/** The checklist of changed paths: its rows, and what picking does. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FileChange } from "../../src/core/changes.ts";
import { bytePathFromText, bytePathOf, trustedObjectId } from "../../src/core/ids.ts";
import type { TreeEntry } from "../../src/core/plan.ts";
import {
	changesWithin,
	createSelection,
	pathsOf,
	pickAll,
	pickedChanges,
	pickNone,
	rowAt,
	type Selection,
	toggleRow,
} from "../../src/core/selection.ts";

const entry: TreeEntry = { mode: 0o100644, id: trustedObjectId("a".repeat(40)) };
const modified = (path: string): FileChange => ({
	path: bytePathFromText(path),
	from: entry,
	to: entry,
});
const renamed = (from: string, to: string): FileChange => ({
	path: bytePathFromText(to),
	renamedFrom: bytePathFromText(from),
	from: entry,
	to: entry,
});

/** `a/ 1/2` for a folder, `+M a/x` for a picked file, `-M a/x` for one that is not. */
const shown = (selection: Selection): string[] =>
	selection.rows.map((_, index) => {
		const row = rowAt(selection, index);
		if (row === undefined) return "nothing";
		if (row.kind === "folder") return `${row.path || "./"} ${row.picked}/${row.total}`;
		return `${row.isPicked ? "+" : "-"}${row.mark} ${row.change.path}`;
	});

const rowOf = (selection: Selection, text: string): number =>
	shown(selection).findIndex((row) => row.startsWith(text));

describe("rows", () => {
	test("are grouped by folder, what lies below a folder in one piece, all picked", () => {
		const paths = ["z", "a/y", "a/b/x", "a-b/q", "a/b2/w", "README"];
		const selection = createSelection(paths.map(modified));
		expect(shown(selection)).toEqual([
			"./ 6/6",
			"+M README",
			"+M z",
			"a-b/ 1/1",
			"+M a-b/q",
			"a/ 3/3",
			"+M a/y",
			"a/b/ 1/1",
			"+M a/b/x",
			"a/b2/ 1/1",
			"+M a/b2/w",
		]);
	});

	test("a folder that only forks into others has a row of its own; one on the way down has none", () => {
		const selection = createSelection(["deep/v/a/1", "deep/v/b/2"].map(modified));
		expect(shown(selection)).toEqual([
			"deep/v/ 2/2",
			"deep/v/a/ 1/1",
			"+M deep/v/a/1",
			"deep/v/b/ 1/1",
			"+M deep/v/b/2",
		]);
	});

	test("without changes there are none", () => {
		expect(shown(createSelection([]))).toEqual([]);
		expect(rowAt(createSelection([]), 0)).toBeUndefined();
	});
});

describe("picking", () => {
	const start = createSelection(["a/x", "a/b/y", "c"].map(modified));

	test("a file is turned over, and over again", () => {
		const without = toggleRow(start, rowOf(start, "+M a/x"));
		expect(pickedChanges(without).map(({ path }) => path)).toEqual(["c", "a/b/y"]);
		expect(shown(toggleRow(without, rowOf(without, "-M a/x")))).toEqual(shown(start));
	});

	test("a folder is let go whole, with what lies below it, and picked whole when part of it is", () => {
		const without = toggleRow(start, rowOf(start, "a/ "));
		expect(pickedChanges(without).map(({ path }) => path)).toEqual(["c"]);
		const part = toggleRow(without, rowOf(without, "-M a/x"));
		expect(shown(part)).toContain("a/ 1/2");
		expect(shown(toggleRow(part, rowOf(part, "a/ ")))).toEqual(shown(start));
	});

	test("all, none, and a row that is not there", () => {
		expect(pickedChanges(pickNone(start))).toEqual([]);
		expect(shown(pickAll(pickNone(start)))).toEqual(shown(start));
		expect(toggleRow(start, 99)).toBe(start);
	});

	test("both paths of a rename go together", () => {
		const change = renamed("old", "new");
		expect([...pathsOf([change, modified("a")])]).toEqual(["new", "old", "a"]);
	});
});

test("what a plan leaves alone falls away; of a rename, the half that is left alone", () => {
	const change = renamed("old", "new");
	const all = [modified("a"), change];
	const within = (...paths: string[]) =>
		changesWithin(all, new Set(paths.map((path) => bytePathOf(path))));
	expect(within("a", "old", "new")).toEqual(all);
	expect(within("new")).toEqual([{ path: "new", to: entry }]);
	expect(within("old")).toEqual([{ path: "old", from: entry }]);
	expect(within()).toEqual([]);
});

test("any presses: a folder counts what is picked below it, and only toggled files change", () => {
	const name = fc.constantFrom("a", "b", "a-", "ä", "c.txt");
	const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
	fc.assert(
		fc.property(
			fc.uniqueArray(path, { maxLength: 20 }),
			fc.array(fc.nat(40), { maxLength: 12 }),
			(paths, presses) => {
				let selection = createSelection(paths.map(modified));
				for (const row of presses) selection = toggleRow(selection, row);
				const picked = new Set(pickedChanges(selection).map((change) => change.path));
				expect(selection.changes).toHaveLength(paths.length);
				const files: string[] = [];
				for (const [index] of selection.rows.entries()) {
					const row = rowAt(selection, index);
					if (row?.kind === "file") {
						files.push(row.change.path);
						expect(row.isPicked).toBe(picked.has(row.change.path));
					} else if (row?.kind === "folder") {
						const below = selection.changes.filter((each) => each.path.startsWith(row.path));
						expect(row.total).toBe(below.length);
						expect(row.picked).toBe(below.filter((each) => picked.has(each.path)).length);
					}
				}
				expect(files.toSorted()).toEqual(paths.map((each) => bytePathFromText(each)).toSorted());
			},
		),
	);
});
