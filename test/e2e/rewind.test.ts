/**
 * `/rewind` without a screen: over RPC by dialogs, and by its arguments in every mode. What was shown is what changes.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import { runPi } from "../support/print.ts";
import { type DialogAnswer, escape, type RpcPi } from "../support/rpc.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import { failingDisk } from "./scenes.ts";

const keep = "Conversation only (keep current files)";
const both = /^Restore all \(files \+ conversation\) \(/;
const files = /^Code only \(restore files, keep conversation\) \(/;

/** Two prompts: the second changes, deletes and makes files. */
async function twoPrompts(pi: RpcPi, world: World) {
	await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
	const before = world.files();
	await pi.prompt(
		"second\nof two lines",
		step.bash("rm dir/b.txt; echo 2 > a.txt; mkdir new; echo n > new/n"),
		"said two",
	);
	return { before, after: world.files({ inodes: true, mtimes: true }) };
}

async function rewind(pi: RpcPi, text: string, ...answers: DialogAnswer[]): Promise<void> {
	const before = pi.dialogs.length;
	pi.choose(...answers);
	await pi.prompt(`/rewind${text === "" ? "" : ` ${text}`}`);
	expect(pi.dialogs.length - before, "dialogs").toBe(answers.length);
}

const notices = (pi: RpcPi): string => pi.notifications.map(({ message }) => message).join("\n");
const editorText = (pi: RpcPi): unknown =>
	pi.records.findLast(({ method }) => method === "set_editor_text")?.["text"];

describe.each(piVersions)("on Pi %s", (version) => {
	test("over RPC: prompts newest first, safe answers first, and leaving any dialog changes nothing", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const { after } = await twoPrompts(pi, world);
		await pi.label(await pi.user(0), "start");
		const entries = (await pi.entries()).length;
		const ways: DialogAnswer[][] = [
			[escape],
			["Cancel"],
			[/second/, escape],
			[/second/, "Cancel"],
			[/second/, files, escape],
			[/second/, files, "Choose paths…", escape],
			[/second/, both, "Choose paths…", "Pick none", "Cancel"],
			[/second/, files, /^Everything/, escape],
			[/second/, both, /^Everything/, false],
		];
		for (const way of ways) await rewind(pi, "", ...way);
		expect(difference(after, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect((await pi.entries()).length).toBe(entries);
		expect(await pi.conversation()).toContain("assistant: said two");
		const [list, , question] = pi.dialogs.slice(1);
		expect(list?.options).toEqual([
			expect.stringMatching(/^1 {2}⬥ second {2}main {2}\+2 −2 {2}\+1 ~1 −1 {2}now$/),
			expect.stringMatching(/^2 {2}⬥ first \[start\] {2}main {2}\+1 −1 {2}~1 {2}now$/),
			"Cancel",
		]);
		expect(question?.options).toEqual([
			keep,
			"Conversation only, with a summary of what is left behind",
			"Restore all (files + conversation) (1 changed, 1 added, 1 deleted)",
			"Code only (restore files, keep conversation) (1 changed, 1 added, 1 deleted)",
			"Cancel",
		]);
		expect([pi.errors, pi.notifications]).toEqual([[], []]);
	});

	test("over RPC: conversation, files, both, chosen paths and undo; the prompt goes back into the editor", async () => {
		await using world = createWorld();
		const git = world.gitState();
		const pi = await world.rpc({ version });
		const { before } = await twoPrompts(pi, world);
		const second = world.files();

		await rewind(pi, "", /second/, files, /^Everything/, true);
		expect(difference(before, world.files())).toEqual([]);
		expect(await pi.conversation()).toContain("assistant: said two");
		expect(notices(pi)).toMatch(/Files restored to the point before your message “second of two/);

		await rewind(pi, "", "Undo last file rewind", true);
		expect(difference(second, world.files())).toEqual([]);

		// Chosen paths: a.txt alone, and its undo leaves alone what happened to the others.
		const pick: DialogAnswer[] = ["Pick none", /\[ \] M a\.txt/, /^Go on with 1 of 3/];
		await rewind(pi, "", /second/, files, "Choose paths…", ...pick, true);
		expect([world.read("a.txt"), world.read("new/n"), world.read("dir/b.txt")]).toEqual([
			"a1\n",
			"n\n",
			undefined,
		]);
		expect(pi.dialogs.at(-1)).toMatchObject({ method: "confirm", message: "M a.txt" });
		world.write("new/n", "by hand\n");
		await rewind(pi, "undo --yes");
		expect([world.read("a.txt"), world.read("new/n")]).toEqual(["2\n", "by hand\n"]);
		world.write("new/n", "by hand again\n");

		// By hand comes first in the last look.
		await rewind(pi, "", /second/, both, /^Everything/, true);
		expect(pi.dialogs.at(-1)?.message?.split("\n")).toEqual([
			"Also reverts 1 file changed since the last answer: new/n.",
			"D new/n",
			"M a.txt",
			"A dir/b.txt",
		]);
		expect(difference(before, world.files())).toEqual([]);
		expect((await pi.conversation()).at(-1)).toBe("assistant: said one");
		expect(editorText(pi)).toBe("second\nof two lines");

		await rewind(pi, "", /first/, keep);
		expect(await pi.conversation()).toEqual([]);
		expect(difference(before, world.files())).toEqual([]);
		expect(editorText(pi)).toBe("first");
		expect(difference(git, world.gitState())).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("with a summary of what is left behind: Pi's own, and the summary has a point", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const { after } = await twoPrompts(pi, world);
		const asked = pi.nextSummary("what was left");
		await rewind(pi, "", /second/, /with a summary/);
		expect(asked()).toBe(true);
		expect(difference(after, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect((await pi.conversation()).join("\n")).toContain("what was left");
		pi.nextSummary(step.fail("no summary today"));
		await pi.prompt("third", "said three");
		await rewind(pi, "", /third/, /with a summary/);
		expect(notices(pi)).toMatch(/Not moved, no files were changed: .*no summary today/);
		expect(await pi.conversation()).toContain("assistant: said three");
	});

	test("by arguments: what is named, nothing else; without --yes and in a dry run nothing", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const { before, after } = await twoPrompts(pi, world);
		await rewind(pi, "1 --files --dry-run");
		expect(notices(pi)).toMatch(/1 changed, 1 added, 1 deleted[\s\S]*M a\.txt[\s\S]*Nothing was/);
		await rewind(pi, "1 --both --path a.txt nowhere --yes");
		expect(notices(pi)).toMatch(/nothing would change at nowhere/);
		for (const wrong of ["9 --files", "1 --files --both", "1 --path", "undo --files", '1 "'])
			await rewind(pi, wrong);
		expect(notices(pi)).toMatch(/no prompt 9 on this branch/);
		await rewind(pi, "1 --files", escape);
		expect(difference(after, world.files({ inodes: true, mtimes: true }))).toEqual([]);

		await rewind(pi, "1 --files --path new dir/b.txt --yes");
		expect([world.read("a.txt"), world.read("new/n"), world.read("dir/b.txt")]).toEqual([
			"2\n",
			undefined,
			"b0\n",
		]);
		await rewind(pi, `${await pi.user(1)} --both --yes`);
		expect(difference(before, world.files())).toEqual([]);
		expect((await pi.conversation()).at(-1)).toBe("assistant: said one");
		await rewind(pi, "1 --conversation --yes");
		expect(await pi.conversation()).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("in a fork, too, the undo of chosen paths touches only them", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await twoPrompts(pi, world);
		await rewind(pi, "1 --files --path a.txt --yes");
		expect(await pi.fork(await pi.user(1), { choose: keep })).toMatchObject({ cancelled: false });
		world.write("new/n", "by hand\n");
		await rewind(pi, "undo --yes");
		expect([world.read("a.txt"), world.read("new/n"), world.read("dir/b.txt")]).toEqual([
			"2\n",
			"by hand\n",
			undefined,
		]);
		await rewind(pi, "undo --yes");
		expect([world.read("a.txt"), world.read("new/n")]).toEqual(["a1\n", "by hand\n"]);
		expect(pi.errors).toEqual([]);
	});

	test("chosen paths are all that is touched: of a rename the named side, by an undo nothing else, and nothing undoes nothing", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.bash("mkdir docs; mv dir/b.txt docs/moved.txt"), "said one");
		await rewind(pi, "1 --files --path dir --yes");
		expect([world.read("dir/b.txt"), world.read("docs/moved.txt")]).toEqual(["b0\n", "b0\n"]);
		await rewind(pi, "1 --files --path docs --yes");
		expect(world.read("docs/moved.txt")).toBeUndefined();
		world.write("later.txt", "by hand\n");
		// All that differed was chosen; what came since is not part of it.
		await rewind(pi, "undo --yes");
		expect([world.read("docs/moved.txt"), world.read("later.txt")]).toEqual(["b0\n", "by hand\n"]);
		rmSync(join(world.root, "docs"), { recursive: true });
		rmSync(join(world.root, "later.txt"));
		const records = (await pi.custom("rewind-op")).length;
		await rewind(pi, "1 --files --yes");
		expect((await pi.custom("rewind-op")).length).toBe(records);
		expect(pi.errors).toEqual([]);
	});

	test("print and json modes: the list, and arguments; json's stdout stays Pi's", async () => {
		await using world = createWorld();
		const where = { cwd: world.root, env: world.env, version };
		const run = (mode: "print" | "json", prompt: string, ...steps: string[]) =>
			runPi({ ...where, mode, prompt, steps, args: ["-c"] });
		const start = world.files();
		await runPi({
			...where,
			mode: "print",
			prompt: "first",
			steps: [step.bash("rm dir/b.txt; echo 1 > a.txt"), "an answer"],
		});
		const listed = await run("print", "/rewind");
		expect([listed.code, listed.stderr]).toEqual([0, ""]);
		expect(listed.stdout).toMatch(/^ {2}1 {2}⬥ first {2}main {2}\+1 −2 {2}~1 −1 {2}now\n/);
		const json = await run("json", "/rewind");
		expect(json.stderr).toMatch(/1 {2}⬥ first/);
		const jsonLines = json.stdout.split("\n").filter(Boolean);
		expect(jsonLines.map((line) => typeof JSON.parse(line))).toEqual(jsonLines.map(() => "object"));
		expect(json.stdout).not.toContain("⬥");
		// What failed is told as that, and as nothing else. [R15]
		const disk = failingDisk(world);
		disk.fail("once:2");
		const asItWas = world.files({ inodes: true });
		const failed = await runPi({
			...where,
			env: disk.env,
			mode: "print",
			prompt: "/rewind 1 --files --yes",
			steps: [],
			args: ["-c"],
		});
		disk.mend();
		expect(failed.stderr).toMatch(/EIO; all files are as they were before/);
		expect(failed.stdout).not.toMatch(/restored/);
		expect(failed.code).toBe(1);
		expect(difference(asItWas, world.files({ inodes: true }))).toEqual([]);
		const done = await run("print", "/rewind 1 --files --yes");
		expect([done.code, done.stderr, done.stdout]).toEqual([
			0,
			"",
			expect.stringMatching(/^Files restored to .*“first” \(1 changed, 1 added\)\n/),
		]);
		expect(difference(start, world.files())).toEqual([]);
		const went = await run("print", "/rewind 1 --both");
		expect(went.code).toBe(0);
		expect(went.stdout).toMatch(
			/files and conversation[\s\S]*Nothing was changed\. --yes does it\./,
		);
		expect(difference(start, world.files())).toEqual([]);
		// A script sees by the exit code that what it asked for was not done.
		for (const [prompt, why] of [
			["/rewind 7 --files --yes", /no prompt 7 on this branch/],
			["/rewind 1 --files --path nowhere --yes", /nothing would change at nowhere/],
			["/rewind 1 --everything", /--everything is not known/],
		] as const) {
			const refused = await run("print", prompt);
			expect([refused.code, refused.stdout]).toEqual([1, expect.stringMatching(why)]);
		}
	});
});
