/** Every shape a repository can have: the same restore works in it, and leaves the person's side alone. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	type Engine,
	enter,
	expectSame,
	expectSound,
	openAt,
	openEngine,
	openWorld,
	personState,
	skipped,
	uncovered,
} from "../support/engine.ts";
import { createWorld, takePicture, type World } from "../support/world.ts";

/** Edit, add, delete; restore; undo: exact both ways, and the person's side unchanged. */
async function roundTrip(world: World, engine: Engine, root = world.root): Promise<void> {
	const picture = () => takePicture(root, { skip: (path) => /(^|\/)\.git$/.test(path) });
	const state = personState(world, root);
	world.shell("mkdir -p rt/deep; echo 1 > rt/deep/edit; echo 2 > rt/gone; echo x > rt-top", root);
	const before = picture();
	const target = await engine.capture();
	world.shell("echo changed > rt/deep/edit; rm rt/gone; mkdir -p rt/new; echo n > rt/new/n", root);
	await engine.capture();
	const changed = picture();
	const restored = await engine.restore(target);
	expect(restored.skips).toEqual([]);
	expectSame(before, picture());
	await engine.undo(restored);
	expectSame(changed, picture());
	expectSame(state, personState(world, root));
	expectSound(world);
}

const inits: readonly (readonly [name: string, init: readonly string[], setup: string])[] = [
	["an ordinary repository", [], "true"],
	["a SHA-256 repository", ["--object-format=sha256"], "true"],
	["a detached HEAD", [], "git checkout -q --detach"],
	["a split index", [], "git config core.splitIndex true; git update-index --split-index"],
	[
		"an index of version 4 with an untracked cache",
		[],
		"git update-index --index-version 4 --untracked-cache --force-write-index",
	],
	["packed refs and objects", [], "git gc -q; git pack-refs --all"],
	["a shared repository", ["--shared=group"], "true"],
];

for (const [name, init, setup] of inits)
	test(`a restore and its undo are exact in ${name} [R6]`, async () => {
		await using world = createWorld({ init });
		world.shell(setup);
		await using engine = await openEngine(world);
		await roundTrip(world, engine);
	});

test("an unborn HEAD with files, and one without, are ordinary states", async () => {
	await using world = createWorld({ files: {}, commit: false });
	await using engine = await openEngine(world);
	const empty = await engine.capture();
	expect(empty.head?.head).toBe(undefined);
	expect(empty.head?.branch).toBe("refs/heads/main");
	world.shell("echo 1 > a; mkdir d; echo 2 > d/b; echo 3 > d/c");
	const full = world.files();
	await engine.capture();
	const restored = await engine.restore(empty);
	expect(restored.counts).toEqual({ changed: 0, added: 0, deleted: 3 });
	expectSame(new Map(), world.files());
	await engine.undo(restored);
	expectSame(full, world.files());
	await roundTrip(world, engine);
});

test("the points of a linked worktree and of its main tree do not mix [R5]", async () => {
	await using world = createWorld();
	world.git("worktree", "add", "-q", "../linked");
	const linkedRoot = join(world.at, "linked");
	await using main = await openEngine(world);
	await using linked = await openEngine(world, { cwd: linkedRoot });
	expect(linked.root).toBe(linkedRoot);
	const mainBefore = world.files();
	await roundTrip(world, linked, linkedRoot);
	expectSame(mainBefore, world.files());
	await roundTrip(world, main);
	world.git("gc", "-q", "--prune=now");
	await linked.resolve((await linked.capture()).id);
	expectSound(world);
});

test("a linked worktree inside the main tree is another repository to it [R5]", async () => {
	await using world = createWorld();
	world.git("worktree", "add", "-q", "inner");
	await using engine = await openEngine(world);
	const first = await engine.capture();
	expect(uncovered(first.coverage.notCovered)).toEqual({ "inner/": "nested-repository" });
	world.write("inner/a.txt", "theirs\n");
	world.write("a.txt", "ours\n");
	await engine.restore(first);
	expect([world.read("inner/a.txt"), world.read("a.txt")]).toEqual(["theirs\n", "a0\n"]);
});

test("moving a worktree keeps its points", async () => {
	await using world = createWorld();
	world.git("worktree", "add", "-q", "../linked");
	const before = await openEngine(world, { cwd: join(world.at, "linked") });
	const first = await before.capture();
	await before.rewind.close();
	world.git("worktree", "move", "../linked", "../moved");
	await using engine = await openEngine(world, { cwd: join(world.at, "moved") });
	world.shell("echo changed > a.txt", join(world.at, "moved"));
	await engine.restore(await engine.resolve(first.id));
	expect(world.shell("cat a.txt", join(world.at, "moved"))).toBe("a0\n");
});

for (const where of ["../apart.git", "apart.git", "deep/apart.git"])
	test(`a separate git dir at ${where} is never captured nor restored over [R5]`, async () => {
		await using world = createWorld({ init: false });
		mkdirSync(join(world.root, "deep"));
		world.git("init", "-q", `--separate-git-dir=${where}`);
		world.git("add", "a.txt", "dir");
		world.git("commit", "-q", "-m", "first");
		await using engine = await openEngine(world);
		const first = await engine.capture();
		expect(engine.names(first).toSorted()).toEqual(["a.txt", "dir/b.txt", "dir/c.txt"]);
		world.write("a.txt", "second\n");
		world.git("commit", "-qam", "second");
		const head = world.git("rev-parse", "HEAD");
		await engine.restore(first);
		expect([world.read("a.txt"), world.git("rev-parse", "HEAD")]).toEqual(["a0\n", head]);
		expectSound(world);
	});

test("a submodule is a working tree of its own, and another repository to the one around it [R5]", async () => {
	await using world = createWorld();
	world.shell("git init -q ../sub; cd ../sub; echo s > s.txt; git add .; git commit -qm s");
	world.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub");
	world.git("commit", "-qm", "with sub");
	await using outer = await openEngine(world);
	const first = await outer.capture();
	expect(uncovered(first.coverage.notCovered)).toEqual({ "sub/": "nested-repository" });
	const subRoot = join(world.root, "sub");
	await using inner = await openEngine(world, { cwd: subRoot });
	expect(inner.root).toBe(subRoot);
	await roundTrip(world, inner, subRoot);
	world.write("sub/s.txt", "edited\n");
	world.write("a.txt", "edited\n");
	await outer.restore(first);
	expect([world.read("a.txt"), world.read("sub/s.txt")]).toEqual(["a0\n", "edited\n"]);
});

const manyFolders = { "a/1": "1\n", "b/1": "1\n", "b/deep/2": "2\n", "c/1": "1\n", top: "t\n" };

test("what a sparse checkout leaves off is not deleted, and not deleted either once it is back [R7]", async () => {
	await using world = createWorld({ files: manyFolders });
	world.git("sparse-checkout", "set", "--cone", "a");
	await using engine = await openEngine(world);
	const narrow = await engine.capture();
	expect(uncovered(narrow.coverage.notCovered)).toEqual({ "b/": "sparse", "c/": "sparse" });
	world.write("a/1", "edited\n");
	await engine.capture();
	world.git("sparse-checkout", "set", "--cone", "a", "b");
	await engine.capture();
	const restored = await engine.restore(narrow);
	expect(world.read("a/1")).toBe("1\n");
	expect([world.read("b/1"), world.read("b/deep/2")]).toEqual(["1\n", "2\n"]);
	expect(skipped(restored.skips)).toEqual({ "b/1": "not-covered", "b/deep/2": "not-covered" });
	await engine.undo(restored);
	expect(world.read("a/1")).toBe("edited\n");
});

test("a sparse checkout that is set while the engine is open is noticed: nothing counts as deleted [R7]", async () => {
	await using world = createWorld({ files: manyFolders });
	await using engine = await openEngine(world);
	await engine.capture();
	world.git("sparse-checkout", "set", "--cone", "a");
	const narrow = await engine.capture();
	world.git("sparse-checkout", "disable");
	await engine.capture();
	await engine.restore(narrow);
	expect([world.read("b/1"), world.read("b/deep/2"), world.read("c/1")]).toEqual([
		"1\n",
		"2\n",
		"1\n",
	]);
});

test("narrowing a sparse checkout and going back writes nothing into what is off [R7]", async () => {
	await using world = createWorld({ files: manyFolders });
	world.git("sparse-checkout", "set", "--cone", "a", "b");
	await using engine = await openEngine(world);
	const wide = await engine.capture();
	world.write("a/1", "edited\n");
	world.git("sparse-checkout", "set", "--cone", "a");
	await engine.capture();
	await engine.restore(wide);
	expect([world.read("a/1"), existsSync(world.path("b"))]).toEqual(["1\n", false]);
});

test("a session in a sub-folder has the whole repository in scope", async () => {
	await using world = createWorld({ files: { "sub/f": "1\n", "other/f": "1\n" } });
	await using engine = await openEngine(world, { cwd: join(world.root, "sub") });
	const before = world.files();
	const first = await engine.capture();
	world.shell("echo 2 > sub/f; echo 2 > other/f; echo n > other/new");
	await engine.restore(first);
	expectSame(before, world.files());
});

test("a root behind a symbolic link is the real one", async () => {
	await using setup = await openWorld();
	const { world } = setup;
	world.shell("ln -s repo ../alias");
	enter(world.env);
	const opened = await openAt(join(world.at, "alias"));
	expect(opened.kind === "ready" ? opened.root : opened.message).toBe(realpathSync(world.root));
	if (opened.kind === "ready") await opened.rewind.close();
});

test("a .git that is a symbolic link to its folder works", async () => {
	await using world = createWorld();
	renameSync(world.path(".git"), join(world.at, "real.git"));
	execFileSync("ln", ["-s", "../real.git", world.path(".git")]);
	await using engine = await openEngine(world);
	await roundTrip(world, engine);
});
