/** What is kept, for whom, and what a sweep leaves of it, on real git. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type SnapshotId, trustedObjectId } from "../../src/core/ids.ts";
import { createPresence } from "../../src/disk/presence.ts";
import { createKeepalive } from "../../src/git/keepalive.ts";
import { createObjectWriter } from "../../src/git/object-writer.ts";
import { createObjectReader, hashObject } from "../../src/git/objects.ts";
import { discover } from "../../src/git/repository.ts";
import { privateEnv } from "../../src/git/run.ts";
import { foldKept, keptBelow, parentsMax, parseChain } from "../../src/git/keep-chain.ts";
import type { KeptSnapshot, Owner } from "../../src/core/retention.ts";
import type { Engine } from "../support/engine.ts";
import {
	expectSame,
	expectSound,
	gitBytes,
	openEngine,
	openWorld,
	personState,
	privateDir,
} from "../support/engine.ts";
import { record, sweepRequest } from "../support/sweeps.ts";
import type { World } from "../support/world.ts";

const storeRef = "refs/pi-rewind/store";
const sessionsOf = (world: World): string => join(world.at, "sessions");
const ownerOf = (world: World, name: string): Owner => ({
	sessionId: name,
	sessionFile: join(sessionsOf(world), `${name}.jsonl`),
});

/** Points of a session, each with a change, recorded. */
async function points(
	world: World,
	{ rewind }: Engine,
	name: string,
	count: number,
): Promise<SnapshotId[]> {
	const owner = ownerOf(world, name);
	const ids: SnapshotId[] = [];
	for (let i = 0; i < count; i++) {
		world.write("a.txt", `${name} ${i}\n`);
		ids.push((await rewind.capture({ owner })).snapshot.id);
	}
	record(owner, ids);
	return ids;
}

const sorted = (ids: readonly (string | undefined)[]): string[] =>
	ids.filter((id) => id !== undefined).toSorted();

const keptNow = async ({ rewind }: Engine): Promise<SnapshotId[]> =>
	((await rewind.store.keeping.list())?.snapshots ?? []).map(({ id }) => id).toSorted();

test("a sweep lets go of what it drops and of nothing else; git is content with what is left", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const one = await points(world, engine, "one", 4);
	const two = await points(world, engine, "two", 3);
	const state = personState(world);
	const files = world.files({ inodes: true, mtimes: true });
	const plan = await engine.rewind.planSweep(sweepRequest(sessionsOf(world)));
	expect(await keptNow(engine)).toEqual(sorted([...one, ...two]));
	const live = [one[3], two[2]];
	expect(plan.plan).toMatchObject({ kind: "plan", dropped: expect.any(Array) });
	expect(await engine.rewind.sweep(sweepRequest(sessionsOf(world)))).toMatchObject({ live: 2 });
	expect(await keptNow(engine)).toEqual(sorted(live));
	for (const id of [...one, ...two]) {
		const found = await engine.rewind.store.resolve(id);
		if (live.includes(id)) expect(found).toMatchObject({ id });
		else expect(found).toBe("pruned");
	}
	expect(world.git("rev-list", "--count", storeRef).trim()).toBe("6");
	expectSame(state, personState(world));
	expectSame(files, world.files({ inodes: true, mtimes: true }));
	world.git("gc", "-q", "--prune=now");
	expectSound(world);
	// Coverage stays with its snapshot, and captures go on.
	for (const id of live) if (id !== undefined) await engine.restore(await engine.resolve(id));
	expectSound(world);
	await using again = await openEngine(world);
	expect(await keptNow(again)).toEqual(await keptNow(engine));
});

test("folding loses no owner and no time, and folding again moves nothing", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const one = await points(world, engine, "one", 3);
	const { keeping } = engine.rewind.store;
	await keeping.claim(one, { sessionId: "ephemeral" });
	await keeping.claim(one.slice(1), ownerOf(world, "two"));
	const before = await keeping.list();
	if (before === undefined) throw new Error("nothing kept");
	const byId = (list: readonly KeptSnapshot[]) =>
		list
			.map((each) => ({
				...each,
				owners: each.owners.map((who) => JSON.stringify(who)).toSorted(),
			}))
			.toSorted((a, b) => (a.id < b.id ? -1 : 1));
	expect(await keeping.rewrite(before, before.snapshots)).toBe(true);
	const after = await keeping.list();
	expect(byId(after?.snapshots ?? [])).toEqual(byId(before.snapshots));
	expect(after?.tip).not.toBe(before.tip);
	if (after !== undefined) expect(await keeping.rewrite(after, after.snapshots)).toBe(true);
	expect((await keeping.list())?.tip).toBe(after?.tip);
	// From what is not there any more nothing is rewritten.
	expect(await keeping.rewrite(before, before.snapshots.slice(1))).toBe(false);
	expect((await keeping.list())?.tip).toBe(after?.tip);
	expectSound(world);
});

test.each([1, parentsMax, parentsMax + 1, parentsMax * parentsMax + 1])(
	"%i snapshots fold into keep commits of at most 64 parents, which say the same",
	(count) => {
		const snapshots = Array.from({ length: count }, (_, i): KeptSnapshot => ({
			id: hashObject("sha1", "blob", Buffer.from(String(i))),
			takenAt: Number.NaN,
			keptAt: (1_000_000 + ((i * 7_919) % 10_007)) * 1000,
			owners: i % 3 === 0 ? [{ sessionId: "a", sessionFile: "/s/a" }] : [{ sessionId: "" }],
		}));
		const { root, bodies } = foldKept(snapshots, "sha1");
		const said = bodies.map((body) => {
			const [head = "", ...rest] = body.toString("utf8").split("\n\n");
			const lines = head.split("\n");
			const parents = lines
				.filter((line) => line.startsWith("parent "))
				.map((line) => line.slice(7));
			expect(parents.length).toBeLessThanOrEqual(parentsMax);
			const seconds = / (\d+) \+0000$/.exec(head)?.[1] ?? "";
			const tree = lines[0]?.slice("tree ".length) ?? "";
			const id = hashObject("sha1", "commit", body);
			return `commit ${id}\n${tree} ${seconds}\n${parents.join(" ")}\n${rest.join("\n\n")}\0`;
		});
		const again = keptBelow(root, parseChain(said.join("\n"), "sha1"), "sha1");
		const sorted = (list: readonly KeptSnapshot[]) =>
			list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
		expect(sorted(again)).toEqual(sorted(snapshots));
	},
);

test("what a predecessor kept is nobody's known, so it stays; likewise a ref that was put on a snapshot", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const [first, second, third] = await points(world, engine, "one", 3);
	const empty = gitBytes(world, ["hash-object", "-t", "tree", "/dev/null"]).toString().trim();
	const store = world.git("rev-parse", storeRef).trim();
	const foreign = world.git("commit-tree", "-m", "pi rewind snapshot", `${first}^{tree}`).trim();
	const keep = world.git("commit-tree", "-p", store, "-p", foreign, "-m", "keep", empty).trim();
	world.git("update-ref", storeRef, keep);
	await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
	expect(await keptNow(engine)).toEqual(sorted([third, foreign]));
	// Once more: that nobody is known is not forgotten in folding.
	await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
	expect(await keptNow(engine)).toEqual(sorted([third, foreign]));
	world.git("update-ref", storeRef, second ?? "");
	expect(await engine.rewind.sweep(sweepRequest(sessionsOf(world)))).toEqual({
		kind: "nothing-to-drop",
	});
	expect(await keptNow(engine)).toEqual([second]);
});

describe("what holds a snapshot besides records", () => {
	test("the private HEAD of this working tree, and of a linked one", async () => {
		await using opened = await openWorld();
		const { world, engine } = opened;
		world.git("worktree", "add", "-q", join(world.at, "linked"));
		const linked = await openEngine(world, { cwd: join(world.at, "linked") });
		const theirs = (await linked.rewind.capture({ owner: ownerOf(world, "two") })).snapshot.id;
		const ours = await points(world, engine, "one", 2);
		record(ownerOf(world, "two"), []);
		// Both sessions say nothing of their newest: only the working trees speak for them.
		writeFileSync(join(sessionsOf(world), "other.jsonl"), "[]\n");
		const gone = { ...sweepRequest(join(world.at, "none")) };
		world.shell(`rm '${sessionsOf(world)}'/one.jsonl '${sessionsOf(world)}'/two.jsonl`);
		expect(await engine.rewind.sweep(gone)).toMatchObject({ dropped: [ours[0]] });
		expect(await keptNow(engine)).toEqual(sorted([ours[1], theirs]));
		await linked[Symbol.asyncDispose]();
	});

	test("the journal of a restore; one that cannot be read lets nothing go", async () => {
		await using opened = await openWorld();
		const { world, engine } = opened;
		const ids = await points(world, engine, "one", 5);
		const journal = {
			v: 1,
			pid: 1,
			host: "x",
			processStart: "1",
			sessionId: "z",
			paths: [],
			stages: [],
		};
		const file = join(privateDir(world), "journal-1-ab.json");
		writeFileSync(file, "{}");
		const swept = await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
		expect(swept).toMatchObject({ kind: "keep-all", why: { hidden: [{ path: file }] } });
		writeFileSync(
			file,
			JSON.stringify({ ...journal, target: ids[0], undo: ids[2], startedAt: Date.now() }),
		);
		await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
		expect(await keptNow(engine)).toEqual(sorted([ids[0], ids[2], ids[4]]));
	});

	test("a session that runs and is not written, until it ends or its process is gone", async () => {
		await using opened = await openWorld();
		const { world, engine } = opened;
		const ephemeral = { sessionId: "ephemeral" };
		world.write("a.txt", "ephemeral\n");
		const { id } = (await engine.rewind.capture({ owner: ephemeral })).snapshot;
		const end = await createPresence(privateDir(world), () => Promise.resolve([])).announce(
			ephemeral,
		);
		const [, last] = await points(world, engine, "one", 2);
		await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
		expect(await keptNow(engine)).toEqual(sorted([id, last]));
		await end();
		const dead = { pid: 1_999_999, host: world.shell("hostname").trim(), processStart: "1" };
		const left = join(privateDir(world), "open-1999999-ab.json");
		writeFileSync(left, JSON.stringify({ ...dead, ...ephemeral }));
		await engine.rewind.sweep(sweepRequest(sessionsOf(world)));
		expect(await keptNow(engine)).toEqual([last]);
	});
});

describe("a claim", () => {
	test("keeps for one more, once, and only what is kept", async () => {
		await using opened = await openWorld();
		const { world, engine } = opened;
		const ids = await points(world, engine, "one", 3);
		const two = ownerOf(world, "two");
		const tip = (): string => world.git("rev-parse", storeRef);
		const before = tip();
		const unkept = hashObject("sha1", "commit", Buffer.from("x"));
		await engine.rewind.claim(two, new Set([unkept]));
		expect(tip()).toBe(before);
		await engine.rewind.claim(two, new Set([...ids, unkept]));
		const claimed = tip();
		expect(claimed).not.toBe(before);
		await engine.rewind.claim(two, new Set(ids));
		expect(tip()).toBe(claimed);
		// Its own records count from now on, whatever becomes of the other.
		record(two, ids.slice(0, 2));
		world.shell(`rm '${sessionsOf(world)}/one.jsonl'`);
		await engine.rewind.sweep(sweepRequest(sessionsOf(world), { policy: { maxSnapshots: 2 } }));
		expect(await keptNow(engine)).toEqual(sorted([...ids]));
		expectSound(world);
	});

	test("of many needs no commit with more than 64 parents", async () => {
		await using opened = await openWorld();
		const { world, engine } = opened;
		await points(world, engine, "one", 1);
		const tree = world.git("rev-parse", "HEAD^{tree}").trim();
		const empty = world.git("hash-object", "-t", "tree", "/dev/null").trim();
		const many = world
			.shell(`for i in $(seq 150); do git commit-tree -m "s $i" ${tree}; done`)
			.trim()
			.split("\n");
		const parents = many.flatMap((id) => ["-p", id]);
		const store = world.git("rev-parse", storeRef).trim();
		const keep = world.git("commit-tree", "-p", store, ...parents, "-m", "keep", empty).trim();
		world.git("update-ref", storeRef, keep);
		const ids = (await keptNow(engine)).slice();
		expect(ids).toHaveLength(151);
		await engine.rewind.claim({ sessionId: "two" }, new Set(ids));
		const widths = world.git("rev-list", "--parents", storeRef, `^${keep}`).trim().split("\n");
		for (const line of widths) expect(line.split(" ").length - 1).toBeLessThanOrEqual(parentsMax);
		const list = await engine.rewind.store.keeping.list();
		for (const { owners } of list?.snapshots ?? [])
			expect(owners).toContainEqual({ sessionId: "two" });
	});
});

test("a capture while a sweep decides wins: the sweep decides again, and both are there [R3]", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const ids = await points(world, engine, "one", 3);
	await using other = await openEngine(world);
	let captured: SnapshotId | undefined;
	await engine.rewind.sweep(
		sweepRequest(sessionsOf(world), {
			async during() {
				if (captured !== undefined) return;
				world.write("a.txt", "in between\n");
				captured = (await other.rewind.capture({ owner: ownerOf(world, "one") })).snapshot.id;
			},
		}),
	);
	expect(await keptNow(engine)).toEqual(sorted([ids[2], captured]));
	expectSound(world);
});

test("two sweeps at once lose nothing, whoever wins [R3]", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const one = await points(world, engine, "one", 4);
	const two = await points(world, engine, "two", 4);
	await using other = await openEngine(world);
	const both = await Promise.all(
		[engine, other].map(({ rewind }) => rewind.sweep(sweepRequest(sessionsOf(world)))),
	);
	expect(both.map(({ kind }) => kind)).toContain("swept");
	expect(await keptNow(engine)).toEqual(sorted([one[3], two[3]]));
	expectSound(world);
});

test("what must go is taken back also when a sweep folded its keep commit in the meantime", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const ids = await points(world, engine, "one", 2);
	const found = await discover(world.root);
	if (found.kind === "unavailable") throw new Error(found.message);
	const { repository } = found;
	const { root, format, objectsDir } = repository;
	const dir = join(privateDir(world), "all");
	const env = privateEnv({ gitDir: dir, workTree: root, objects: objectsDir });
	const objects = createObjectReader(format, dir, env);
	const keepalive = createKeepalive(repository, createObjectWriter(format, dir, env), objects);
	const bad = trustedObjectId(world.git("commit-tree", "-m", "bad", "HEAD^{tree}").trim());
	const kept = await keepalive.keep([bad], { sessionId: "two" }, 1, []);
	const list = await keepalive.list();
	if (list === undefined) throw new Error("nothing kept");
	expect(await keepalive.rewrite(list, list.snapshots)).toBe(true);
	expect(await keptNow(engine)).toEqual(sorted([...ids, bad]));
	await keepalive.withdraw(kept);
	expect(await keptNow(engine)).toEqual(sorted(ids));
	objects.close();
	expectSound(world);
});

test("a store that is not whole is not swept", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	const [first] = await points(world, engine, "one", 3);
	const before = world.git("rev-parse", storeRef);
	world.remove(`.git/objects/${first?.slice(0, 2)}/${first?.slice(2)}`);
	await expect(engine.rewind.sweep(sweepRequest(sessionsOf(world)))).rejects.toMatchObject({
		code: "object-missing",
	});
	expect(world.git("rev-parse", storeRef)).toBe(before);
});

test("without limits nothing is looked at", async () => {
	await using opened = await openWorld();
	const { world, engine } = opened;
	await points(world, engine, "one", 2);
	const request = sweepRequest(sessionsOf(world), {
		policy: { maxSnapshots: undefined },
		during: () => Promise.reject(new Error("looked")),
	});
	expect(await engine.rewind.sweep(request)).toEqual({
		kind: "keep-all",
		why: { kind: "no-limits" },
	});
});
