/** What is the person's stays the person's: index, HEAD, refs, config, stash, reflogs, and every unchanged file. */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	expectSame,
	expectSound,
	objectCount,
	openWorld,
	owner,
	personState,
} from "../support/engine.ts";

test("capture, restore and undo leave the index, HEAD, refs, config, stash and reflogs as they were [R6]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("a.txt", "stashed\n");
	world.git("stash");
	world.git("branch", "other");
	world.git("tag", "-a", "v1", "-m", "v1");
	// Staged, then edited again; added with no content; deleted but still in the index.
	world.write("a.txt", "staged\n");
	world.git("add", "a.txt");
	world.write("a.txt", "on disk\n");
	world.write("later.txt", "later\n");
	world.git("add", "-N", "later.txt");
	world.remove("dir/c.txt");
	const before = personState(world);
	const start = world.files();

	const first = await engine.capture();
	expectSame(before, personState(world));
	world.write("a.txt", "agent\n");
	world.write("new/deep.txt", "n\n");
	world.write("dir/c.txt", "back\n");
	await engine.capture();
	const changed = world.files();
	const restored = await engine.restore(first);
	expectSame(start, world.files());
	expectSame(before, personState(world));
	await engine.undo(restored);
	expectSame(changed, world.files());
	expectSame(before, personState(world));
	expectSound(world);
	expect(world.git("for-each-ref", "--format=%(refname)").split("\n").filter(Boolean)).toEqual([
		"refs/heads/main",
		"refs/heads/other",
		"refs/pi-rewind/store",
		"refs/stash",
		"refs/tags/v1",
	]);
	expect(existsSync(join(world.root, ".git/logs/refs/pi-rewind"))).toBe(false);
});

test("reflogs for every ref, as core.logAllRefUpdates=always wants them, get no line of ours [R6]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.git("config", "core.logAllRefUpdates", "always");
	const before = personState(world);
	await engine.capture();
	expectSame(before, personState(world));
	expect(existsSync(join(world.root, ".git/logs/refs/pi-rewind"))).toBe(false);
});

test("files that do not differ keep inode and mtime through restore and undo [R5]", async () => {
	const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f/${i}.txt`, `${i}\n`]));
	await using setup = await openWorld({ files: { ...files, "a.txt": "a\n" } });
	const { world, engine } = setup;
	for (let i = 0; i < 100; i++) world.write(`untracked/${i}`, `u${i}\n`, i % 2 ? 0o600 : 0o755);
	const exact = { inodes: true, mtimes: true, skip: (path: string) => path === "a.txt" };
	const before = world.files(exact);
	const first = await engine.capture();
	world.write("a.txt", "changed\n");
	const restored = await engine.restore(first);
	expect(restored.counts).toEqual({ changed: 1, added: 0, deleted: 0 });
	expectSame(before, world.files(exact));
	await engine.undo(restored);
	expectSame(before, world.files(exact));
	expect(world.read("a.txt")).toBe("changed\n");
});

test("an equal state is the same snapshot and adds no object [R11]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.git("init", "-q", "nested");
	world.write("nested/x", "x\n");
	world.shell("mkfifo pipe; ln -s a.txt link; printf '*.log\\n' > .gitignore; echo l > x.log");
	world.write("secret", "s\n", 0o600);
	const first = await engine.capture();
	const objects = objectCount(world);
	for (let i = 0; i < 3; i++) {
		const { snapshot, reused } = await engine.rewind.capture({ owner });
		expect([snapshot.id, reused]).toEqual([first.id, true]);
	}
	expect(objectCount(world)).toBe(objects);
});

test("touching a file without changing it is still the same snapshot [R11]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	const objects = objectCount(world);
	world.write("a.txt", "a0\n");
	expect((await engine.capture()).id).toBe(first.id);
	expect(objectCount(world)).toBe(objects);
});

test("going back to an equal state after a change in between gives the same tree [R11]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("a.txt", "other\n");
	const second = await engine.capture();
	world.write("a.txt", "a0\n");
	const third = await engine.capture();
	expect([second.tree === first.tree, third.tree === first.tree]).toEqual([false, true]);
});

test("a lock of the person's own index stops neither capture nor restore, and stays [R6]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	writeFileSync(join(world.root, ".git/index.lock"), "held");
	const first = await engine.capture();
	world.write("a.txt", "changed\n");
	await engine.restore(first);
	expect(world.read("a.txt")).toBe("a0\n");
	expect(statSync(join(world.root, ".git/index.lock")).size).toBe(4);
});
