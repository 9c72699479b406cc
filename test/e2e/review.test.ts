/** `/review` in Pi's terminal UI: what is shown, every key, and that nothing changes but what was confirmed. */
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import type { TuiPi } from "../support/tui.ts";
import { createWorld, difference, type World } from "../support/world.ts";

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
	Array.from({ length: 40 }, (_, i) => `${changed[i] ?? `line ${i}`}\n`).join("");

const files = {
	"gone.txt": "g\n",
	"many.txt": lines(),
	"src/old.ts": "one\ntwo\nthree\nfour\n",
	"z.txt": "z0\n",
};

/** One prompt that changes, adds, deletes and renames. */
async function changeAll(pi: TuiPi): Promise<void> {
	await pi.prompt(
		"tidy up",
		step.bash(
			"sed -i 's/line 3$/LINE 3/; s/line 30/LINE 30/' many.txt; mkdir src/new; mv src/old.ts src/new/name.ts; rm gone.txt; echo n > new.txt; echo z1 > z.txt",
		),
		"done",
	);
}

const opened = /Changes since “tidy up”/;
/** The row that is marked. */
const marked = (pi: TuiPi): string =>
	pi
		.screen()
		.split("\n")
		.findLast((line) => line.startsWith("→ "))
		?.replace(/\s+/g, " ") ?? "";

/** Opens the list; the lines are counted in the background. */
async function open(pi: TuiPi): Promise<void> {
	await pi.slash("/review", opened);
	await pi.waitFor(/5 files \+4 −4/);
	await pi.calm();
}

/** Answers the question that a revert asks. */
async function confirm(pi: TuiPi, question: RegExp): Promise<void> {
	await pi.waitFor(question);
	await pi.select(/ Revert \(\d/);
}

const inodes = (world: World) => world.files({ inodes: true, mtimes: true });

describe.each(piVersions)("on Pi %s", (version) => {
	test("the list, a file's diff and its hunks answer their keys, and Escape changes nothing", async () => {
		await using world = createWorld({ files });
		await using pi = await world.tui({ version, columns: 120, rows: 45, timeoutMs: 60_000 });
		await changeAll(pi);
		const before = inodes(world);
		await open(pi);
		const rows = pi
			.screen()
			.split("\n")
			.filter((line) => /\[[ x]\]/.test(line))
			.map((line) => line.replace(/\s+/g, " ").trim());
		expect(rows).toEqual([
			"→ [ ] D gone.txt +0 −1",
			"[ ] M many.txt +2 −2",
			"[ ] A new.txt +1 −0",
			"[ ] R src/old.ts → src/new/name.ts +0 −0",
			"[ ] M z.txt +1 −1",
		]);
		for (const [keys, row] of [
			[["Down"], "many.txt"],
			[["j"], "new.txt"],
			[["k"], "many.txt"],
			[["Up"], "gone.txt"],
			[["G"], "z.txt"],
			[["g"], "gone.txt"],
			[["End"], "z.txt"],
			[["Home"], "gone.txt"],
			[["PageDown"], "z.txt"],
			[["PageUp"], "gone.txt"],
			[["Space", "Down", "Space"], "[x] M many.txt"],
		] as const) {
			pi.keys(...keys);
			await pi.until(() => marked(pi).includes(row), `${keys.join()} marks ${row}`);
		}
		await pi.waitFor(/2 picked/);
		pi.keys("a");
		await pi.waitFor(/5 picked/);
		pi.keys("n");
		await pi.waitGone(/picked/);
		pi.keys("Enter");
		await pi.waitFor(/h choose hunks/);
		await pi.waitFor(/-\s*4 line 3/);
		expect(pi.screen()).toMatch(/\+\s*4 LINE 3/);
		pi.keys("h");
		await pi.waitFor(/Hunks of many\.txt {2}0 of 2 picked/);
		pi.keys("Enter");
		await pi.waitFor(/Nothing is picked/);
		pi.keys("a");
		await pi.waitFor(/2 of 2 picked/);
		pi.keys("n", "Space");
		await pi.waitFor(/1 of 2 picked/);
		pi.keys("Enter");
		await pi.waitFor(/Revert 1 of 2 hunks of many\.txt\?/);
		// Enter is on what changes nothing.
		pi.keys("Enter");
		await pi.waitFor(opened);
		pi.keys("r");
		await pi.waitFor(/Revert many\.txt\?/);
		pi.keys("Escape");
		await pi.waitFor(opened);
		pi.keys("Enter");
		await pi.waitFor(/h choose hunks/);
		pi.keys("h");
		await pi.waitFor(/Hunks of/);
		pi.keys("Escape");
		await pi.waitFor(/h choose hunks/);
		pi.keys("Escape");
		await pi.waitFor(opened);
		pi.keys("Escape");
		await pi.waitGone(opened);
		expect(difference(before, inodes(world))).toEqual([]);
		expect(pi.screen()).not.toMatch(/iles restored/);
		pi.type("/review -");
		await pi.waitFor(/print the list for programs/);
	});

	test("a row, a choice of rows, a choice of hunks and all of it go back, each with an undo", async () => {
		await using world = createWorld({ files });
		await using pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000 });
		const start = world.files();
		await changeAll(pi);
		const after = world.files();
		await open(pi);
		pi.keys("r");
		await confirm(pi, /Revert gone\.txt\?/);
		await pi.waitFor(/Changes since[^]* 4 files/);
		expect(world.read("gone.txt")).toBe("g\n");
		// The rename goes back whole, with the file that is added; nothing else.
		await pi.moveTo(/old\.ts/);
		pi.keys("Space");
		await pi.moveTo(/A new\.txt/);
		pi.keys("Space", "r");
		await confirm(pi, /Revert 2 files\?/);
		await pi.waitFor(/Changes since[^]* 2 files/);
		expect(world.read("src/old.ts")).toBe(files["src/old.ts"]);
		expect([world.read("src/new/name.ts"), world.read("new.txt")]).toEqual([undefined, undefined]);
		expect(world.read("z.txt")).toBe("z1\n");
		await pi.moveTo(/many\.txt/);
		pi.keys("Enter");
		await pi.waitFor(/h choose hunks/);
		pi.keys("h");
		await pi.waitFor(/Hunks of/);
		pi.keys("G", "Space", "Enter");
		await confirm(pi, /Revert 1 of 2 hunks of many\.txt\?/);
		await pi.waitFor(/Changes since[^]* 2 files \+2 −2/);
		expect(world.read("many.txt")).toBe(lines({ 3: "LINE 3" }));
		pi.keys("R");
		await confirm(pi, /Revert 2 files\?/);
		await pi.until(() => world.read("z.txt") === "z0\n", "the last of them");
		await pi.waitFor(/scripted/);
		expect(difference(start, world.files())).toEqual([]);
		await pi.calm();

		// The newest of them is undone, and nothing besides.
		await pi.slash("/tree", /Session Tree/);
		await pi.select(/user: tidy up/);
		await pi.waitFor(/Keep current files/);
		await pi.select(/Undo last file rewind/);
		await pi.until(() => world.read("z.txt") === "z1\n", "the undo");
		expect(world.read("many.txt")).toBe(lines({ 3: "LINE 3" }));
		expect(difference(after, world.files())).not.toEqual([]);
		expect(world.read("gone.txt")).toBe("g\n");
	});

	test("on 40 columns and 12 rows all of it can be seen and done", async () => {
		await using world = createWorld({ files });
		await using pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000 });
		await changeAll(pi);
		await pi.resize(40, 12);
		await open(pi);
		await pi.moveTo(/many\.txt/);
		pi.keys("Enter");
		await pi.waitFor(/h choose hunks/);
		pi.keys("h");
		await pi.waitFor(/Hunks of/);
		pi.keys("Space", "Enter");
		await confirm(pi, /Revert 1 of 2 hunks/);
		await pi.waitFor(/Changes since/);
		await pi.until(() => world.read("many.txt") === lines({ 30: "LINE 30" }), "the first hunk");
		// Somebody saves the file while its diff is looked at.
		await pi.calm();
		world.write("z.txt", "mine\n");
		const before = inodes(world);
		pi.keys("R");
		await confirm(pi, /Revert 5 files\?/);
		await pi.waitFor(/z\.txt changed in the/);
		expect(difference(before, inodes(world))).toEqual([]);
		await pi.waitFor(/Changes since/);
		pi.keys("Escape");
		await pi.waitGone(/Changes since/);
	});
});
