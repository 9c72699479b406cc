/**
 * `pi-rewind` looks after the store: what is damaged, cut off or left behind is named, with what is still true; `--fix`
 * takes away nothing that anybody could need.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keepScene, rewindCli, rewindFacts, type Scene } from "../support/cli.ts";
import { writeSettings } from "../support/pi.ts";
import { createWorld, difference, type Picture, type World } from "../support/world.ts";
import { bindingsOf, sessionFiles, sessionLines, twoPrompts, words } from "./scenes.ts";

interface Happened {
	readonly one: string;
	readonly sessionId: string;
	/** Snapshots by entry. */
	readonly snapshots: ReadonlyMap<string, string>;
	/** The files after the first answer, and at the end. */
	readonly afterOne: Picture;
}

let scene: Scene<Happened>;
beforeAll(async () => {
	scene = await keepScene(async (world) => {
		const pi = await world.rpc();
		const { one } = await twoPrompts(pi);
		const bound = bindingsOf(await pi.entries());
		const { sessionId } = await pi.state();
		await pi.stop();
		rewindCli(world, ["restore", one, "--yes"]);
		const afterOne = world.files();
		rewindCli(world, ["undo", "--yes"]);
		const snapshots = new Map(bound.map(({ entry, snapshot }) => [entry, snapshot]));
		return { one, sessionId, snapshots, afterOne };
	});
});
afterAll(() => scene.end());

const privateFile = (world: World, name: string): string =>
	join(world.root, ".git/pi-rewind", name);

const deadProcess = (): number => spawnSync("true").pid;

/** A restore to the first answer that stopped after one of its files, as a killed process leaves it. */
function cutRestore(world: World, { one, sessionId, snapshots }: Happened): string {
	const [target, undo] = [snapshots.get(one), [...snapshots.values()].at(-1)];
	const file = privateFile(world, "journal-1234-0badcafe.json");
	world.write("a.txt", "a1\n");
	writeFileSync(
		file,
		JSON.stringify({
			v: 1,
			pid: deadProcess(),
			host: hostname(),
			processStart: "1",
			sessionId,
			target,
			undo,
			paths: ["a.txt", "dir/b.txt", "dir/c.txt", "dir/moved.txt", "new"],
			stages: [],
			startedAt: Date.now(),
		}),
	);
	return file;
}

test("a restore that was cut off is named, nothing goes on beside it, and it ends as one says [R9]", () => {
	const { world, ids } = scene.fresh();
	const end = world.files();
	const journal = cutRestore(world, ids);
	const half = world.files();
	expect(rewindCli(world, ["doctor"])).toMatchObject({
		code: 4,
		stdout: expect.stringMatching(
			/✗ A restore of 5 files to snapshot [0-9a-f]{12} was interrupted/,
		),
	});
	expect(rewindCli(world, ["recover"])).toMatchObject({ code: 4 });
	for (const args of [
		["restore", ids.one, "--yes"],
		["doctor", "--fix"],
	])
		expect(rewindCli(world, args).code).toBeGreaterThanOrEqual(3);
	expect(difference(half, world.files())).toEqual([]);
	expect(existsSync(journal)).toBe(true);

	expect(rewindFacts(world, ["recover", "--roll-back"])).toMatchObject({
		code: 0,
		facts: { outcomes: [{ what: "recovery", changed: 1, added: 0, deleted: 0 }] },
	});
	expect(difference(end, world.files())).toEqual([]);
	expect(existsSync(journal)).toBe(false);
	const [file = ""] = sessionFiles(world);
	expect(sessionLines(file).at(-1)).toMatchObject({
		customType: "rewind-op",
		data: { restored: { what: "recovery" } },
	});
	expect(rewindCli(world, ["doctor"])).toMatchObject({ code: 0 });

	cutRestore(world, ids);
	expect(rewindCli(world, ["recover", "--finish"])).toMatchObject({ code: 0 });
	expect(difference(ids.afterOne, world.files())).toEqual([]);
	expect(rewindCli(world, ["undo", "--yes"])).toMatchObject({ code: 0 });
	expect(difference(end, world.files())).toEqual([]);
});

test("a snapshot with a hole is named with the points that need it; other points go on working", () => {
	const { world, ids } = scene.fresh();
	const blob = world.git("hash-object", "a.txt").trim();
	rmSync(join(world.root, ".git/objects", blob.slice(0, 2), blob.slice(2)));
	const { code, facts } = rewindFacts(world, ["doctor"]);
	expect(code).toBe(4);
	expect(facts).toMatchObject({
		healthy: false,
		findings: expect.arrayContaining([
			expect.objectContaining({
				kind: "missing-objects",
				level: "problem",
				about: { snapshot: expect.any(String), missing: [blob] },
			}),
		]),
	});
	expect(rewindCli(world, ["restore", ids.one, "--yes"])).toMatchObject({ code: 0 });
	expect(difference(ids.afterOne, world.files())).toEqual([]);
});

test("points whose snapshots are gone are said to be gone, in doctor and in list [R1]", () => {
	const { world, ids } = scene.fresh();
	world.git("update-ref", "-d", "refs/pi-rewind/store");
	expect(rewindFacts(world, ["doctor"])).toMatchObject({
		code: 4,
		facts: {
			findings: expect.arrayContaining([
				expect.objectContaining({
					kind: "dangling-binding",
					about: expect.objectContaining({
						state: "pruned",
						points: expect.arrayContaining([
							{ entry: ids.one, snapshot: ids.snapshots.get(ids.one) },
						]),
					}),
				}),
			]),
		},
	});
	expect(rewindCli(world, ["list"]).stdout).toMatch(
		/gone +the answer “one” · its snapshot is not in the repository any more/,
	);
	expect(rewindCli(world, ["restore", ids.one, "--yes"])).toMatchObject({ code: 3 });
});

test("--fix takes away what processes that are gone left, and leaves the rest", () => {
	const { world } = scene.fresh();
	const pid = deadProcess();
	const lock = privateFile(world, "capture.lock");
	writeFileSync(lock, JSON.stringify({ pid, host: hostname(), processStart: "1" }));
	const stage = privateFile(world, `stage-${pid}-1-abcdef`);
	mkdirSync(stage);
	// What is young may be of a process on another host, in the same folder.
	const hourAgo = Date.now() / 1000 - 3600;
	utimesSync(stage, hourAgo, hourAgo);
	const young = privateFile(world, `stage-${pid}-1-012345`);
	mkdirSync(young);
	const torn = privateFile(world, "journal-99-abcdef.json");
	writeFileSync(torn, "{");
	const others = privateFile(world, "of-somebody-else");
	writeFileSync(others, "x");
	const found = rewindCli(world, ["doctor"]);
	expect(found.code).toBe(4);
	for (const name of [lock, stage, torn]) expect(found.stdout).toContain(name);
	expect(existsSync(stage)).toBe(true);
	expect(rewindCli(world, ["doctor", "--fix"])).toMatchObject({ code: 4 });
	const left = [lock, stage, young, torn, others].filter((path) => existsSync(path));
	expect(left).toEqual([young, torn, others]);
	rmSync(torn);
	expect(rewindCli(world, ["doctor"])).toMatchObject({
		code: 0,
		stdout: expect.stringMatching(/Nothing is wrong\.\n$/),
	});
});

test("stats weighs what only snapshots hold, as git counts it without our ref", async () => {
	const { world } = scene.fresh();
	world.write("big.bin", Buffer.alloc(300_000, "0123456789abcdef\n"));
	world.write("vendor/.git", "gitdir: nowhere\n");
	expect(rewindCli(world, ["diff", "@1"])).toMatchObject({ code: 0 });
	const { facts } = rewindFacts(world, ["stats"]);
	world.git("repack", "-adq");
	const all = (args: string[]): Set<string> =>
		new Set(
			world
				.git("rev-list", "--objects", "--no-object-names", ...args)
				.split("\n")
				.filter(Boolean),
		);
	const others = all(["--exclude=refs/pi-rewind/*", "--all", "--reflog", "--indexed-objects"]);
	const only = [...all(["refs/pi-rewind/store"])].filter((id) => !others.has(id));
	expect(facts).toMatchObject({
		snapshots: world
			.git("log", "--grep=^rewind snapshot", "--format=%H", "refs/pi-rewind/store")
			.trim()
			.split("\n").length,
		sessions: 1,
		points: 6,
		onlyInSnapshots: { objects: only.length },
		largest: expect.arrayContaining([expect.objectContaining({ path: "big.bin", size: 300_000 })]),
	});
	expect(facts).toHaveProperty("largest[0].path", "big.bin");
});

test("a fork whose parent is gone is named, and its own points work", async () => {
	await using world = createWorld();
	const pi = await world.rpc();
	const { second } = await twoPrompts(pi);
	await pi.fork(second, { choose: words.forkKeep });
	await pi.prompt("forked", "in the fork");
	await pi.stop();
	const [parent = ""] = sessionFiles(world);
	renameSync(parent, join(world.at, "moved away"));
	const found = rewindCli(world, ["doctor"]);
	expect(found).toMatchObject({
		code: 4,
		stdout: expect.stringContaining("which is not there any more"),
	});
	expect(found.stdout).toContain(parent);
	expect(rewindCli(world, ["restore", "@1", "--dry-run"])).toMatchObject({ code: 0 });
	renameSync(join(world.at, "moved away"), parent);
	expect(rewindCli(world, ["doctor"])).toMatchObject({ code: 0 });
});

test("a sweep keeps everything without a limit; with one, a dry run says what goes and why the rest stays [R8]", () => {
	const { world, ids } = scene.fresh();
	expect(rewindCli(world, ["sweep"])).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("Everything stays: no limit is set"),
	});
	const settings = join(world.at, "agent/settings.json");
	writeSettings(settings, {
		rewind: { retention: { maxSnapshots: 1, graceHours: 0, scanMode: "repo-sessions" } },
	});
	const count = (): number =>
		world
			.git("log", "--grep=^rewind snapshot", "--format=%H", "refs/pi-rewind/store")
			.trim()
			.split("\n").length;
	const before = count();
	const shown = rewindCli(world, ["sweep", "--dry-run"]);
	expect(shown.code).toBe(0);
	const rows = shown.stdout.split("\n").slice(0, -2);
	expect(rows).toHaveLength(before);
	for (const row of rows) expect(row).toMatch(/^[0-9a-f]{12} {2}\d{4}-.*(would go|stays: .+)$/);
	expect(count()).toBe(before);
	const going = rows.filter((row) => row.endsWith("would go")).length;
	expect(going).toBeGreaterThan(0);
	expect(rewindFacts(world, ["sweep"])).toMatchObject({ code: 0, facts: { kind: "swept" } });
	expect(count()).toBe(before - going);
	world.git("fsck", "--strict");
	expect(rewindCli(world, ["undo", "--yes"])).toMatchObject({ code: 0 });
	expect(difference(ids.afterOne, world.files())).toEqual([]);
	// That old points are gone is what was asked for.
	expect(rewindCli(world, ["doctor"])).toMatchObject({ code: 0 });
	// What nobody can read may be a session: until somebody looks at it, nothing goes.
	const unknown = join(world.at, "agent/sessions/--elsewhere--/notes.jsonl");
	mkdirSync(dirname(unknown), { recursive: true });
	writeFileSync(unknown, "not a session\n");
	expect(rewindFacts(world, ["doctor"])).toMatchObject({
		code: 4,
		facts: {
			findings: expect.arrayContaining([
				expect.objectContaining({
					kind: "blocked-sweep",
					about: expect.objectContaining({ path: unknown }),
				}),
			]),
		},
	});
	rmSync(unknown);
	expect(rewindCli(world, ["doctor"])).toMatchObject({ code: 0 });
});
