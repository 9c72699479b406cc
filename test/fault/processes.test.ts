/** Several processes in one repository, some of them killed, while git itself collects garbage. */
import { setTimeout as sleep } from "node:timers/promises";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import {
	blobText,
	expectSame,
	expectSound,
	idsIn,
	openEngine,
	personState,
	startChild,
} from "../support/engine.ts";
import { createWorld } from "../support/world.ts";

for (const count of [2, 8])
	test(`${count} processes that capture at once lose no snapshot and no update of the ref (B42) [R3]`, async () => {
		await using world = createWorld();
		const state = personState(world);
		const ends = await Promise.all(
			Array.from(
				{ length: count },
				(_, i) => startChild(world, ["captures", count === 2 ? "5" : "2", `by-${i}`]).ended,
			),
		);
		const lines = ends.flatMap((end) => end.lines);
		expect(lines.filter((line) => line.startsWith("failed"))).toEqual([]);
		expect(ends.map(({ code }) => code)).toEqual(ends.map(() => 0));
		await using engine = await openEngine(world);
		for (const id of idsIn(lines)) {
			const snapshot = await engine.resolve(id);
			expect(engine.names(snapshot)).toContain("a.txt");
			world.git("rev-list", "--objects", "--quiet", id);
		}
		// Each saw its own last write.
		for (const [i, end] of ends.entries()) {
			const last = idsIn(end.lines).at(-1);
			if (last === undefined) throw new Error("no snapshot");
			expect(blobText(world, await engine.resolve(last), `by-${i}`)).toBe(world.read(`by-${i}`));
		}
		expectSame(state, personState(world));
		expectSound(world);
	});

test("git gc --prune=now again and again leaves every snapshot whole, and fsck content [R2]", async () => {
	await using world = createWorld();
	const children = [0, 1].map((i) => startChild(world, ["captures", "8", `by-${i}`]));
	const ending = new AbortController();
	const all = Promise.all(children.map(({ ended }) => ended));
	void all.then(() => ending.abort());
	let rounds = 0;
	while (!ending.signal.aborted) {
		await sleep(5);
		// A gc may meet a snapshot in the moment before it is withdrawn; the next one must not.
		spawnSync("git", ["gc", "-q", "--prune=now"], {
			cwd: world.root,
			env: world.env,
			stdio: "ignore",
		});
		await sleep(50);
		rounds++;
	}
	const lines = (await all).flatMap((end) => end.lines);
	expect(rounds).toBeGreaterThan(1);
	// Under such a gc a capture may fail, and says so; but not each of them.
	expect(idsIn(lines).length).toBeGreaterThan(2);
	await using engine = await openEngine(world);
	for (const id of idsIn(lines)) {
		await engine.resolve(id);
		world.git("rev-list", "--objects", "--quiet", id);
	}
	expectSound(world);
	world.git("gc", "-q", "--prune=now");
	expectSound(world);
});

test("a process killed while it captures costs the others nothing (B14) [R1]", async () => {
	await using world = createWorld();
	for (let i = 0; i < 300; i++) world.write(`many/${i}`, `${i}\n`.repeat(200));
	const state = personState(world);
	let captured = 0;
	for (const delay of [200, 320, 410, 500, 620, 800]) {
		for (let i = 0; i < 300; i += 7) world.write(`many/${i}`, `${delay}\n`.repeat(200));
		const child = startChild(world, ["captures", "50", "churn"]);
		await sleep(delay);
		child.kill();
		captured += idsIn((await child.ended).lines).length;
		const engine = await openEngine(world);
		const snapshot = await engine.capture();
		expect(blobText(world, snapshot, "many/7")).toBe(world.read("many/7"));
		await engine.resolve(snapshot.id);
		await engine.rewind.close();
	}
	expect(captured).toBeLessThan(6 * 50);
	expectSame(state, personState(world));
	expectSound(world);
});

test("a stale capture lock, index lock and ref lock are taken over (B14)", async () => {
	await using world = createWorld();
	const first = await openEngine(world);
	await first.capture();
	await first.rewind.close();
	const dead = JSON.stringify({
		pid: 1_999_999,
		host: world.shell("hostname").trim(),
		processStart: "1",
	});
	world.write(".git/pi-rewind/capture.lock", dead);
	world.write(".git/pi-rewind/all/index.lock", "torn");
	world.write(".git/refs/pi-rewind/store.lock", "");
	world.shell("touch -d '10 minutes ago' .git/refs/pi-rewind/store.lock");
	world.write("a.txt", "changed\n");
	await using engine = await openEngine(world);
	const snapshot = await engine.capture();
	expect(blobText(world, snapshot, "a.txt")).toBe("changed\n");
	await engine.resolve(snapshot.id);
});

test("a lock of another host is waited for, then done without; once it is old, it is taken over", async () => {
	await using world = createWorld();
	await using engine = await openEngine(world);
	await engine.capture();
	const lock = ".git/pi-rewind/capture.lock";
	// A number that no process has here.
	const held = JSON.stringify({ pid: 1_999_999, host: "elsewhere", processStart: "1" });
	world.write(lock, held);
	world.write("a.txt", "changed\n");
	const snapshot = await engine.capture();
	expect(blobText(world, snapshot, "a.txt")).toBe("changed\n");
	expect(world.read(lock)).toBe(held);
	await engine.resolve(snapshot.id);
	world.shell(`touch -d '11 minutes ago' ${lock}`);
	world.write("a.txt", "again\n");
	expect(blobText(world, await engine.capture(), "a.txt")).toBe("again\n");
	expect(world.read(lock)).toBe(undefined);
	expectSound(world);
});

test("a lock held by a living process is waited for, then done without, and nothing is lost", async () => {
	await using world = createWorld();
	const first = await openEngine(world);
	await first.capture();
	await first.rewind.close();
	const start = world.shell(`cut -d' ' -f22 /proc/${process.pid}/stat`).trim();
	const held = JSON.stringify({
		pid: process.pid,
		host: world.shell("hostname").trim(),
		processStart: start,
	});
	world.write(".git/pi-rewind/capture.lock", held);
	world.write("a.txt", "changed\n");
	await using engine = await openEngine(world);
	const snapshot = await engine.capture();
	expect(blobText(world, snapshot, "a.txt")).toBe("changed\n");
	expect(world.read(".git/pi-rewind/capture.lock")).toBe(held);
	await engine.resolve(snapshot.id);
	world.remove(".git/pi-rewind/capture.lock");
	world.write("a.txt", "again\n");
	expect(blobText(world, await engine.capture(), "a.txt")).toBe("again\n");
	expectSound(world);
});
