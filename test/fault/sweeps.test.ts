/** Sweeps that are killed at each step, and sweeps beside captures in other processes: the ref is whole at any time. */
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SnapshotId } from "../../src/core/ids.ts";
import type { Engine } from "../support/engine.ts";
import { expectSound, idsIn, openEngine, startChild } from "../support/engine.ts";
import { record, sweepRequest } from "../support/sweeps.ts";
import { createWorld, type World } from "../support/world.ts";

const sessionsOf = (world: World): string => join(world.at, "sessions");

async function points(
	world: World,
	{ rewind }: Engine,
	sessionId: string,
	count: number,
): Promise<SnapshotId[]> {
	const owner = { sessionId, sessionFile: join(sessionsOf(world), `${sessionId}.jsonl`) };
	const ids: SnapshotId[] = [];
	for (let i = 0; i < count; i++) {
		world.write("a.txt", `${sessionId} ${i} ${Math.random()}\n`);
		ids.push((await rewind.capture({ owner })).snapshot.id);
	}
	record(owner, ids);
	return ids;
}

test.each(["spawn", "spawned"])(
	"a sweep that is killed at each step leaves a sound ref, and the next one does its work (%s)",
	async (kind) => {
		await using world = createWorld();
		await using engine = await openEngine(world);
		const [first, , last] = await points(world, engine, "one", 3);
		if (first === undefined || last === undefined) throw new Error("no points");
		const store = world.git("rev-parse", "refs/pi-rewind/store").trim();
		let deaths = 0;
		for (let n = 1; ; n++) {
			const end = await startChild(world, ["sweep", sessionsOf(world), `${kind}:${n}`]).ended;
			if (end.killedBy === null) {
				expect([end.stderr, end.lines]).toEqual(["", ["swept 2"]]);
				break;
			}
			deaths++;
			// The last process it started goes on alone for a moment.
			world.shell("sleep 0.2");
			world.git("fsck", "--connectivity-only");
			world.shell(`rm -rf ${world.at}/clone && git init -q --bare ${world.at}/clone`);
			world.shell(`git -C ${world.at}/clone fetch -q ${world.root} '+refs/*:refs/*'`);
			await engine.resolve(last);
			// Where it came as far as the swap, its work is done: from the start again.
			world.git("update-ref", "refs/pi-rewind/store", store);
		}
		expect(deaths).toBeGreaterThan(3);
		world.git("gc", "-q", "--prune=now");
		expectSound(world);
		expect(await engine.rewind.store.resolve(first)).toBe("pruned");
		await engine.resolve(last);
	},
);

test("what a process that is gone left to work in is cleared away once it is old", async () => {
	await using world = createWorld();
	await using engine = await openEngine(world);
	await engine.capture();
	world.shell("mkdir .git/pi-rewind/scratch-999999999-abcdef01");
	// What is young could be of a process on another host.
	world.shell("find .git/pi-rewind -name 'scratch-*' -exec touch -d '1 hour ago' {} +");
	await engine.rewind.clearLeftovers();
	expect(world.shell("find .git/pi-rewind -name 'scratch-*' | wc -l").trim()).toBe("0");
});

test("captures in other processes beside sweeps: none of theirs is lost [R3] [R8]", async () => {
	await using world = createWorld();
	await using engine = await openEngine(world);
	await points(world, engine, "here", 1);
	// Sessions whose folder is not mounted: what they own is theirs.
	const children = [0, 1].map((i) =>
		startChild(world, ["captures", "6", `by-${i}`, `/not/mounted/${i}.jsonl`]),
	);
	const ending = new AbortController();
	const all = Promise.all(children.map(({ ended }) => ended));
	void all.then(() => ending.abort());
	let swept = 0;
	for (let round = 0; !ending.signal.aborted; round++) {
		await points(world, engine, "here", 2);
		const outcome = await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
		if (outcome.kind === "swept") swept += outcome.dropped.length;
	}
	const ids = idsIn((await all).flatMap(({ lines }) => lines));
	expect(ids).toHaveLength(12);
	expect(swept).toBeGreaterThan(0);
	for (const id of ids) await engine.resolve(id);
	expectSound(world);
});
