import { describe, expect, test } from "vitest";
import { parseHunks, revertHunks } from "../../src/core/hunks.ts";

const read = (patch: string) => parseHunks(Buffer.from(patch, "latin1"));

describe("reading hunks", () => {
	test("counts decide what belongs to a hunk, not what a line looks like", () => {
		const hunks = read("@@ -1,2 +1,2 @@ fn\n-@@ -9 +9 @@\n+-- a\n same\n@@ -9 +9 @@\n-x\n+y\n");
		expect(hunks?.map(({ header }) => header)).toEqual(["@@ -1,2 +1,2 @@ fn", "@@ -9 +9 @@"]);
		expect(hunks?.[0]?.lines).toEqual([
			{ kind: "removed", text: "@@ -9 +9 @@\n" },
			{ kind: "added", text: "-- a\n" },
			{ kind: "context", text: "same\n" },
		]);
	});

	test("a last line without a line feed has none, on either side or both", () => {
		const end = "\\ No newline at end of file\n";
		const lines = (patch: string) => read(patch)?.[0]?.lines.map(({ text }) => text);
		expect(lines(`@@ -1 +1 @@\n-a\n${end}+b\n`)).toEqual(["a", "b\n"]);
		expect(lines(`@@ -1 +1 @@\n-a\n+b\n${end}`)).toEqual(["a\n", "b"]);
		expect(lines(`@@ -1,2 +1 @@\n-a\n b\n${end}`)).toEqual(["a\n", "b"]);
	});

	test.each([
		["nothing of the kind", "hello\n"],
		["a hunk that ends early", "@@ -1,2 +1,2 @@\n-a\n"],
		["a line without a mark", "@@ -1 +1 @@\nxa\n+b\n"],
		["more lines of one side than it says", "@@ -1,2 +1 @@\n+a\n+b\n-c\n"],
		["a combined diff", "@@@ -1 -1 +1 @@@\n++a\n"],
	])("%s is no hunk", (_, patch) => {
		expect(read(patch)).toBeUndefined();
	});

	test("no bytes are no hunks", () => expect(read("")).toEqual([]));
});

describe("taking hunks back", () => {
	test("carriage returns and bytes that are no text stay as they are [R14]", () => {
		const hunks = read("@@ -1,2 +1,2 @@\n-a\r\n+b\xff\r\n c\r\n") ?? [];
		const reverted = revertHunks(Buffer.from("b\xff\r\nc\r\nd", "latin1"), hunks, new Set([0]));
		expect(reverted?.toString("latin1")).toBe("a\r\nc\r\nd");
	});

	test("a file of a hundred thousand lines is no trouble", () => {
		const lines = "x\n".repeat(300_000);
		const hunks = read("@@ -299999,2 +299999,3 @@\n x\n x\n+y\n") ?? [];
		const reverted = revertHunks(Buffer.from(`${lines}y\n`), hunks, new Set([0]));
		expect(reverted?.equals(Buffer.from(lines))).toBe(true);
	});
});
