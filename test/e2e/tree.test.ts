/**
 * `/tree`, on the real Pi: what is asked, what each answer does, and that files move only when the conversation does.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Environment, piVersions, rewindExtension, step, until } from "../support/pi.ts";
import { type DialogAnswer, escape, leaveOpen } from "../support/rpc.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import { dialogAt, plainOptions, restoreTo, words } from "./scenes.ts";

/** An extension of somebody else, as a file; gives its path. */
function otherExtension(world: World, body: string): string {
	const file = join(world.at, "other.ts");
	writeFileSync(file, `export default (pi) => {\n${body}\n};\n`);
	return file;
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("asks once, the safe answer first; keeping, Escape and cancelling change nothing on the disk", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), step.write("new", "1\n"), "said one");
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt; echo x > later"), "two");
		const before = world.files({ inodes: true, mtimes: true });
		const answer = await pi.answer(0);
		const dialog = await dialogAt(pi, answer);
		expect(dialog).toMatchObject({
			method: "select",
			title: expect.stringMatching(/^Go to the answer “said one”.*what about the files\?$/),
			options: [
				words.keep,
				"Restore files to that point (1 changed, 1 added, 1 deleted)",
				words.cancel,
			],
		});
		expect((await dialogAt(pi, await pi.user(1))).title).toBe(
			"Go to the point before your message “second” · what about the files?",
		);
		expect(await pi.tree(answer, { choose: words.cancel })).toMatchObject({ cancelled: true });
		expect(await pi.conversation()).toContain("user: second");
		// Enter at once.
		const first = (dialog: { options: readonly string[] }): string => dialog.options[0] ?? "";
		expect(await pi.tree(answer, { choose: first })).toMatchObject({ cancelled: false });
		expect(await pi.conversation()).not.toContain("user: second");
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		// Keeping is recorded: what is on disk now belongs to where the conversation is.
		expect((await pi.custom("rewind-op")).at(-1)?.data).toMatchObject({ v: 2, current: 0 });
		expect([pi.errors, pi.notifications]).toEqual([[], []]);
	});

	test("undo brings back the files before the restore, undoing twice is redo, also after later prompts [R4]", async () => {
		await using world = createWorld();
		const git = world.gitState();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt(
			"second",
			step.bash("rm -r dir; echo 2 > a.txt; mkdir -p n/m; echo x > n/m/x"),
			"two",
		);
		world.write("hand", "never seen by the agent\n");
		const two = world.files();
		const [first, second] = [await pi.answer(0), await pi.answer(1)];
		await restoreTo(pi, first);
		expect(difference(one, world.files())).toEqual([]);
		const asked = await dialogAt(pi, second);
		expect(plainOptions(asked)).toEqual([
			words.keep,
			"Restore files to that point",
			"Undo last file rewind",
			words.cancel,
		]);
		await pi.tree(second, { choose: words.undo });
		expect(difference(two, world.files())).toEqual([]);
		await pi.tree(first, { choose: words.undo });
		expect(difference(one, world.files())).toEqual([]);
		await pi.prompt("third", step.bash("echo 3 > three"), "three");
		const shown = await dialogAt(pi, first);
		expect(shown.options).toContain("Undo last file rewind (1 changed, 2 added, 3 deleted)");
		await pi.tree(second, { choose: words.undo });
		expect(difference(two, world.files())).toEqual([]);
		expect(difference(git, world.gitState())).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("the title names hand edits since the last answer, a moved HEAD and another branch", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		world.write("dir/b.txt", "by hand\n");
		const first = await pi.answer(0);
		const title = (await dialogAt(pi, first)).title.split("\n");
		expect(title.slice(1)).toEqual([
			"Also reverts 1 file changed since the last answer: dir/b.txt.",
		]);
		// Asking again does not make it the new normal.
		expect((await dialogAt(pi, first)).title).toContain("dir/b.txt");
		world.git("commit", "-qam", "mine");
		expect((await dialogAt(pi, first)).title).toMatch(/HEAD moved since that point \(1 commit\)/);
		world.git("switch", "-qc", "feature");
		expect((await dialogAt(pi, first)).title).toMatch(
			/taken on main @[0-9a-f]{7,}, you are on feature @[0-9a-f]{7,}; HEAD stays/,
		);
		const head = world.git("rev-parse", "HEAD", "feature", "main");
		const index = world.index();
		await restoreTo(pi, first);
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["a1\n", "b0\n"]);
		expect(world.git("rev-parse", "HEAD", "feature", "main")).toBe(head);
		expect(difference(index, world.index())).toEqual([]);
	});

	test("a merge in progress refuses restore and undo, with the reason in the title [R6]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const first = await pi.answer(0);
		await restoreTo(pi, first);
		world.shell(`
			git commit -qam base
			git switch -qc other; echo other > a.txt; git commit -qam other
			git switch -q main; echo main > a.txt; git commit -qam main
			git merge other || true
			test -e .git/MERGE_HEAD
		`);
		const before = world.files();
		const dialog = await dialogAt(pi, first);
		expect(dialog.title).toMatch(/\nFiles cannot be restored there: A merge is in progress/);
		expect(dialog.title).toMatch(/\nUndo is not possible: A merge is in progress/);
		expect(dialog.options).toEqual([words.keep, words.cancel]);
		// The conversation may still move.
		expect(await pi.tree(first, { choose: words.keep })).toMatchObject({ cancelled: false });
		expect(difference(before, world.files())).toEqual([]);
		world.git("merge", "--abort");
		await restoreTo(pi, first);
		expect(world.read("a.txt")).toBe("a1\n");
	});

	test("another extension that cancels after ours leaves files and conversation as they were", async () => {
		await using world = createWorld();
		const other = otherExtension(
			world,
			`let cancelling = true;
			pi.events.on("other:stop-cancelling", () => { cancelling = false; });
			const cancel = () => cancelling ? { cancel: true } : undefined;
			pi.on("session_before_tree", cancel);
			pi.on("session_before_fork", cancel);`,
		);
		const pi = await world.rpc({ version, extensions: [rewindExtension, other] });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("echo 2 > a.txt; rm dir/b.txt"), "two");
		const before = world.files({ inodes: true, mtimes: true });
		const records = await pi.custom();
		const first = await pi.answer(0);
		expect(await pi.tree(first, { choose: words.restore })).toMatchObject({ cancelled: true });
		expect(await pi.fork(await pi.user(1), { choose: words.forkAll })).toMatchObject({
			cancelled: true,
		});
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect(await pi.conversation()).toContain("user: second");
		expect(await pi.custom()).toEqual(records);
		// What was decided then is forgotten: keeping now keeps.
		await pi.emit("other:stop-cancelling", {});
		await pi.tree(first, { choose: words.keep });
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		await pi.stop();
		expect(world.shell("find .git/pi-rewind -name '*stage*' -o -name '*journal*'")).toBe("");
	});

	test("a branch summary that fails or is aborted leaves files and conversation as they were", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("echo 2 > a.txt; rm dir/b.txt"), "two");
		const before = world.files({ inodes: true, mtimes: true });
		const first = await pi.answer(0);
		const leaf = await pi.leaf();
		const restoring = { choose: words.restore, options: { summarize: true } };
		pi.nextSummary(step.fail("400 the provider is gone"));
		await expect(pi.tree(first, restoring)).rejects.toThrow(/provider is gone/);
		expect(await pi.leaf()).toBe(leaf);
		// Over RPC, only the newer Pi lets a summary be aborted.
		if (version !== "0.84.0") {
			const asked = pi.nextSummary(step.hang());
			const moving = pi.tree(first, restoring);
			await until(asked, "a request for the summary", 20_000);
			await pi.abort();
			expect(await moving).toMatchObject({ cancelled: true });
			expect(await pi.leaf()).toBe(leaf);
		}
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		// And the next one works.
		await restoreTo(pi, first);
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["a1\n", "b0\n"]);
		expect(pi.errors).toEqual([]);
	});

	test("an abort while the question stands cancels the navigation", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const leaf = await pi.leaf();
		const moved = await pi.tree(await pi.answer(0), {
			choose: async (): Promise<DialogAnswer> => {
				await pi.abort();
				return escape;
			},
		});
		expect(moved).toMatchObject({ cancelled: true });
		expect([await pi.leaf(), world.read("a.txt")]).toEqual([leaf, "a2\n"]);
	});

	test("while a question stands no other navigation begins, and its own answer still counts", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
		const two = world.files({ inodes: true });
		const session = await pi.sessionFile();
		const [start, answer, second] = [await pi.user(0), await pi.answer(0), await pi.user(1)];
		const first = pi.tree(answer, { choose: leaveOpen });
		await until(() => pi.dialogs.length > 0, "a dialog", 60_000);

		// Pi 0.84 lets it come as far as us, later ones refuse it themselves.
		const again = await pi.tree(start).catch(() => "refused by Pi");
		if (version === "0.84.0") expect(again).toMatchObject({ cancelled: true });
		else expect(again).toBe("refused by Pi");
		expect(await pi.fork(second)).toMatchObject({ cancelled: true });
		const told = { type: "warning", message: expect.stringMatching(/^Not moved: another nav/) };
		expect(pi.notifications).toEqual(version === "0.84.0" ? [told, told] : [told]);
		expect([pi.dialogs.length, await pi.sessionFile()]).toEqual([1, session]);
		expect(difference(two, world.files({ inodes: true }))).toEqual([]);

		const [dialog] = pi.dialogs;
		if (dialog === undefined) throw new Error("no dialog");
		await pi.reply(dialog, words.restore);
		expect(await first).toMatchObject({ cancelled: false });
		expect(difference(one, world.files())).toEqual([]);
		expect(await pi.conversation()).not.toContain("user: second");
		// And the next one is asked again.
		expect((await dialogAt(pi, start)).options).toContain(
			"Undo last file rewind (1 changed, 1 deleted)",
		);
		expect(pi.errors).toEqual([]);
	});

	test("what changed while the question stood is left alone and counted [R4] [R15]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("echo 2 > a.txt; echo 2 > dir/b.txt"), "two");
		await pi.tree(await pi.answer(0), {
			choose: () => {
				world.write("dir/b.txt", "typed while the question stood\n");
				return words.restore;
			},
		});
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual([
			"a1\n",
			"typed while the question stood\n",
		]);
		expect((await pi.custom("rewind-op")).at(-1)?.data).toMatchObject({
			restored: { what: "restore", changed: 1, added: 0, deleted: 0, skipped: 1 },
		});
		// And the undo gives back exactly what was there.
		await pi.tree(await pi.answer(1), { choose: words.undo });
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual([
			"2\n",
			"typed while the question stood\n",
		]);
	});

	test("a failure while restoring is found before the move: nothing moves, and it is said [R9] [R12]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const id = world.git("hash-object", "a.txt").trim();
		const a1 = world.shell("printf 'a1\\n' | git hash-object --stdin").trim();
		expect(id).not.toBe(a1);
		const leaf = await pi.leaf();
		const before = world.files({ inodes: true, mtimes: true });
		const moved = await pi.tree(await pi.answer(0), {
			choose: () => {
				world.shell(`rm -f .git/objects/${a1.slice(0, 2)}/${a1.slice(2)}`);
				return words.restore;
			},
		});
		expect(moved).toMatchObject({ cancelled: true });
		expect(await pi.leaf()).toBe(leaf);
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect(pi.notifications.at(-1)).toMatchObject({
			type: "error",
			message: expect.stringMatching(/^Not moved, no files were changed: /),
		});
		// Other points are as good as ever.
		await restoreTo(pi, await pi.user(0));
		expect(world.read("a.txt")).toBe("a0\n");
	});
});

// Pi 0.84's own abort does not reach a navigation.
test("an abort while an earlier capture still runs cancels the navigation", async () => {
	await using world = createWorld();
	const pi = await world.rpc({ env: withSlowGit(world) });
	await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
	await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
	const target = await pi.answer(0);
	writeFileSync(hold(world), "");
	// Where a folder changed, git is asked.
	world.write("later", "x\n");
	await pi.compact();
	const leaf = await pi.leaf();
	let isOver = false;
	const moving = pi.tree(target).finally(() => (isOver = true));
	const abort = async (): Promise<boolean> => {
		await pi.abort();
		return isOver;
	};
	await until(abort, "the end of the navigation", 20_000);
	expect(await moving).toMatchObject({ cancelled: true });
	expect([await pi.leaf(), world.read("a.txt")]).toEqual([leaf, "a2\n"]);
	rmSync(hold(world));
});

/** While this file is there, git does not look at the working tree. */
const hold = (world: World): string => join(world.at, "hold");

/** An environment whose git can be held up. */
function withSlowGit(world: World): Environment {
	const bin = join(world.at, "bin");
	const real = world.shell("command -v git").trim();
	mkdirSync(bin);
	const waits = `case " $* " in *" status "*) while [ -e '${hold(world)}' ]; do sleep 0.1; done;; esac`;
	writeFileSync(join(bin, "git"), `#!/bin/sh\n${waits}\nexec '${real}' "$@"\n`, { mode: 0o755 });
	return { ...world.env, PATH: `${bin}:${world.env["PATH"]}` };
}
