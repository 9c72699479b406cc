/**
 * What the other end-to-end tests stand on: that pictures see everything, and that both Pis follow a script.
 */
import { symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import { createWorld, difference } from "../support/world.ts";

test("a picture sees bytes, permissions, links, empty folders and names that are not UTF-8", async () => {
	await using world = createWorld({ files: { "a.txt": "same size 1", "run.sh": "" } });
	const before = world.files();
	expect(difference(before, world.files())).toEqual([]);
	world.write("a.txt", "same size 2");
	world.write("run.sh", "", 0o755);
	symlinkSync("a.txt", world.path("link"));
	world.shell("mkdir empty");
	world.write(Buffer.from([0x62, 0xff]), "");
	const lines = difference(before, world.files()).map((line) => line.replace(/: .*/, ""));
	expect(lines.toSorted()).toEqual([
		"added b\\xff",
		"added empty/",
		"added link",
		"changed a.txt",
		"changed run.sh",
	]);
});

test("a picture of the git dir sees all but objects and what is ours", async () => {
	await using world = createWorld();
	const before = world.gitState();
	world.git("update-ref", "refs/pi-rewind/store", "HEAD");
	world.git("pack-refs", "--all", "--no-prune");
	world.shell(
		"mkdir -p .git/pi-rewind && echo x > .git/pi-rewind/index && echo x | git hash-object -w --stdin",
	);
	// Only that there is a file of packed refs now is somebody else's affair.
	expect(difference(before, world.gitState()).filter((line) => !/packed-refs/.test(line))).toEqual(
		[],
	);
	world.git("config", "core.hooksPath", "x");
	expect(difference(before, world.gitState()).join("\n")).toMatch(/changed config/);
});

describe.each(piVersions)("on Pi %s", (version) => {
	test("a script drives tools, a retry, an abort and navigation", { timeout: 60_000 }, async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version, extensions: [] });
		const read = (): string | undefined => world.read("a.txt");
		await pi.prompt("first", step.write("a.txt", "a1\n"), step.fail("529 overloaded"), "one");
		await pi.promptUntil(
			"second",
			[step.edit("a.txt", "a1", "a2"), step.hang()],
			"tool_execution_end",
		);
		const settled = pi.settled();
		await pi.abort();
		await settled;
		expect([read(), pi.stepsLeft(), pi.errors]).toEqual(["a2\n", 0, []]);
		expect(await pi.tree(await pi.answer(0))).toMatchObject({ cancelled: false });
		expect(await pi.conversation()).toEqual([
			"user: first",
			"assistant: [toolCall]",
			"assistant: one",
		]);
		expect(await pi.stop()).toEqual({ code: 0, signal: null });
	});

	test("a person's keys do the same on a screen", { timeout: 60_000 }, async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, extensions: [], columns: 80, rows: 30 });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		await pi.prompt("second", "said two");
		await pi.slash("/tree", /Session Tree/);
		await pi.select(/assistant: said one/);
		await pi.waitGone(/said two/);
		expect(pi.screen()).toMatch(/said one/);
		expect(world.read("a.txt")).toBe("a1\n");
		await pi.stop();
	});
});
