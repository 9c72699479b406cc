/**
 * The ways Pi can run and the places it can run in: print, json, without a session file, sessions inside the
 * repository, a folder that becomes a repository, two at once, loaded twice.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, rewindExtension, step, until } from "../support/pi.ts";
import { runPi } from "../support/print.ts";
import { createWorld, difference } from "../support/world.ts";
import {
	bindingsOf,
	dialogAt,
	restoredAt,
	restoreTo,
	sessionFiles,
	sessionLines,
	words,
} from "./scenes.ts";

describe.each(piVersions)("on Pi %s", (version) => {
	test.each(["print", "json"] as const)(
		"records points in %s mode, asks nothing and says nothing",
		async (mode) => {
			await using world = createWorld();
			const start = world.files();
			const steps = [step.bash("rm dir/b.txt; echo 1 > a.txt"), "an answer"];
			const where = { cwd: world.root, env: world.env, version };
			const printed = await runPi({ ...where, mode, prompt: "first", steps });
			expect([printed.code, printed.stderr]).toEqual([0, ""]);
			if (mode === "print") expect(printed.stdout).toBe("an answer\n");
			else {
				const types = printed.stdout
					.split("\n")
					.filter(Boolean)
					.map((line) => JSON.parse(line).type);
				expect(types).toContain("agent_end");
			}
			const [file = ""] = sessionFiles(world);
			expect(
				sessionLines(file).filter((l) => JSON.stringify(l).includes("rewind-turn")).length,
			).toBeGreaterThan(0);
			const end = world.files();
			const pi = await world.rpc({ version, args: ["-c"] });
			expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
			expect(await restoredAt(world, pi, await pi.answer(0), end)).toEqual([]);
		},
	);

	test("without a session file, /tree, undo and /fork work as with one", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version, args: ["--no-session"] });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm -r dir; echo 2 > a.txt"), "two");
		const two = world.files();
		const answer = await pi.answer(0);
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		await pi.tree(await pi.answer(1), { choose: words.undo });
		expect(difference(two, world.files())).toEqual([]);
		await pi.fork(await pi.user(1), { choose: words.forkAll });
		expect(difference(one, world.files())).toEqual([]);
		expect((await pi.conversation())[0]).toBe("user: first");
		await pi.prompt("third", step.bash("rm a.txt"), "three");
		expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		expect([pi.errors, pi.stderr(), sessionFilesOrNone(world.at)]).toEqual([[], "", []]);
	});

	test("the child of a session without a file is offered points whose records it did not copy", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version, args: ["--no-session"] });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm -r dir; echo 2 > a.txt"), "two");
		const two = world.files();
		const answer = await pi.answer(0);
		// Beside the branch of the second message: there is the record that binds this answer.
		await pi.tree(answer, { choose: words.keep });
		await pi.prompt("third", step.write("a.txt", "a3\n"), "three");
		const third = (await pi.entries()).findLast(({ message }) => message?.role === "user");
		await pi.fork(third?.id ?? "", { choose: words.forkKeep });
		expect(await pi.conversation()).toEqual([
			"user: first",
			"assistant: [toolCall]",
			"assistant: one",
		]);
		const entries = await pi.entries();
		expect(entries.map(({ id }) => id)).toContain(answer);
		expect(bindingsOf(entries).filter(({ entry }) => entry === answer)).toEqual([]);
		await pi.prompt("fourth", "talk");
		const three = world.files();
		expect(difference(two, three)).not.toEqual([]);
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		await pi.tree(await pi.user(0), { choose: words.undo });
		expect(difference(three, world.files())).toEqual([]);

		// The child's child has them from its grandparent.
		const fourth = (await pi.entries()).findLast(({ message }) => message?.role === "user");
		await pi.fork(fourth?.id ?? "", { choose: words.forkKeep });
		await pi.prompt("fifth", "talk");
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		expect([pi.errors, pi.stderr(), sessionFilesOrNone(world.at)]).toEqual([[], "", []]);
	});

	test("a folder that becomes a repository in mid-session gets points from then on", async () => {
		await using world = createWorld({ init: false });
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		expect(pi.status.get("rewind")).toBe("◇ no points: no git repository");
		expect(await pi.tree(await pi.user(0))).toMatchObject({ cancelled: false });
		world.git("init", "-q");
		const start = world.files();
		await pi.prompt("second", step.bash("rm a.txt; echo n > new"), "two");
		const two = world.files();
		expect(pi.status.get("rewind")).toMatch(/^◆ \d+ points$/);
		const second = await pi.user(1);
		await pi.prompt("third", step.bash("echo 3 > new"), "three");
		expect(await restoredAt(world, pi, second, start)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(1), two)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("session files inside the repository are never captured and never restored [R5]", async () => {
		await using world = createWorld();
		const args = ["--session-dir", "./sess"];
		const pi = await world.rpc({ version, args });
		const start = world.files();
		await pi.prompt(
			"first",
			step.write("a.txt", "a1\n"),
			step.write("sess/notes.txt", "n\n"),
			"one",
		);
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const file = world.path((await pi.sessionFile()).replace(`${world.root}/`, ""));
		const lines = sessionLines(file).length;
		await restoreTo(pi, await pi.user(0));
		// Only the notes are the person's; the record of the restore was added to the file.
		expect(
			difference(start, world.files()).filter((l) => !/ sess\/(:|\S+\.jsonl)/.test(l)),
		).toEqual([]);
		expect(sessionLines(file).length).toBeGreaterThan(lines);
		const listed = world.git("log", "--all", "--name-only", "--format=", "refs/pi-rewind/store");
		for (const commit of world.git("rev-list", "refs/pi-rewind/store").trim().split("\n"))
			expect(world.git("ls-tree", "-r", "--name-only", commit)).not.toMatch(/\.jsonl/);
		expect(listed).not.toMatch(/\.jsonl/);
		await pi.stop();
		const again = await world.rpc({ version, args: [...args, "-c"] });
		await again.tree(await again.answer(1), { choose: words.undo });
		expect([world.read("a.txt"), world.read("sess/notes.txt")]).toEqual(["a2\n", "n\n"]);
		expect(again.errors).toEqual([]);
	});

	test("two Pis in one repository keep each other's points; the other's changes are named before they go [R3]", async () => {
		await using world = createWorld();
		const [left, right] = await Promise.all([world.rpc({ version }), world.rpc({ version })]);
		const prompts = [1, 2, 3, 4];
		const work = async (pi: typeof left, name: string): Promise<void> => {
			for (const n of prompts) await pi.prompt(`${name} ${n}`, step.write(name, `${n}\n`), "done");
		};
		await Promise.all([work(left, "left.txt"), work(right, "right.txt")]);
		const kept = new Set(world.git("rev-list", "refs/pi-rewind/store").trim().split("\n"));
		for (const pi of [left, right]) {
			const bound = bindingsOf(await pi.entries());
			// A message and two answers a prompt, all of them kept.
			expect(new Set(bound.map(({ entry }) => entry)).size).toBe(prompts.length * 3);
			expect(bound.filter(({ snapshot }) => !kept.has(snapshot))).toEqual([]);
		}
		await right.prompt("right 5", step.write("right.txt", "5\n"), "done");
		await left.prompt("left 5", step.write("left.txt", "5\n"), "done");
		const dialog = await dialogAt(right, await right.answer(3));
		expect(dialog.title).toMatch(/Also reverts 1 file changed since the last answer: left\.txt\./);
		await restoreTo(right, await right.answer(3));
		expect(world.read("right.txt")).toBe("4\n");
		await right.tree(await right.answer(4), { choose: words.undo });
		expect([world.read("left.txt"), world.read("right.txt")]).toEqual(["5\n", "5\n"]);
		expect([left.errors, right.errors, left.notifications, right.notifications]).toEqual([
			[],
			[],
			[],
			[],
		]);
		world.git("fsck", "--strict");
	});

	test("a second copy stands down with one notice, and everything happens once", async () => {
		await using world = createWorld();
		const second = join(world.at, "second", "index.ts");
		mkdirSync(join(world.at, "second"));
		writeFileSync(second, `export { default } from ${JSON.stringify(rewindExtension)};\n`);
		const pi = await world.rpc({ version, extensions: [rewindExtension, second] });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const first = await pi.user(0);
		expect(bindingsOf(await pi.entries()).filter(({ entry }) => entry === first)).toHaveLength(1);
		await dialogAt(pi, first);
		await pi.fork(await pi.user(1), { choose: words.forkAll });
		expect(world.read("a.txt")).toBe("a1\n");
		await pi.prompt("third", step.write("a.txt", "a3\n"), "three");
		await restoreTo(pi, first);
		expect(world.read("a.txt")).toBe("a0\n");
		// One for the process, not one for each of its sessions.
		expect(pi.notifications).toEqual([
			{ type: "info", message: "rewind is loaded twice; this copy stands down" },
		]);
		expect(pi.errors).toEqual([]);
	});

	test("points are taken of the whole repository from a session in a folder of it, and in a linked worktree", async () => {
		await using world = createWorld();
		const inFolder = await world.rpc({ version, cwd: world.path("dir") });
		const start = world.files();
		await inFolder.prompt(
			"first",
			step.bash("echo 1 > b.txt; echo 1 > ../a.txt; echo n > ../new"),
			"one",
		);
		expect(await restoredAt(world, inFolder, await inFolder.user(0), start)).toEqual([]);
		await inFolder.stop();
		world.git("worktree", "add", "-q", "../linked");
		const root = join(world.at, "linked");
		const linked = await world.rpc({ version, cwd: root });
		const before = world.files({ root });
		const main = world.files();
		await linked.prompt("first", step.bash("rm a.txt; echo 1 > dir/b.txt"), "one");
		await restoreTo(linked, await linked.user(0));
		expect(difference(before, world.files({ root }))).toEqual([]);
		expect(difference(main, world.files())).toEqual([]);
		await until(() => linked.status.has("rewind"), "the chip", 10_000);
		expect([inFolder.errors, linked.errors]).toEqual([[], []]);
	});
});

function sessionFilesOrNone(at: string): string[] {
	try {
		return sessionFiles({ at } as Parameters<typeof sessionFiles>[0]);
	} catch {
		// No folder of sessions: that is what is looked for.
		return [];
	}
}
