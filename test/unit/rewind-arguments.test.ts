/** The arguments of `/rewind`, and what completes them. */
import { describe, expect, test } from "vitest";
import { completeRewind, parseRewindArguments } from "../../src/core/rewind-arguments.ts";
import { bytePathFromText } from "../../src/core/ids.ts";
import { pathsAt } from "../../src/core/rewind.ts";

const quiet = { dryRun: false, yes: false };

test.each([
	["", { kind: "browse" }],
	["   ", { kind: "browse" }],
	["3", { kind: "point", point: "3", paths: [], ...quiet }],
	["1a2b3c4d --files", { kind: "point", point: "1a2b3c4d", what: "files", paths: [], ...quiet }],
	[
		"1 --both --yes",
		{ kind: "point", point: "1", what: "both", paths: [], dryRun: false, yes: true },
	],
	[
		"1 --conversation --dry-run",
		{ kind: "point", point: "1", what: "conversation", paths: [], dryRun: true, yes: false },
	],
	["undo", { kind: "undo", ...quiet }],
	["undo --yes --dry-run", { kind: "undo", dryRun: true, yes: true }],
])("%j is understood", (text, expected) => {
	expect(parseRewindArguments(text)).toEqual(expected);
});

test.each([".", "./", "././/"])("%s is the root, and all that is in it", (root) => {
	expect(parseRewindArguments(`1 --files --path ${root}`)).toMatchObject({ paths: [""] });
	expect(pathsAt([bytePathFromText("a/b")], [bytePathFromText("")])).toMatchObject({
		kind: "found",
		paths: new Set(["a/b"]),
	});
});

test("paths follow --path, quoted as in a shell, from the root", () => {
	expect(
		parseRewindArguments(`1 --path ./a 'b c' "d\\"é" e\\ f dir/ --files --path g --yes`),
	).toEqual({
		kind: "point",
		point: "1",
		what: "files",
		paths: ["a", "b c", 'd"é', "e f", "dir", "g"].map(bytePathFromText),
		dryRun: false,
		yes: true,
	});
});

test.each([
	["--files", /needs a point/],
	["1 --files --both", /only one of/],
	["1 --path a", /goes with --files or --both/],
	["1 --conversation --path a", /goes with/],
	["1 --files --path", /needs a path/],
	["1 --force", /--force is not known/],
	["undo --files", /undo takes/],
	["1 'a", /quote/],
])("%j is wrong, and says why", (text, message) => {
	expect(parseRewindArguments(text)).toMatchObject({
		kind: "wrong",
		message: expect.stringMatching(message),
	});
});

describe("completion", () => {
	const labels = (typed: string): string[] =>
		completeRewind(typed, ["newest", "older"]).map(({ label }) => label);

	test("offers what may come next, and only that", () => {
		expect(labels("")).toEqual(["undo", "1", "2"]);
		expect(labels("u")).toEqual(["undo"]);
		expect(labels("2 ")).toEqual(["--both", "--files", "--conversation", "--dry-run", "--yes"]);
		expect(labels("2 --files ")).toEqual(["--path", "--dry-run", "--yes"]);
		expect(labels("2 --files --yes ")).toEqual(["--path", "--dry-run"]);
		expect(labels("2 --conversation ")).toEqual(["--dry-run", "--yes"]);
		expect(labels("undo ")).toEqual(["--dry-run", "--yes"]);
		expect(labels("zzz")).toEqual([]);
	});

	test("what is taken is a command that is understood", () => {
		for (const { value } of completeRewind("2 --f", []))
			expect(parseRewindArguments(value)).toMatchObject({ kind: "point", what: "files" });
		expect(completeRewind("", ["newest"])[1]).toMatchObject({ value: "1", description: "newest" });
	});
});
