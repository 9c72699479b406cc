/** The words on the command line mean one thing each; all others are refused with what is taken. */
import { describe, expect, test } from "vitest";
import { commandNames, readArguments, wantsJson } from "../../src/cli/arguments.ts";
import { helpFor, overview } from "../../src/cli/help.ts";

const words = (line: string): string[] => line.split(" ").filter(Boolean);

test.each([
	["restore @2 src a.txt --yes", { words: ["@2", "src", "a.txt"], yes: true, dryRun: false }],
	["restore --dry-run -- @2 --odd", { words: ["@2", "--odd"], dryRun: true }],
	["list -n 5 --json", { command: "list", max: 5, json: true }],
	["diff a b -p --path x --path y", { words: ["a", "b"], patch: true, paths: ["x", "y"] }],
	["undo --session s.jsonl", { session: "s.jsonl" }],
	["recover --roll-back", { recovery: "roll-back" }],
	["doctor --fix", { fix: true }],
])("%s", (line, expected) => {
	expect(readArguments(words(line))).toMatchObject({ kind: "command", ...expected });
});

test.each([
	"nope",
	"show",
	"show a b",
	"list x",
	"list --max 0",
	"list --max 1.5",
	"list --yes",
	"stats --patch",
	"undo --bad",
	"undo --session",
	"recover --finish --forget",
	"help nope",
])("%s is wrong usage, and says what is right", (line) => {
	expect(() => readArguments(words(line))).toThrow(
		expect.objectContaining({
			code: "bad-usage",
			hint: expect.stringContaining("pi-rewind"),
		}),
	);
});

test("JSON is asked for before `--`, also where the rest is wrong", () => {
	expect(wantsJson(words("nope --json"))).toBe(true);
	expect(wantsJson(words("restore @2 -- --json"))).toBe(false);
});

describe("help", () => {
	test.each(commandNames)("of %s names every option that it takes, within a screen", (command) => {
		const text = helpFor(command);
		for (const [option] of text.split("\n")[0]?.matchAll(/--[a-z-]+/g) ?? [])
			expect(text.split("\n").slice(1).join("\n")).toContain(option);
		for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(125);
		expect(readArguments([command, "--help"])).toEqual({ kind: "help", command });
		expect(overview).toContain(`pi-rewind ${command}`);
	});
});
