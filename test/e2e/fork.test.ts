/**
 * `/fork` and `/clone`, on the real Pi: files follow into the child or stay, and the parent's points are the child's.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step, until } from "../support/pi.ts";
import { createWorld, difference } from "../support/world.ts";
import {
	dialogAt,
	failingDisk,
	plainOptions,
	restoredAt,
	restoreTo,
	sessionLines,
	words,
} from "./scenes.ts";

describe.each(piVersions)("on Pi %s", (version) => {
	test("restores all, into a child that has its parent's points and undo, at any depth", async () => {
		await using world = createWorld();
		const git = world.gitState();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
		const two = world.files();
		const parent = await pi.sessionFile();
		const [firstAnswer, second] = [await pi.answer(0), await pi.user(1)];
		const dialog = await dialogAt(pi, second, "fork");
		expect(dialog).toMatchObject({
			title: "Fork from the point before your message “second” · what about the files?",
			options: [
				words.forkKeep,
				"Restore all (files + conversation) (1 changed, 1 added)",
				"Code only (restore files, keep conversation) (1 changed, 1 added)",
				words.forkCancel,
			],
		});
		expect(await pi.fork(second, { choose: words.forkAll })).toMatchObject({ cancelled: false });
		expect(difference(one, world.files())).toEqual([]);
		const child = await pi.sessionFile();
		expect(child).not.toBe(parent);
		expect(await pi.conversation()).toEqual([
			"user: first",
			"assistant: [toolCall]",
			"assistant: one",
		]);

		await pi.prompt("third", step.bash("echo 3 > three"), "three");
		const three = world.files();
		// Undo in the child: what the fork's restore replaced.
		const shown = await dialogAt(pi, firstAnswer);
		expect(plainOptions(shown)).toContain("Undo last file rewind");
		await pi.tree(firstAnswer, { choose: words.undo });
		expect(difference(two, world.files())).toEqual([]);
		// A fork of the fork, with a point of the grandparent.
		await pi.tree(await pi.answer(1), { choose: words.restore });
		expect(difference(three, world.files())).toEqual([]);
		await pi.fork(await pi.user(1), { choose: words.forkKeep });
		expect(difference(three, world.files())).toEqual([]);
		const grandchild = await pi.sessionFile();
		expect(new Set([parent, child, grandchild]).size).toBe(3);
		await pi.prompt("fourth", step.bash("rm a.txt"), "four");
		expect(await restoredAt(world, pi, firstAnswer, one)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
		// The parent's own file says what its fork did.
		const ops = sessionLines(parent).filter((line) => JSON.stringify(line).includes('"rewind-op"'));
		expect(ops.at(-1)).toMatchObject({ data: { restored: { what: "restore" } } });
		expect(difference(git, world.gitState())).toEqual([]);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});

	test("conversation only, Enter at once and cancel leave every file alone; clone asks nothing", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
		const before = world.files({ inodes: true, mtimes: true });
		const same = (): string[] => difference(before, world.files({ inodes: true, mtimes: true }));
		const parent = await pi.sessionFile();
		const second = await pi.user(1);
		expect(await pi.fork(second, { choose: words.forkCancel })).toMatchObject({ cancelled: true });
		expect([await pi.sessionFile(), same()]).toEqual([parent, []]);
		const asked = pi.dialogs.length;
		const answer = await pi.answer(0);
		expect(await pi.clone()).toMatchObject({ cancelled: false });
		expect([pi.dialogs.length, same()]).toEqual([asked, []]);
		expect(await pi.sessionFile()).not.toBe(parent);
		// The clone has the points of what it copied.
		expect((await dialogAt(pi, answer)).options).toContain(
			"Restore files to that point (1 changed, 1 added)",
		);
		const first = (dialog: { options: readonly string[] }): string => dialog.options[0] ?? "";
		expect(await pi.fork(await pi.user(1), { choose: first })).toMatchObject({ cancelled: false });
		expect(same()).toEqual([]);
		await restoreTo(pi, answer);
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["a1\n", "b0\n"]);
		expect(pi.errors).toEqual([]);
	});

	test("code only and undo move the files and keep the session [R4]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
		const two = world.files();
		const parent = await pi.sessionFile();
		const conversation = await pi.conversation();
		expect(await pi.fork(await pi.user(0), { choose: words.forkCode })).toMatchObject({
			cancelled: true,
		});
		expect(difference(start, world.files())).toEqual([]);
		expect(pi.notifications.at(-1)).toEqual({
			type: "info",
			message: "Files restored to the point before your message “first” (1 changed, 1 added)",
		});
		expect([await pi.sessionFile(), await pi.conversation()]).toEqual([parent, conversation]);
		expect(await pi.fork(await pi.user(1), { choose: words.undo })).toMatchObject({
			cancelled: true,
		});
		expect(difference(two, world.files())).toEqual([]);
		expect(pi.notifications.at(-1)?.message).toBe(
			"Last file rewind undone: files restored to before the last rewind (1 changed, 1 deleted)",
		);
		// Undoing the undo: redo.
		await pi.fork(await pi.user(1), { choose: words.undo });
		expect(difference(start, world.files())).toEqual([]);
		// The next prompt's point is what the person sees now.
		await pi.prompt("third", step.bash("echo 3 > a.txt"), "three");
		expect(await restoredAt(world, pi, await pi.user(2), start)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("a fork from the first message, with files or without, and its undo in the child", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.bash("rm -r dir; echo 1 > a.txt; echo n > new"), "one");
		const one = world.files();
		await pi.fork(await pi.user(0), { choose: words.forkAll });
		expect(difference(start, world.files())).toEqual([]);
		expect(await pi.conversation()).toEqual([]);
		await pi.prompt("other first", step.write("other", "o\n"), "other one");
		const other = world.files();
		await pi.tree(await pi.answer(0), { choose: words.undo });
		expect(difference(one, world.files())).toEqual([]);
		await restoreTo(pi, await pi.answer(0));
		expect(difference(other, world.files())).toEqual([]);
		// And once more from the first message, keeping the files.
		await pi.fork(await pi.user(0), { choose: words.forkKeep });
		expect(difference(other, world.files())).toEqual([]);
		await pi.prompt("third first", step.bash("rm other"), "third one");
		expect(await restoredAt(world, pi, await pi.user(0), other)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("while an agent runs, only the conversation can be forked; afterwards all is on offer", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const begun = join(world.at, "begun");
		const first = await pi.user(0);
		await pi.promptUntil(
			"second",
			[step.bash(`echo half > half; touch ${begun}; sleep 60`)],
			"tool_execution_start",
		);
		world.shell(`until test -e ${begun}; do sleep 0.02; done`);
		const running = world.files();
		const dialog = await dialogAt(pi, first, "fork");
		expect(dialog.options).toEqual([words.forkKeep, words.forkCancel]);
		expect(dialog.title).toMatch(/\nAn agent is running: finish or abort it to restore files\.$/);
		expect(difference(running, world.files())).toEqual([]);
		const settled = pi.settled();
		await pi.abort();
		await settled;
		expect(plainOptions(await dialogAt(pi, first, "fork"))).toEqual([
			words.forkKeep,
			"Restore all (files + conversation)",
			"Code only (restore files, keep conversation)",
			words.forkCancel,
		]);
		// Forking while it runs keeps the files, whatever the abort left.
		writeFileSync(begun, "");
		await pi.promptUntil("third", [step.bash("sleep 60")], "tool_execution_start");
		await pi.fork(first, { choose: words.forkKeep });
		expect(difference(running, world.files())).toEqual([]);
		await pi.prompt("in the child", step.bash("rm half"), "child");
		expect(await restoredAt(world, pi, await pi.user(0), running)).toEqual([]);
	});

	test("a fork that Pi refuses leaves files and session as they were", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const before = world.files({ inodes: true, mtimes: true });
		const parent = await pi.sessionFile();
		// Pi forks at user messages only, and says so after we were asked.
		await expect(pi.fork(await pi.answer(0), { choose: words.forkAll })).rejects.toThrow();
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect(await pi.sessionFile()).toBe(parent);
		// The clone that follows does nothing of what was chosen for the refused fork.
		await pi.clone();
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
	});

	test("a restore that fails on the way into the child is told there, and the files are as they were [R9] [R12]", async () => {
		await using world = createWorld();
		const disk = failingDisk(world);
		const pi = await world.rpc({ version, env: disk.env });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt; echo n > new"), "two");
		const [two, inodes] = [world.files(), world.files({ inodes: true })];
		const [parent, second] = [await pi.sessionFile(), await pi.user(1)];
		const moved = await pi.fork(second, {
			choose({ options }) {
				disk.fail("once:5");
				return options.find((option) => words.forkAll.test(option)) ?? "none";
			},
		});
		expect(moved).toMatchObject({ cancelled: false });
		await until(() => pi.notifications.length > 0, "a notice", 20_000);
		expect(pi.notifications).toEqual([
			{
				type: "error",
				message: "Forked. Cannot write dir/b.txt: EIO; all files are as they were before",
			},
		]);
		expect(difference(inodes, world.files({ inodes: true }))).toEqual([]);
		expect(await pi.sessionFile()).not.toBe(parent);
		expect((await pi.conversation()).at(-1)).toBe("assistant: one");
		expect(world.shell("ls .git/pi-rewind")).not.toMatch(/^(stage|journal)/m);
		disk.mend();
		// Nobody says that there was a restore; the child works like any other.
		for (const file of [parent, await pi.sessionFile()])
			expect(
				sessionLines(file).filter((line) => JSON.stringify(line).includes("restored")),
			).toEqual([]);
		await pi.prompt("third", step.write("a.txt", "a3\n"), "three");
		expect(await restoredAt(world, pi, await pi.user(1), two)).toEqual([]);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});

	test("Pi's own --fork FILE has the points of the file, for a session that never ran here", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm a.txt"), "two");
		const [first, answer, parent] = [await pi.user(0), await pi.answer(0), await pi.sessionFile()];
		await pi.stop();
		const child = await world.rpc({ version, args: ["--fork", parent] });
		expect(await child.sessionFile()).not.toBe(parent);
		expect(await restoredAt(world, child, answer, one)).toEqual([]);
		expect(await restoredAt(world, child, first, start)).toEqual([]);
		await child.prompt("third", step.write("b", "b\n"), "three");
		expect(await restoredAt(world, child, await child.user(2), start)).toEqual([]);
		expect([child.errors, child.stderr()]).toEqual([[], ""]);
	});
});
