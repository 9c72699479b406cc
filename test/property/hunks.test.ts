/**
 * Taking hunks back, against `git apply -R` of just those hunks. Few different lines, so that a hunk would fit in several
 * places; any bytes in them.
 *
 * Of a choice, the headers that git is given are counted anew: it goes by the line numbers after the patch was taken back.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { type Hunk, parseHunks, revertHunks } from "../../src/core/hunks.ts";

const dir = mkdtempSync(join(tmpdir(), "hunks-"));
afterAll(() => rmSync(dir, { recursive: true }));
const git = ["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"];
const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

const line = fc.constantFrom("a", "b", "", "a\r", "\r", "\0\xff", "-- x", "@@ -1 +1 @@", "\\ No");
const lines = (max: number) => fc.array(line, { maxLength: max });
const ending = fc.constantFrom("\n", "\n", "");
const text = (all: readonly string[], end: string): Buffer =>
	Buffer.from(all.length === 0 ? "" : all.join("\n") + end, "latin1");
/** A file before and after: lines that are the same, mostly enough of them to part two hunks, between some that may differ. */
const pair = fc
	.record({
		parts: fc.array(fc.tuple(lines(3), lines(3), fc.array(line, { minLength: 4, maxLength: 9 })), {
			minLength: 1,
			maxLength: 4,
		}),
		start: lines(5),
		endings: fc.tuple(ending, ending),
	})
	.map(({ parts, start, endings }) => {
		const before = parts.flatMap(([old, , same]) => [...old, ...same]);
		const after = parts.flatMap(([, changed, same]) => [...changed, ...same]);
		return {
			before: text([...start, ...before], endings[0]),
			after: text([...start, ...after], endings[1]),
		};
	});

/** From the first hunk on; empty when nothing differs. */
function diff(before: Buffer, after: Buffer): Buffer {
	writeFileSync(join(dir, "before"), before);
	writeFileSync(join(dir, "after"), after);
	const args = [...git, "diff", "--no-index", "--text", "--no-color", "--", "before", "after"];
	const { stdout } = spawnSync("git", args, { cwd: dir, env });
	const at = stdout.indexOf("\n@@ ");
	return at === -1 ? Buffer.alloc(0) : stdout.subarray(at + 1);
}

function applyReverse(after: Buffer, hunks: readonly Hunk[]): Buffer {
	let shift = 0;
	const body = hunks.map(({ before, after, lines }) => {
		// Of an empty side the line above it is named.
		const first = after.count === 0 ? after.start + 1 : after.start;
		const start = before.count === 0 ? first + shift - 1 : first + shift;
		shift += before.count - after.count;
		const marks = { context: " ", added: "+", removed: "-" } as const;
		const shown = lines.map(({ kind, text }) =>
			text.endsWith("\n")
				? `${marks[kind]}${text}`
				: `${marks[kind]}${text}\n\\ No newline at end of file\n`,
		);
		return `@@ -${start},${before.count} +${after.start},${after.count} @@\n${shown.join("")}`;
	});
	const patch = `--- a/after\n+++ b/after\n${body.join("")}`;
	writeFileSync(join(dir, "after"), after);
	execFileSync("git", [...git, "apply", "-R", "--whitespace=nowarn", "-"], {
		cwd: dir,
		env,
		input: Buffer.from(patch, "latin1"),
		stdio: ["pipe", "pipe", "pipe"],
	});
	return readFileSync(join(dir, "after"));
}

test("hunks taken back are what git makes of them, whichever are chosen [R14]", () => {
	let several = 0;
	fc.assert(
		fc.property(pair, fc.infiniteStream(fc.boolean()), ({ before, after }, coins) => {
			const hunks = parseHunks(diff(before, after));
			if (hunks === undefined) throw new Error("a patch of git's was not read");
			const every = new Set(hunks.keys());
			expect(revertHunks(after, hunks, every)).toEqual(before);
			expect(revertHunks(after, hunks, new Set())).toEqual(after);
			const chosen = new Set([...every].filter(() => coins.next().value));
			if (chosen.size === 0) return;
			if (chosen.size < every.size) several += 1;
			const some = hunks.filter((_, place) => chosen.has(place));
			// git makes a file that it emptied disappear.
			const reverted = revertHunks(after, hunks, chosen);
			if (reverted?.length !== 0) expect(reverted).toEqual(applyReverse(after, some));
		}),
		{ numRuns: 80, seed: 20_261, endOnFailure: true },
	);
	expect(several).toBeGreaterThan(20);
});

test("hunks of other content are not taken back near where they belong", () => {
	const numbered = Array.from({ length: 30 }, (_, i) => `line ${i}`);
	const before = text(numbered, "\n");
	const after = text(numbered.with(2, "changed").with(25, "changed too"), "\n");
	const hunks = parseHunks(diff(before, after)) ?? [];
	expect(hunks).toHaveLength(2);
	const moved = Buffer.concat([Buffer.from("one more\n"), after]);
	expect(revertHunks(moved, hunks, new Set([1]))).toBeUndefined();
	const edited = Buffer.from(after.toString().replace("changed too", "edited"));
	expect(revertHunks(edited, hunks, new Set([1]))).toBeUndefined();
	// A hunk that was not chosen does not matter.
	expect(revertHunks(edited, hunks, new Set([0]))?.toString()).toContain("line 2\n");
});
