/**
 * Which files belong to which entry of a conversation, on the real Pi.
 *
 *   user message ▸ as they were before its run     answer ▸ as they were after its tools
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import { watchGit } from "../support/git-wrapper.ts";
import type { RpcPi } from "../support/rpc.ts";
import { createWorld, difference } from "../support/world.ts";
import { bindingsOf, bound, dialogAt, restoredAt, restoreTo, words } from "./scenes.ts";

/** Ids of all assistant messages, in the order of the file. */
async function answers(pi: RpcPi): Promise<string[]> {
	const entries = await pi.entries();
	return entries.filter(({ message }) => message?.role === "assistant").map(({ id }) => id);
}

/** The id of the newest entry of a type. */
async function newest(pi: RpcPi, type: string): Promise<string> {
	const found = (await pi.entries()).findLast((entry) => entry.type === type);
	if (found === undefined) throw new Error(`no ${type}`);
	return found.id;
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("a prompt that changes nothing has its points, and asks git nothing", async () => {
		await using world = createWorld();
		const git = watchGit(world.at);
		const pi = await world.rpc({ version, env: { ...world.env, PATH: git.path } });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const changes = world.files();
		// So long after a change its time tells one from the next.
		for (const text of ["second", "third"]) {
			await sleep(300);
			await pi.prompt(text, "only talk");
		}
		await sleep(300);
		git.calls();
		await pi.prompt("fourth", "only talk");
		expect(git.calls()).toEqual([]);
		world.write("a.txt", "by hand\n");
		await pi.prompt("fifth", "only talk");
		expect(await restoredAt(world, pi, await pi.user(3), changes)).toEqual([]);
	});

	test("every message and every answer has its files; hand edits belong to the next message [R5] [R6]", async () => {
		await using world = createWorld();
		const git = world.gitState();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), step.write("n/x", "x\n"), "one");
		const one = world.files();
		world.write("hand.txt", "by hand\n");
		world.write("dir/c.txt", "c by hand\n");
		const byHand = world.files();
		await pi.prompt(
			"second",
			step.bash(
				"sed -i s/b0/b1/ dir/b.txt; mv hand.txt moved; rm a.txt; chmod +x dir/c.txt; ln -s c.txt dir/l",
			),
			"two",
		);
		const two = world.files();
		await pi.prompt("third", "only talk");
		world.write("a.txt", "after all\n");
		const [first, second, third] = [await pi.user(0), await pi.user(1), await pi.user(2)];
		const firstTool = (await answers(pi))[0] ?? "";

		expect(await restoredAt(world, pi, second, byHand)).toEqual([]);
		expect(await restoredAt(world, pi, first, start)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(1), two)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(0), one)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(2), two)).toEqual([]);
		expect(await restoredAt(world, pi, third, two)).toEqual([]);
		// An answer that called a tool: after that tool, before the next.
		await restoreTo(pi, firstTool);
		expect([world.read("a.txt"), world.read("n/x")]).toEqual(["a1\n", undefined]);
		expect(difference(git, world.gitState())).toEqual([]);
		expect([pi.errors, pi.stderr(), pi.stepsLeft()]).toEqual([[], "", 0]);
		// R11: what did not change made no snapshot of its own.
		const bound = bindingsOf(await pi.entries());
		const ofThird = bound.filter(({ entry }) => entry === third).map(({ snapshot }) => snapshot);
		const ofTwo = (await answers(pi)).at(-2);
		expect(ofThird).toEqual([bound.find(({ entry }) => entry === ofTwo)?.snapshot]);
		world.git("fsck", "--strict");
	});

	test("steered and followed-up messages have the files of the moment when Pi took them up [R2]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const go = join(world.at, "go");
		await pi.promptUntil(
			"first",
			[
				step.bash(`echo 1 > one; until test -e ${go}; do sleep 0.02; done`),
				step.write("two", "2\n"),
				"done with both",
				step.write("three", "3\n"),
				"done with all",
			],
			"tool_execution_start",
		);
		await pi.send("steer", { message: "steered" });
		await pi.send("follow_up", { message: "followed up" });
		const settled = pi.settled();
		writeFileSync(go, "");
		await settled;
		expect((await pi.conversation()).filter((line) => line.startsWith("user"))).toEqual([
			"user: first",
			"user: steered",
			"user: followed up",
		]);
		const seen = (): (string | undefined)[] => ["one", "two", "three"].map(world.read);
		const all = ["1\n", "2\n", "3\n"];
		const [steered, followed] = [await pi.user(1), await pi.user(2)];
		for (const [id, expected] of [
			[steered, ["1\n", undefined, undefined]],
			[followed, ["1\n", "2\n", undefined]],
			[await pi.answer(2), all],
			[await pi.user(0), [undefined, undefined, undefined]],
			[await pi.answer(1), ["1\n", "2\n", undefined]],
		] as const) {
			await restoreTo(pi, id);
			expect(seen()).toEqual(expected);
		}
		expect(pi.errors).toEqual([]);
	});

	test("a retry of the provider does not move the message's point [R11]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt(
			"first",
			step.write("a.txt", "a1\n"),
			step.fail("529 overloaded"),
			step.write("b", "b1\n"),
			step.fail("529 overloaded"),
			"done",
		);
		const end = world.files();
		const first = await pi.user(0);
		expect(bindingsOf(await pi.entries()).filter(({ entry }) => entry === first)).toHaveLength(1);
		expect(await restoredAt(world, pi, first, start)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(0), end)).toEqual([]);
		// A run that fails for good leaves the points of what it did, and the next prompt its own.
		await pi.prompt("second", step.write("c", "c1\n"), step.fail("400 bad request"));
		const failed = world.files();
		await pi.prompt("third", step.bash("rm c"), "three");
		expect(await restoredAt(world, pi, await pi.user(2), failed)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(1), end)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("a run that was aborted, in the stream or in a tool, has its points", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.promptUntil("first", [step.write("a.txt", "a1\n"), step.hang()], "tool_execution_end");
		const inStream = pi.settled();
		await pi.abort();
		await inStream;
		const one = world.files();
		const go = join(world.at, "begun");
		await pi.promptUntil(
			"second",
			[step.bash(`echo half > half; touch ${go}; sleep 60`)],
			"tool_execution_start",
		);
		world.shell(`until test -e ${go}; do sleep 0.02; done`);
		const inTool = pi.settled();
		await pi.abort();
		await inTool;
		const half = world.files();
		await pi.prompt("third", step.bash("rm half a.txt"), "three");
		const secondTool = (await pi.entries()).find(
			({ message }) => message?.role === "assistant" && JSON.stringify(message).includes("half"),
		);
		expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(1), one)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(2), half)).toEqual([]);
		expect(await restoredAt(world, pi, secondTool?.id ?? "", half)).toEqual([]);
		expect([world.read("half"), pi.errors]).toEqual(["half\n", []]);
	});

	test("a compaction has the files of its moment, and points before it stay good", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		world.write("hand", "before compacting\n");
		const compacted = world.files();
		await pi.compact();
		const compaction = await newest(pi, "compaction");
		await bound(pi, compaction);
		await pi.prompt("third", step.bash("rm hand; echo 3 > a.txt"), "three");
		const three = world.files();
		world.write("hand", "between the two\n");
		const again = world.files();
		await pi.compact();
		const secondCompaction = await newest(pi, "compaction");
		await bound(pi, secondCompaction);
		expect(secondCompaction).not.toBe(compaction);
		world.remove("hand");

		expect(await restoredAt(world, pi, secondCompaction, again)).toEqual([]);
		expect((await dialogAt(pi, compaction)).title).toMatch(/^Go to the compaction/);
		expect(await restoredAt(world, pi, compaction, compacted)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(2), compacted)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(0), one)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(2), three)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("a branch summary has the files after the navigation that made it, restored or kept", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const two = world.files();
		const summarize = { summarize: true };
		const first = await pi.answer(0);
		await pi.tree(first, { choose: words.restore, options: summarize });
		const restored = await newest(pi, "branch_summary");
		expect(difference(one, world.files())).toEqual([]);
		await pi.prompt("third", step.bash("echo 3 > a.txt; echo new > new"), "three");
		world.write("hand", "kept\n");
		const kept = world.files();
		await pi.tree(first, { choose: words.keep, options: summarize });
		const keeping = await newest(pi, "branch_summary");
		expect(keeping).not.toBe(restored);
		await pi.prompt("fourth", step.bash("rm -r dir"), "four");

		expect(await restoredAt(world, pi, restored, one)).toEqual([]);
		expect(await restoredAt(world, pi, keeping, kept)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.answer(1), two)).toEqual([]);
		expect(pi.errors).toEqual([]);
	});

	test("an entry without a point says so and names the nearest, and the person's own command has none", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		await pi.send("bash", { command: "echo mine > mine" });
		await pi.prompt("second", step.bash("rm mine"), "two");
		const entries = await pi.entries();
		const toolResult = entries.find(({ message }) => message?.role === "toolResult");
		const command = entries.find(({ message }) => message?.role === "bashExecution");
		const atTool = await dialogAt(pi, toolResult?.id ?? "");
		expect(atTool.title).toMatch(
			/^Go to the result of write.*\nFiles cannot be restored there: this kind of entry has no point of its own; the nearest is the answer\.$/,
		);
		expect(atTool.options).toEqual([words.keep, words.cancel]);
		const atCommand = await dialogAt(pi, command?.id ?? "");
		expect(atCommand.title).toMatch(/no point of its own; the nearest is the answer “said one”/);
		// The command's work is the second message's point.
		await restoreTo(pi, await pi.user(1));
		expect(world.read("mine")).toBe("mine\n");
	});
});
