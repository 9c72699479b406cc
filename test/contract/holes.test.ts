/** What others do to the store and to session files that lie in the working tree: nothing of a person's is lost by it. */
import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { storeRef } from "../../src/git/store-ref.ts";
import { type Engine, openAt, openEngine, openWorld, owner, skipped } from "../support/engine.ts";
import { rewindCli } from "../support/cli.ts";
import type { World } from "../support/world.ts";

const tipOf = (world: World): string => world.git("rev-parse", "--verify", storeRef).trim();
const objectFile = (world: World, id: string): string =>
	join(world.root, ".git", "objects", id.slice(0, 2), id.slice(2));
const isThere = (world: World, id: string): boolean =>
	world.shell(`git cat-file -e ${id} 2>/dev/null && echo yes || echo no`).trim() === "yes";

/** Two keep commits, one on the other: folding them moves the ref. */
async function keepTwo(world: World, { capture, rewind }: Engine) {
	await capture();
	world.write("a.txt", "more\n");
	await capture();
	const { keeping } = rewind.store;
	const list = await keeping.list();
	if (list === undefined) throw new Error("nothing is kept");
	return { keeping, list };
}

test("a session that lies in the working tree stays as it is, whoever captured it [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const header = '{"type":"session","version":3,"id":"s"}\n';
	world.write("deep/old.jsonl", `${header}one\n`);
	world.write("data.jsonl", '{"a":1}\n');
	const before = await engine.capture();
	world.write("deep/old.jsonl", `${header}one\ntwo\n`);
	world.write("deep/new.jsonl", header);
	world.write("data.jsonl", '{"a":2}\n');
	const { skips } = await engine.restore(before);
	expect(skipped(skips)).toEqual({
		"deep/old.jsonl": "session-file",
		"deep/new.jsonl": "session-file",
	});
	expect([world.read("deep/old.jsonl"), world.read("deep/new.jsonl")]).toEqual([
		`${header}one\ntwo\n`,
		header,
	]);
	expect(world.read("data.jsonl")).toBe('{"a":1}\n');
});

test("a claim outlasts a gc that takes what it wrote [R2]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const { id } = await engine.capture();
	const first = tipOf(world);
	const gc = join(world.root, ".git", "gc.pid");
	writeFileSync(gc, "1 elsewhere");
	const claiming = engine.rewind.store.keeping.claim([id], { sessionId: "another" });
	while (tipOf(world) === first) await new Promise((done) => setTimeout(done, 10));
	const claimed = tipOf(world);
	// As a prune that saw the refs before does.
	rmSync(objectFile(world, claimed));
	await new Promise((done) => setTimeout(done, 300));
	rmSync(gc);
	await claiming;
	expect(isThere(world, claimed)).toBe(true);
	world.git("fsck", "--connectivity-only", "--no-dangling");
});

test("a sweep does not begin while a gc runs", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const { keeping, list } = await keepTwo(world, engine);
	const gc = join(world.root, ".git", "gc.pid");
	writeFileSync(gc, "1 elsewhere");
	expect(await keeping.rewrite(list, list.snapshots)).toBe(false);
	expect(tipOf(world)).toBe(list.tip);
	// One that died long ago is not waited for.
	utimesSync(gc, 0, 0);
	expect(await keeping.rewrite(list, list.snapshots)).toBe(true);
});

test("a lock of the ref that a dead process left is no other process for ever", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const { keeping, list } = await keepTwo(world, engine);
	const lock = join(world.root, ".git", `${storeRef}.lock`);
	writeFileSync(lock, "");
	utimesSync(lock, 0, 0);
	expect(await keeping.rewrite(list, list.snapshots)).toBe(false);
	expect(await keeping.rewrite(list, list.snapshots)).toBe(true);
});

test("a session that is open in a linked working tree is known in the others", async () => {
	await using setup = await openWorld();
	const { world } = setup;
	world.git("worktree", "add", "-q", join(world.at, "linked"));
	const here = await openAt(world.root);
	const linked = await openAt(join(world.at, "linked"));
	if (here.kind !== "ready" || linked.kind !== "ready") throw new Error("no engine");
	const leave = await linked.presence.announce(owner);
	expect((await here.presence.openAnywhere()).map(({ sessionId }) => sessionId)).toEqual([
		owner.sessionId,
	]);
	expect(await here.presence.openSessions()).toEqual([]);
	await leave();
	expect(await here.presence.openAnywhere()).toEqual([]);
	await here.rewind.close();
	await linked.rewind.close();
});

test("a hole in what is kept is found wherever it is, the ref's own commit among them", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const ids: string[] = [];
	for (const text of ["1\n", "2\n", "3\n"]) {
		world.write("a.txt", text);
		ids.push((await engine.capture()).id);
	}
	const opened = await openAt(world.root);
	if (opened.kind !== "ready") throw new Error(opened.message);
	const { care, rewind } = opened;
	expect(await care.incomplete()).toEqual([]);
	const [, second = ""] = ids;
	rmSync(objectFile(world, second));
	expect(await care.incomplete()).toEqual([{ snapshot: second, missing: [second] }]);
	const tip = tipOf(world);
	rmSync(objectFile(world, tip));
	expect(await care.incomplete()).toEqual([{ snapshot: tip, missing: [tip] }]);
	await rewind.close();
});

test("what a restore replaced is kept for whoever ends it, too [R8]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const target = await engine.capture();
	world.write("a.txt", "mine\n");
	const preview = await engine.rewind.preview({ target, owner });
	const restored = await engine.rewind.perform(await engine.rewind.prepare(preview), owner);
	// Neither recorded nor completed: cut off. Another session finds it.
	const journal = world.shell("ls .git/pi-rewind").match(/journal-\S+/)?.[0] ?? "none";
	const file = join(world.root, ".git", "pi-rewind", journal);
	world.shell(`sed -i -E 's/"pid":[0-9]+/"pid":999999/' '${file}'`);
	await using other = await openEngine(world);
	const [interrupted] = await other.rewind.interrupted();
	if (interrupted === undefined) throw new Error("no journal");
	const heir = { sessionId: "heir" };
	await (await other.rewind.recover(interrupted, "finish", heir)).complete();
	const list = await other.rewind.store.keeping.list();
	const kept = list?.snapshots.find(({ id }) => id === restored.undo);
	expect(kept?.owners.map(({ sessionId }) => sessionId)).toContain("heir");
});

test("what a restore replaced that no session records is nobody's to let go [R8]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const { id } = await engine.capture();
	world.write("a.txt", "mine, and nowhere else\n");
	const done = rewindCli(world, ["restore", id, "--yes"]);
	expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("No session records") });
	const list = await engine.rewind.store.keeping.list();
	const nobodys = list?.snapshots.filter(({ owners }) =>
		owners.some(({ sessionId }) => sessionId === ""),
	);
	const texts = (nobodys ?? []).map((snapshot) => world.git("show", `${snapshot.id}:a.txt`));
	expect(texts).toContain("mine, and nowhere else\n");
});
