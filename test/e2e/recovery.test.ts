/**
 * A restore that was cut off by kill -9: named at the next start, with both ways out, and never ended unasked. [R9]
 *
 * The cut is made by hand: a journal as src/disk/journal.ts writes it, of a process that is gone, and half of the files.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newestPi, piVersions, step, until, type PiVersion } from "../support/pi.ts";
import { runPi } from "../support/print.ts";
import type { RpcPi } from "../support/rpc.ts";
import { leaveOpen } from "../support/rpc.ts";
import { createWorld, difference, type Picture, type World } from "../support/world.ts";
import { failingDisk, snapshotOf, words } from "./scenes.ts";

interface Cut {
	readonly start: Picture;
	readonly end: Picture;
	readonly half: Picture;
	readonly answer: string;
	readonly first: string;
	readonly journal: string;
}

/** Makes the journal one of another machine. */
function moveElsewhere({ journal }: Cut, host: string, startedAt: number): void {
	const written: Record<string, unknown> = JSON.parse(readFileSync(journal, "utf8"));
	writeFileSync(journal, JSON.stringify({ ...written, host, startedAt }));
}

/** A session of one prompt whose restore to the beginning stopped after the first of three files. */
async function cutRestore(world: World, version: PiVersion): Promise<Cut> {
	const pi = await world.rpc({ version });
	const start = world.files();
	await pi.prompt("first", step.bash("echo 1 > a.txt; rm dir/b.txt; echo n > new"), "one");
	const end = world.files();
	const [first, answer] = [await pi.user(0), await pi.answer(0)];
	const [target, undo] = [await snapshotOf(pi, first), await snapshotOf(pi, answer)];
	const { sessionId } = await pi.state();
	await pi.stop();
	world.write("a.txt", "a0\n");
	const journal = join(world.root, ".git/pi-rewind/journal-1234-0badcafe.json");
	const { pid } = spawnSync("true");
	writeFileSync(
		journal,
		JSON.stringify({
			v: 1,
			pid,
			host: hostname(),
			processStart: "1",
			sessionId,
			target,
			undo,
			paths: ["a.txt", "dir/b.txt", "new"],
			stages: [],
			startedAt: Date.now(),
		}),
	);
	return { start, end, half: world.files(), answer, first, journal };
}

const gone = (cut: Cut): Promise<void> =>
	until(() => !existsSync(cut.journal), "the end of the journal", 20_000);
const asked = (pi: RpcPi): Promise<void> =>
	until(
		() => pi.dialogs.length > 0,
		"a dialog",
		20_000,
		() => pi.stderr(),
	);

describe.each(piVersions)("on Pi %s", (version) => {
	test("is named at the next start; leaving it asks again; finishing reaches the target, undo the files before", async () => {
		await using world = createWorld();
		const cut = await cutRestore(world, version);
		const pi = await world.rpc({ version, args: ["-c"], choose: [/^Leave the files as they are/] });
		await asked(pi);
		expect(pi.dialogs[0]).toMatchObject({
			title: expect.stringMatching(
				/^A restore of 3 files to snapshot [0-9a-f]+ was interrupted: some of them may be restored and some not\.$/,
			),
			options: [
				"Leave the files as they are (ask again at the next start)",
				"Finish the restore",
				"Roll back to the files before it",
				"Keep the files as they are and do not ask again",
			],
		});
		await pi.prompt("meanwhile", "work goes on");
		expect(difference(cut.half, world.files())).toEqual([]);
		expect(existsSync(cut.journal)).toBe(true);
		await pi.stop();

		const again = await world.rpc({ version, args: ["-c"], choose: [/^Finish/] });
		await gone(cut);
		expect(difference(cut.start, world.files())).toEqual([]);
		await again.tree(cut.answer, { choose: words.undo });
		expect(difference(cut.end, world.files())).toEqual([]);
		await again.stop();
		const last = await world.rpc({ version, args: ["-c"] });
		await last.prompt("later", "later");
		expect(last.dialogs).toEqual([]);
	});

	test("rolling back gives the files from before it, and is itself undone", async () => {
		await using world = createWorld();
		const cut = await cutRestore(world, version);
		const pi = await world.rpc({ version, args: ["-c"], choose: [/^Roll back/] });
		await gone(cut);
		await until(() => pi.notifications.length > 0, "a notice", 20_000);
		expect(pi.notifications.at(-1)?.message).toBe(
			"Interrupted restore ended: files restored (1 changed)",
		);
		expect(difference(cut.end, world.files())).toEqual([]);
		await pi.tree(cut.answer, { choose: words.undo });
		expect(difference(cut.half, world.files())).toEqual([]);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});

	// One way out on each version: both versions have both.
	const [how, choice] =
		version === newestPi
			? (["finished", /^Finish/] as const)
			: (["rolled back", /^Roll back/] as const);
	test(`a restore whose roll back failed too is said, keeps what it needs, and is ${how} at the next start`, async () => {
		await using world = createWorld();
		const disk = failingDisk(world);
		const pi = await world.rpc({ version, env: disk.env });
		const start = world.files();
		await pi.prompt("first", step.bash("echo 1 > a.txt; rm dir/b.txt; echo n > new"), "one");
		const end = world.files();
		// The file that came is gone by then, the other is restored, the third cannot come back.
		await pi.tree(await pi.user(0), {
			choose: (dialog) => {
				disk.fail("from:5");
				return dialog.options.find((option) => words.restore.test(option)) ?? "none";
			},
		});
		await until(() => pi.notifications.length > 0, "a notice", 20_000);
		expect(pi.notifications).toEqual([
			{
				type: "error",
				message:
					"The conversation moved. Cannot write dir/b.txt: EIO, and rolling back failed too · Some files are restored and some are not; start Pi again to finish or roll back",
			},
		]);
		expect([world.read("new"), world.read("a.txt"), world.read("dir/b.txt")]).toEqual([
			undefined,
			"a0\n",
			undefined,
		]);
		disk.mend();
		await pi.stop();
		const kept = (): string => world.shell("cat .git/pi-rewind/stage-*/old-* || true");
		expect(kept()).toBe("n\n1\n");

		const again = await world.rpc({ version, args: ["-c"], choose: [choice] });
		await until(() => again.notifications.length > 0, "a notice", 20_000);
		expect(again.notifications).toMatchObject([
			{ type: "info", message: expect.stringMatching(/^Interrupted restore ended: /) },
		]);
		expect(difference(how === "finished" ? start : end, world.files())).toEqual([]);
		expect(world.shell("ls .git/pi-rewind")).not.toMatch(/^(stage|journal)/m);
		expect([pi.errors, again.errors, pi.stderr(), again.stderr()]).toEqual([[], [], "", ""]);
	});

	test("headless, it is said on stderr and nothing is rolled back", async () => {
		await using world = createWorld();
		const cut = await cutRestore(world, version);
		const printed = await runPi({
			cwd: world.root,
			env: world.env,
			version,
			mode: "print",
			prompt: "go on",
			steps: ["an answer"],
		});
		expect(printed).toMatchObject({ code: 0, stdout: "an answer\n" });
		expect(printed.stderr).toMatch(
			/^rewind: A restore of 3 files to snapshot [0-9a-f]+ was interrupted: .* Nothing was rolled back; .*\n$/,
		);
		expect(difference(cut.half, world.files())).toEqual([]);
		expect(existsSync(cut.journal)).toBe(true);
	});

	test("begun on another machine, it is left alone and told; when it is old, it is named with its machine", async () => {
		await using world = createWorld();
		const cut = await cutRestore(world, version);
		moveElsewhere(cut, "build\u001b[2J-1", Date.now());
		const pi = await world.rpc({ version, args: ["-c"] });
		await pi.prompt("meanwhile", "work goes on");
		expect(pi.notifications).toEqual([
			{
				type: "warning",
				message:
					"A restore of 3 files, begun on another machine (build\\x1b[2J-1), may be under way here: it is left alone. If that machine is gone, start Pi again in 10 minutes",
			},
		]);
		expect(pi.dialogs).toEqual([]);
		expect(difference(cut.half, world.files())).toEqual([]);
		await pi.stop();
		moveElsewhere(cut, "build-1", Date.now() - 11 * 60_000);
		const again = await world.rpc({ version, args: ["-c"], choose: [/^Roll back/] });
		await gone(cut);
		expect(again.dialogs[0]?.title).toMatch(
			/^A restore of 3 files to snapshot [0-9a-f]+, begun on another machine \(build-1\), was interrupted: /,
		);
		expect(difference(cut.end, world.files())).toEqual([]);
	});

	test("work may begin while the question stands, and the answer still counts", async () => {
		await using world = createWorld();
		const cut = await cutRestore(world, version);
		const pi = await world.rpc({ version, args: ["-c"], choose: [leaveOpen] });
		await asked(pi);
		await pi.prompt("meanwhile", step.write("other", "o\n"), "done");
		const [dialog] = pi.dialogs;
		if (dialog === undefined) throw new Error("no dialog");
		await pi.reply(dialog, /^Roll back/);
		await gone(cut);
		expect([world.read("a.txt"), world.read("dir/b.txt"), world.read("other")]).toEqual([
			"1\n",
			undefined,
			"o\n",
		]);
	});
});
