/** The settings under `rewind`, what other extensions may ask, and the chip, on the real Pi. */
import { describe, expect, test } from "vitest";
import type { PiVersion } from "../support/pi.ts";
import { piVersions, step, until } from "../support/pi.ts";
import type { RpcPi } from "../support/rpc.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import { bindingsOf, dialogAt, plainOptions, restoredAt, restoreTo, words } from "./scenes.ts";

const start = (world: World, version: PiVersion, rewind: unknown): Promise<RpcPi> =>
	world.rpc({ version, settings: { rewind } });

describe.each(piVersions)("on Pi %s", (version) => {
	test("autoSnapshots: false takes no points, and old ones can still be restored and undone", async () => {
		await using world = createWorld();
		const pi = await start(world, version, {});
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const answer = await pi.answer(0);
		await pi.stop();
		const off = await world.rpc({
			version,
			args: ["-c"],
			settings: { rewind: { autoSnapshots: false } },
		});
		await off.prompt("second", step.write("a.txt", "a2\n"), "two");
		await until(() => off.status.has("rewind"), "the chip", 20_000);
		expect(off.status.get("rewind")).toBe("◇ no points: switched off");
		const bound = bindingsOf(await off.entries()).map(({ entry }) => entry);
		expect(bound).not.toContain(await off.user(1));
		expect((await dialogAt(off, await off.user(1))).title).toMatch(
			/Files cannot be restored there: no point was taken there; the nearest is the answer “one”/,
		);
		await restoreTo(off, answer);
		expect(world.read("a.txt")).toBe("a1\n");
		await off.tree(await off.answer(1), { choose: words.undo });
		expect(world.read("a.txt")).toBe("a2\n");
	});

	test("onTree and onFork: keep ask nothing and change nothing", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { onTree: "keep", onFork: "keep" });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const kept = world.files({ inodes: true, mtimes: true });
		expect(await pi.tree(await pi.answer(0))).toMatchObject({ cancelled: false });
		expect((await pi.custom("rewind-op")).at(-1)?.data).toMatchObject({ current: 0 });
		expect(await pi.fork(await pi.user(1))).toMatchObject({ cancelled: false });
		expect(difference(kept, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect([pi.dialogs, pi.errors]).toEqual([[], []]);
	});

	test("safetySnapshot: false hides the undo, which is there again without it [R4]", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { safetySnapshot: false });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		world.write("hand", "h\n");
		const before = world.files();
		const first = await pi.user(0);
		await restoreTo(pi, first);
		const hidden = [words.keep, "Restore files to that point", words.cancel];
		expect(plainOptions(await dialogAt(pi, await pi.answer(0)))).toEqual(hidden);
		await pi.stop();
		const again = await world.rpc({ version, args: ["-c"], settings: { rewind: {} } });
		await again.tree(await again.answer(0), { choose: words.undo });
		expect(difference(before, world.files())).toEqual([]);
	});

	test("the chip counts points; silentCheckpoints and showStatus: false hide it, not the points", async () => {
		await using world = createWorld();
		const pi = await start(world, version, {});
		await pi.prompt("first", "one");
		// The message and the answer.
		expect(pi.status.get("rewind")).toBe("◆ 2 points");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		expect(pi.status.get("rewind")).toBe("◆ 5 points");
		await pi.stop();
		for (const rewind of [{ silentCheckpoints: true }, { showStatus: false }]) {
			const quiet = await world.rpc({ version, args: ["-c"], settings: { rewind } });
			await quiet.prompt("more", step.write("a.txt", `${JSON.stringify(rewind)}\n`), "done");
			expect([quiet.status.get("rewind"), quiet.notifications]).toEqual([undefined, []]);
			expect(bindingsOf(await quiet.entries()).map(({ entry }) => entry)).toContain(
				await quiet.user(-1),
			);
			await quiet.stop();
		}
	});

	test("a file over maxFileMiB is named once, not covered and never touched [R7] [R12]", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { maxFileMiB: 0.5 });
		const big = (byte: string): string => byte.repeat(1 << 20);
		world.write("data.bin", big("1"));
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		world.write("data.bin", big("2"));
		await pi.prompt("second", step.bash("echo 2 > a.txt; printf more >> data.bin"), "two");
		await pi.prompt("third", "three");
		expect(pi.notifications).toEqual([
			{
				type: "warning",
				message:
					"Not covered by rewind, left alone by every restore: data.bin (too large, 1.0 MiB)",
			},
		]);
		expect(pi.status.get("rewind")).toMatch(/^◆ \d+ points · 1 not covered$/);
		const dialog = await dialogAt(pi, await pi.answer(0));
		expect(dialog.title).toMatch(/Not covered: data\.bin \(too large, 1\.0 MiB\)\./);
		const before = world.files({ inodes: true, mtimes: true }).get("data.bin");
		await restoreTo(pi, await pi.answer(0));
		await restoreTo(pi, await pi.user(0));
		expect(world.read("a.txt")).toBe("a0\n");
		expect(world.files({ inodes: true, mtimes: true }).get("data.bin")).toBe(before);
		const smallest = world.git("count-objects", "-v");
		expect(Number(/^size: (\d+)/m.exec(smallest)?.[1])).toBeLessThan(1024);
	});

	test("includeUntracked: false covers tracked files only, in points and restores", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { includeUntracked: false });
		world.write("mine", "m0\n");
		await pi.prompt(
			"first",
			step.bash("rm a.txt; echo 1 > dir/b.txt; echo 1 > mine; echo 1 > new"),
			"one",
		);
		await restoreTo(pi, await pi.user(0));
		expect(["a.txt", "dir/b.txt", "mine", "new"].map(world.read)).toEqual([
			"a0\n",
			"b0\n",
			"1\n",
			"1\n",
		]);
		await pi.tree(await pi.answer(0), { choose: words.undo });
		expect(["a.txt", "dir/b.txt", "mine", "new"].map(world.read)).toEqual([
			undefined,
			"1\n",
			"1\n",
			"1\n",
		]);
		expect(pi.errors).toEqual([]);
	});

	test("wrong settings are named once each, the right ones beside them count, and the project's override", async () => {
		await using world = createWorld({
			files: {
				"a.txt": "a0\n",
				".pi/settings.json": JSON.stringify({ rewind: { onTree: "keep", maxFileMiB: -1 } }),
			},
		});
		const pi = await start(world, version, {
			onTree: "ask",
			showStatus: "yes",
			maxfilemib: 5,
			integrations: 7,
			onFork: "keep",
		});
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", "two");
		const told = pi.notifications.map(({ message, type }) => `${type}: ${message}`).toSorted();
		expect(told).toHaveLength(4);
		expect(told.join("\n")).toMatch(
			/rewind\.integrations in .*agent\/settings\.json was ignored and left as it was: expected a list of strings, received 7/,
		);
		expect(told.join("\n")).toMatch(
			/rewind\.maxFileMiB in .*repo\/\.pi\/settings\.json was ignored and left as it was: expected a number above 0/,
		);
		expect(told.join("\n")).toMatch(
			/rewind\.maxfilemib in .* unknown setting, did you mean maxFileMiB\?/,
		);
		expect(told.join("\n")).toMatch(
			/rewind\.showStatus in .* expected true or false, received "yes"/,
		);
		await pi.tree(await pi.answer(0));
		await pi.fork(await pi.user(0));
		expect([pi.dialogs, world.read("a.txt")]).toEqual([[], "a1\n"]);
		expect(pi.status.get("rewind")).toMatch(/points/);
	});

	test("an answer after tools that only look has the point before it; ignore and watch say which those are [R11]", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { ignore: ["bash"], watch: ["read"] });
		const look = { tools: [{ name: "ls", args: { path: "." } }] };
		await pi.prompt("first", look, step.bash("true"), "one");
		const bound = bindingsOf(await pi.entries());
		expect(bound).toHaveLength(4);
		expect(new Set(bound.map(({ snapshot }) => snapshot)).size).toBe(1);
		// What an ignored tool did after all is with the next message: nothing is lost.
		await pi.prompt("second", step.bash("echo 1 > a.txt"), "two");
		const after = world.files();
		await pi.prompt("third", step.write("a.txt", "a3\n"), "three");
		expect(await restoredAt(world, pi, await pi.user(2), after)).toEqual([]);
	});

	test("an allowed extension may ask for a fork that keeps files, once, and for a point at its entry", async () => {
		await using world = createWorld();
		const pi = await start(world, version, { integrations: ["friend"] });
		const prefer = (source: string): Promise<unknown> =>
			pi.emit("rewind:fork-preference", { source, mode: "conversation-only" });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const [mine, theirs] = [await pi.append("note", { n: 1 }), await pi.append("note", { n: 2 })];
		await pi.emit("rewind:checkpoint-entry", { source: "friend", entryId: mine });
		await pi.emit("rewind:checkpoint-entry", { source: "stranger", entryId: theirs });
		await pi.emit("rewind:checkpoint-entry", { source: "friend", entryId: "no such entry" });
		await pi.emit("rewind:checkpoint-entry", null);
		const checkpoint = world.files();
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		expect((await dialogAt(pi, String(theirs))).title).toMatch(/Files cannot be restored there/);
		expect(await restoredAt(world, pi, String(mine), checkpoint)).toEqual([]);
		await pi.tree(await pi.answer(1), { choose: words.undo });

		await prefer("stranger");
		await dialogAt(pi, await pi.user(1), "fork");
		await prefer("friend");
		const asked = pi.dialogs.length;
		expect(await pi.fork(await pi.user(1))).toMatchObject({ cancelled: false });
		expect([pi.dialogs.length, world.read("a.txt")]).toEqual([asked, "a2\n"]);
		await pi.prompt("third", "three");
		await dialogAt(pi, await pi.user(1), "fork");
		expect(pi.errors).toEqual([]);
	});
});
