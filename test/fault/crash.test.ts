/** kill -9 at every change that a restore makes to the disk: the old tree, the new one, or named as interrupted. [R9] */
import { expect, test } from "vitest";
import {
	type Engine,
	enter,
	expectSame,
	expectSound,
	openEngine,
	owner,
	personState,
	startChild,
} from "../support/engine.ts";
import type { Snapshot } from "../../src/core/coverage.ts";
import { createWorld, type Picture, type World } from "../support/world.ts";

interface Scene extends AsyncDisposable {
	readonly world: World;
	readonly engine: Engine;
	readonly target: Snapshot;
	readonly old: Picture;
	readonly wanted: Picture;
}

/** A restore of every kind of step: writes over, comes back, goes, folders come and go, types change, a bit flips. */
async function scene(): Promise<Scene> {
	const world = createWorld({ files: {} });
	world.shell(
		"echo 1 > edit; echo 1 > bit; mkdir -p back/deep; echo 1 > back/deep/f; ln -s edit swap; echo 1 > last",
	);
	const engine = await openEngine(world);
	const wanted = world.files();
	const target = await engine.capture();
	world.shell(
		"echo 2 > edit; chmod +x bit; rm -r back; mkdir -p goes/deep; echo 2 > goes/deep/f; rm swap; echo 2 > swap; echo 2 > last",
	);
	await engine.capture();
	return {
		world,
		engine,
		target,
		wanted,
		old: world.files(),
		async [Symbol.asyncDispose]() {
			await engine[Symbol.asyncDispose]();
			await world.end();
		},
	};
}

/** Takes the files back to what they were before the child ran, whatever it left. */
async function crash({ world, target }: Scene, fault: string): Promise<boolean> {
	const end = await startChild(world, ["restore", target.id, fault]).ended;
	if (end.killedBy === null && end.code === 0) return false;
	expect(end.killedBy).toBe("SIGKILL");
	return true;
}

/** Twenty processes are started and die, one after another: where others are at work too, that takes its time. */
const manyProcessesMs = 300_000;

for (const kind of ["kill", "kill-after"])
	test(
		`a restore that dies (${kind}) at any change is named, and both ways out are exact [R9]`,
		async () => {
			await using made = await scene();
			const { world, engine, old, wanted } = made;
			const state = personState(world);
			let crashes = 0;
			for (let n = 1; n < 60; n += 2) {
				if (!(await crash(made, `${kind}:${n}`))) break;
				crashes++;
				enter(world.env);
				const [interrupted, ...more] = await engine.rewind.interrupted();
				expect([n, interrupted?.journal.target, more]).toEqual([n, made.target.id, []]);
				if (interrupted === undefined) return;
				// Every other one is finished, then taken back by its own undo.
				const how = n % 4 === 1 ? "finish" : "roll-back";
				const restored = await engine.rewind.recover(interrupted, how, owner);
				await restored.complete();
				expect([n, how, restored.skips]).toEqual([n, how, []]);
				expectSame(how === "finish" ? wanted : old, world.files());
				expect(await engine.rewind.interrupted()).toEqual([]);
				const left = world.shell("ls .git/pi-rewind").split("\n");
				expect(left.filter((name) => /^(stage|journal)/.test(name))).toEqual([]);
				if (how === "finish") {
					await engine.restore(await engine.resolve(interrupted.journal.undo));
					expectSame(old, world.files());
				}
			}
			expect(crashes).toBeGreaterThan(5);
			expectSame(wanted, world.files());
			expectSame(state, personState(world));
			expectSound(world);
		},
		manyProcessesMs,
	);

test("a restore whose roll back fails too says so, and can be finished and rolled back later [R9]", async () => {
	await using made = await scene();
	const { world, engine, old, wanted, target } = made;
	for (const [n, how] of [
		[3, "roll-back"],
		[6, "finish"],
	] as const) {
		const end = await startChild(world, ["fails", target.id, `broken:${n}`]).ended;
		expect(end.lines[0]).toBe("restore-interrupted");
		enter(world.env);
		const [interrupted] = await engine.rewind.interrupted();
		if (interrupted === undefined) throw new Error("not named");
		const restored = await engine.rewind.recover(interrupted, how, owner);
		await restored.complete();
		expectSame(how === "finish" ? wanted : old, world.files());
		expect(await engine.rewind.interrupted()).toEqual([]);
	}
});

test("clearing stages leaves those of an interrupted restore, and takes those of dead processes", async () => {
	await using made = await scene();
	const { world, engine } = made;
	await crash(made, "kill:2");
	enter(world.env);
	await engine.rewind.clearLeftovers();
	const [interrupted] = await engine.rewind.interrupted();
	if (interrupted === undefined) throw new Error("not named");
	expect(interrupted.journal.stages.every((stage) => world.shell(`ls -d ${stage}`))).toBe(true);
	world.shell(
		"mkdir .git/pi-rewind/stage-1-99-abcdef01; echo x > .git/pi-rewind/stage-1-99-abcdef01/new-0",
	);
	await engine.rewind.forget(interrupted);
	await engine.rewind.clearLeftovers();
	// It may be of a process on another host, until it is old.
	expect(world.shell("ls .git/pi-rewind/stage-1-99-abcdef01")).toBe("new-0\n");
	world.shell("touch -d '11 minutes ago' .git/pi-rewind/stage-1-99-abcdef01");
	await engine.rewind.clearLeftovers();
	expect(world.shell("ls .git/pi-rewind").includes("stage-")).toBe(false);
});

test("a restore begun on another host is left alone while it may be under way, and can be ended later [R9]", async () => {
	await using made = await scene();
	const { world, engine, old } = made;
	await crash(made, "kill:5");
	enter(world.env);
	const half = world.files();
	const [journal = "", ...more] = world.shell("ls .git/pi-rewind/journal-*").split("\n");
	expect(more).toEqual([""]);
	const written: Record<string, unknown> = JSON.parse(world.read(journal) ?? "");
	const rewrite = (startedAt: number): void =>
		world.write(journal, JSON.stringify({ ...written, host: "elsewhere", startedAt }));
	rewrite(Date.now());
	world.shell("touch -d '11 minutes ago' .git/pi-rewind/stage-*");
	await engine.rewind.clearLeftovers();
	expect(await engine.rewind.interrupted()).toEqual([]);
	const [running] = await engine.rewind.elsewhere();
	expect(running).toMatchObject({ isForeign: true, journal: { host: "elsewhere" } });
	expect(running?.journal.stages.map((stage) => world.shell(`ls ${stage}`))).not.toEqual([""]);
	expectSame(half, world.files());
	for (const startedAt of [Date.now() - 11 * 60_000, Date.now() + 11 * 60_000]) {
		rewrite(startedAt);
		expect(await engine.rewind.elsewhere()).toEqual([]);
		expect(await engine.rewind.interrupted()).toHaveLength(1);
	}
	const [interrupted] = await engine.rewind.interrupted();
	if (interrupted === undefined) throw new Error("not named");
	expect(interrupted.isForeign).toBe(true);
	await (await engine.rewind.recover(interrupted, "roll-back", owner)).complete();
	expectSame(old, world.files());
	expect(world.shell("ls .git/pi-rewind")).not.toMatch(/^(stage|journal)/m);
});

test("a hostile journal neither removes folders nor restores what is not a snapshot [R13]", async () => {
	await using made = await scene();
	const { world, engine, old } = made;
	world.shell("mkdir ../victim; echo v > ../victim/v");
	const head = world.git("rev-parse", "HEAD").trim();
	const journal = {
		v: 1,
		pid: 1_999_999,
		host: world.shell("hostname").trim(),
		processStart: "1",
		sessionId: "s",
		target: head,
		undo: head,
		paths: ["../../victim/v", "/etc/passwd", ".git/config"],
		stages: [
			`${world.at}/victim`,
			`${world.root}/edit`,
			`${world.root}/.git/pi-rewind/stage-1/../../../last`,
			world.root,
		],
		startedAt: 1,
	};
	world.write(".git/pi-rewind/journal-1-aa.json", JSON.stringify(journal));
	world.write(".git/pi-rewind/journal-2-bb.json", "{ torn");
	const [interrupted] = await engine.rewind.interrupted();
	if (interrupted === undefined) throw new Error("not named");
	await expect(engine.rewind.recover(interrupted, "finish", owner)).rejects.toMatchObject({
		code: "object-missing",
	});
	await engine.rewind.forget(interrupted);
	expectSame(old, world.files());
	expect(world.shell("cat ../victim/v")).toBe("v\n");
});
