/**
 * Quitting, resuming and being killed, on the real Pi: points and undo outlive the process; ancestors may be gone.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isGroupGone } from "../support/engine.ts";
import { type Environment, newestPi, piVersions, step, until } from "../support/pi.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import { bindingsOf, dialogAt, plainOptions, restoredAt, restoreTo, words } from "./scenes.ts";

/** A git whose captures come no further than to staging, as in a very large repository, until it is told to hurry. */
function slowGit(world: World): { env: Environment; begun: string; hurry(): void } {
	const bin = join(world.at, "bin");
	const begun = join(world.at, "begun");
	const fast = join(world.at, "fast");
	const path = process.env["PATH"] ?? "";
	mkdirSync(bin);
	const script = `#!/bin/sh
case "$*" in *update-index*) if test ! -e ${fast}; then echo $$ > ${begun}; sleep 600; fi;; esac
PATH='${path}' exec git "$@"
`;
	writeFileSync(join(bin, "git"), script, { mode: 0o755 });
	return {
		env: { ...world.env, PATH: `${bin}:${path}` },
		begun,
		hurry: () => writeFileSync(fast, ""),
	};
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("points and undo outlive the process, and undo of the undo is redo in a third [R1]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
		world.write("hand", "by hand\n");
		const before = world.files();
		const [first, answer] = [await pi.user(0), await pi.answer(0)];
		const secondAnswer = await pi.answer(1);
		await restoreTo(pi, answer);
		expect(difference(one, world.files())).toEqual([]);
		await pi.stop();

		const second = await world.rpc({ version, args: ["-c"] });
		// Where the person had gone, not where the file's older branch ends.
		expect(await second.conversation()).not.toContain("user: second");
		await second.tree(secondAnswer, { choose: words.undo });
		expect(difference(before, world.files())).toEqual([]);
		await second.stop();

		const third = await world.rpc({ version, args: ["-c"] });
		await third.tree(answer, { choose: words.undo });
		expect(difference(one, world.files())).toEqual([]);
		expect(await restoredAt(world, third, first, start)).toEqual([]);
		await third.prompt("third", step.bash("echo 3 > three"), "three");
		expect(await restoredAt(world, third, await third.user(2), start)).toEqual([]);
		expect([third.errors, third.stderr()]).toEqual([[], ""]);
	});

	test("points stay with their session across /new, /resume and /reload", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const [answer, file] = [await pi.answer(0), await pi.sessionFile()];
		await pi.newSession();
		await until(() => pi.status.get("rewind") === "◆ 0 points", "the new chip", 20_000);
		await pi.prompt("new first", step.write("a.txt", "n1\n"), "new one");
		expect(bindingsOf(await pi.entries()).map(({ entry }) => entry)).not.toContain(answer);
		await pi.switchSession(file);
		await pi.reload();
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		await pi.prompt("third", step.bash("echo 3 > a.txt"), "three");
		expect(await restoredAt(world, pi, await pi.user(2), one)).toEqual([]);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});

	test("kill -9 in a run loses no boundary that was passed [R2]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		const begun = join(world.at, "begun");
		await pi.promptUntil(
			"first",
			[
				step.bash("rm dir/b.txt; echo 1 > a.txt"),
				step.bash(`echo half > half; touch ${begun}; sleep 60`),
			],
			"tool_execution_start",
		);
		world.shell(`until test -e ${begun}; do sleep 0.02; done`);
		const file = await pi.sessionFile();
		const first = await pi.user(0);
		await pi.kill();
		const killed = world.files();

		const again = await world.rpc({ version, args: ["-c"] });
		expect(await again.sessionFile()).toBe(file);
		expect(await restoredAt(world, again, first, start)).toEqual([]);
		// The answer whose tool had ended before the next began has its point too.
		const tool = (await again.entries()).find(({ message }) => message?.role === "assistant");
		await restoreTo(again, tool?.id ?? "");
		expect([world.read("a.txt"), world.read("dir/b.txt"), world.read("half")]).toEqual([
			"1\n",
			undefined,
			undefined,
		]);
		// Only what the tool that was killed had done is gone.
		expect(difference(killed, world.files()).map((line) => line.replace(/:.*/, ""))).toEqual([
			"removed half",
		]);
	});

	// In a prompt, quitting waits ten seconds for its boundaries: seen once.
	test.each(version === newestPi ? ["before a prompt", "in a prompt"] : ["before a prompt"])(
		"quitting in the middle of the very first capture, %s, leaves nothing half, and the next start works [R12]",
		async (when) => {
			await using world = createWorld();
			const git = slowGit(world);
			const [start, state] = [world.files({ inodes: true }), world.gitState()];
			const pi = await world.rpc({ version, env: git.env });
			if (when === "in a prompt") await pi.promptUntil("first", ["one"], "message_end");
			await until(() => existsSync(git.begun), "the first capture", 20_000);
			expect((await pi.stop()).code).toBe(0);
			// Nothing of it runs on, nothing is locked, nothing is kept.
			const group = Number(readFileSync(git.begun, "utf8"));
			await until(() => isGroupGone(group), "the end of git", 5_000);
			expect(world.shell("ls .git/pi-rewind")).not.toMatch(/lock|journal|stage|scratch/);
			expect(world.git("for-each-ref", "refs/pi-rewind")).toBe("");
			expect(difference(start, world.files({ inodes: true }))).toEqual([]);

			git.hurry();
			const again = await world.rpc({ version, env: git.env, args: ["-c"] });
			await again.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "two");
			const second = (await again.entries()).findLast(({ message }) => message?.role === "user");
			await restoreTo(again, second?.id ?? "");
			expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["a0\n", "b0\n"]);
			expect(difference(state, world.gitState())).toEqual([]);
			expect([again.errors, again.stderr(), again.notifications]).toEqual([[], "", []]);
			world.git("fsck", "--strict");
		},
	);

	test("the user's point is on disk before the first tool runs [R2]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("zeroth", "so that there is a file");
		const file = await pi.sessionFile();
		const copy = join(world.at, "at-first-tool.jsonl");
		await pi.prompt("first", step.bash(`cp ${file} ${copy}; echo 1 > a.txt`), "one");
		const id = await pi.user(1);
		const atFirstTool = readFileSync(copy, "utf8").split("\n");
		expect(atFirstTool.filter((l) => l.includes("rewind-turn") && l.includes(id))).toHaveLength(1);
	});

	test("a deleted parent and a parent that is its own child end nothing: own points work, others say why [R10]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const [parent, inherited] = [await pi.sessionFile(), await pi.answer(0)];
		// The record that binds the answer is its child: after this it is not on the branch, and no fork copies it.
		await pi.tree(inherited, { choose: words.keep });
		await pi.prompt("third", step.write("a.txt", "a3\n"), "three");
		await pi.fork(await pi.user(2), { choose: words.forkKeep });
		await pi.prompt("fourth", step.write("a.txt", "a4\n"), "four");
		const [child, own, ownMessage] = [await pi.sessionFile(), await pi.answer(1), await pi.user(1)];
		expect(bindingsOf(await pi.entries()).map(({ entry }) => entry)).not.toContain(inherited);
		await pi.stop();
		const parentText = readFileSync(parent, "utf8");
		rmSync(parent);
		const orphan = await world.rpc({ version, args: ["--session", child] });
		const dialog = await dialogAt(orphan, inherited);
		expect(dialog.title).toMatch(
			/\nFiles cannot be restored there: .*a session before this one is not there any more/,
		);
		expect(plainOptions(dialog)).not.toContain("Restore files to that point");
		await restoreTo(orphan, ownMessage);
		expect(world.read("a.txt")).toBe("a3\n");
		await restoreTo(orphan, own);
		expect(world.read("a.txt")).toBe("a4\n");
		await orphan.stop();

		// The parent again, but now it calls the child its parent.
		const [header = "", ...rest] = parentText.split("\n");
		const circular = JSON.stringify({ ...JSON.parse(header), parentSession: child });
		writeFileSync(parent, [circular, ...rest].join("\n"));
		const cyclic = await world.rpc({ version, args: ["--session", child] });
		await restoreTo(cyclic, inherited);
		expect(world.read("a.txt")).toBe("a1\n");
		await restoreTo(cyclic, own);
		expect(world.read("a.txt")).toBe("a4\n");
		const unbound = String(await cyclic.append("somebody-elses", {}));
		await cyclic.prompt("fifth", "five");
		expect((await dialogAt(cyclic, unbound)).title).toMatch(/Files cannot be restored there/);
		expect([cyclic.errors, cyclic.stderr()]).toEqual([[], ""]);
	});
});
