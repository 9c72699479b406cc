/** What goes and what stays on the real Pi: unrelated sessions, linked worktrees, labels, forks, and every way to end. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step, until } from "../support/pi.ts";
import type { RpcOptions, RpcPi } from "../support/rpc.ts";
import { createWorld, type World } from "../support/world.ts";
import { bindingsOf, restoreTo, snapshotOf } from "./scenes.ts";

const storeRef = "refs/pi-rewind/store";
const retention = (more: object = {}): Pick<RpcOptions, "settings"> => ({
	settings: { rewind: { retention: { maxSnapshots: 1, graceHours: 0, ...more } } },
});

/** What the store keeps. */
const kept = (world: World): ReadonlySet<string> =>
	new Set(world.git("rev-list", storeRef).trim().split("\n"));

/** Every snapshot that a session's points name, oldest first. */
async function pointsOf(pi: RpcPi): Promise<string[]> {
	return [...new Set(bindingsOf(await pi.entries()).map(({ snapshot }) => snapshot))];
}

/** Prompts, each with a change: one point more than prompts. */
async function work(pi: RpcPi, name: string, count: number): Promise<void> {
	for (let i = 0; i < count; i++)
		await pi.prompt(`${name} ${i}`, step.write("a.txt", `${name} ${i}\n`), "done");
}

describe.each(["ancestor-only", "repo-sessions"])("sweeps that look at %s", (scanMode) => {
	test("leave unrelated sessions, and those of linked worktrees, all their points", async () => {
		await using world = createWorld();
		const linked = join(world.at, "linked");
		world.git("worktree", "add", "-q", linked);
		const options = retention({ scanMode, maxSnapshots: 2 });
		const one = await world.rpc({ ...options, version: "0.84.0" });
		await work(one, "one", 1);
		const [points, file, first] = [await pointsOf(one), await one.sessionFile(), await one.user(0)];
		await one.stop();
		const other = await world.rpc({ ...options, cwd: linked });
		await work(other, "linked", 1);
		const theirs = await pointsOf(other);
		await other.stop();
		expect([points.length, theirs.length]).toEqual([2, 2]);

		// One of a custom folder, with more than it may keep, and a start of its own.
		world.write("a.txt", "third\n");
		const third = await world.rpc({ ...options, args: ["--session-dir", join(world.at, "s")] });
		await work(third, "third", 2);
		const many = await pointsOf(third);
		await third.stop();
		const now = kept(world);
		expect(many.map((id) => now.has(id))).toEqual([false, true, true]);
		for (const id of [...points, ...theirs]) expect(now).toContain(id);

		const again = await world.rpc({ ...options, args: ["--session", file] });
		await restoreTo(again, first);
		expect(world.read("a.txt")).toBe("a0\n");
		await again.stop();
		for (const id of theirs) expect(kept(world)).toContain(id);
		expect(again.notifications.filter(({ type }) => type !== "info")).toEqual([]);
		world.git("fsck", "--connectivity-only");
	});
});

test("a label pins its point, and the rest goes (B103)", async () => {
	await using world = createWorld();
	const pi = await world.rpc({ ...retention(), version: "0.84.0" });
	await work(pi, "first", 2);
	const labelled = await pi.user(1);
	const [good, early] = [await snapshotOf(pi, labelled), await snapshotOf(pi, await pi.user(0))];
	await pi.label(labelled, "good-baseline");
	await work(pi, "later", 1);
	await pi.stop();
	expect([kept(world).has(good), kept(world).has(early)]).toEqual([true, false]);
});

describe.each(piVersions)("on Pi %s the sweep of the end runs", (version) => {
	test.each<[string, (pi: RpcPi) => Promise<unknown>]>([
		["at quit", (pi) => pi.stop()],
		["at /new", (pi) => pi.newSession()],
		["at SIGTERM", (pi) => pi.stop("SIGTERM")],
	])("%s", async (_name, end) => {
		await using world = createWorld();
		// Without the one of the start, which on a slow machine comes late.
		const pi = await world.rpc({ ...retention({ startupBudgetMs: 0 }), version });
		await work(pi, "first", 2);
		const points = await pointsOf(pi);
		for (const id of points) expect(kept(world)).toContain(id);
		await end(pi);
		const now = kept(world);
		expect(points.map((id) => now.has(id))).toEqual([false, false, true]);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});
});

test("a session that was forked whole claims what was copied, and has it when the other is gone", async () => {
	await using world = createWorld();
	const options = retention({ scanMode: "repo-sessions", maxSnapshots: 2 });
	const pi = await world.rpc(options);
	await work(pi, "first", 1);
	const [file, points] = [await pi.sessionFile(), await pointsOf(pi)];
	await pi.stop();
	const child = await world.rpc({ ...options, args: ["--fork", file] });
	const claim = `Session: ${(await child.state()).sessionId}\n`;
	const said = (): string => world.git("log", "--format=%B", storeRef);
	await until(() => said().includes(claim), "a claim", 20_000);
	rmSync(file);
	await child.stop();
	for (const id of points) expect(kept(world)).toContain(id);
	expect(said()).toContain(claim);
});

test("without limits nothing goes; what hides a session lets nothing go either, and is no warning", async () => {
	await using world = createWorld();
	const pi = await world.rpc(retention({ maxSnapshots: undefined }));
	await work(pi, "first", 2);
	const [points, file] = [await pointsOf(pi), await pi.sessionFile()];
	await pi.stop();
	for (const id of points) expect(kept(world)).toContain(id);
	world.shell(`printf '' > '${join(file, "..", "broken.jsonl")}'`);
	const again = await world.rpc({ ...retention(), args: ["--session", file] });
	await again.prompt("look", "seen");
	await again.stop();
	for (const id of points) expect(kept(world)).toContain(id);
	expect([again.notifications, again.stderr()]).toEqual([[], ""]);
});
