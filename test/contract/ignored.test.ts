/** Ignore rules may differ between a snapshot and now: a path ignored under either is never deleted or overwritten. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Engine, expectSame, openEngine, openWorld, skipped } from "../support/engine.ts";
import { createWorld, type World } from "../support/world.ts";

/** Ways to say that `data` is ignored. */
const ways: readonly (readonly [name: string, set: (world: World, rules: string) => void])[] = [
	[".gitignore", (world, rules) => world.write(".gitignore", rules)],
	["a deeper .gitignore", (world, rules) => world.write("in/.gitignore", rules)],
	["info/exclude", (world, rules) => writeFileSync(world.path(".git/info/exclude"), rules)],
	["core.excludesFile", (world, rules) => writeFileSync(join(world.at, "excludes"), rules)],
];

async function openHere(): Promise<{ world: World; engine: Engine } & AsyncDisposable> {
	const world = createWorld({
		gitConfig:
			"[user]\n\tname = T\n\temail = t@example.com\n[init]\n\tdefaultBranch = main\n[core]\n\texcludesFile = ~/../excludes\n",
	});
	writeFileSync(join(world.at, "excludes"), "");
	const engine = await openEngine(world);
	return {
		world,
		engine,
		async [Symbol.asyncDispose]() {
			await engine[Symbol.asyncDispose]();
			await world.end();
		},
	};
}

for (const [name, set] of ways) {
	test(`a path that ${name} began to ignore after it was captured is safe and can be undone [R7]`, async () => {
		await using setup = await openHere();
		const { world, engine } = setup;
		world.write("in/data", "old\n");
		world.write("in/data.d/f", "old\n");
		const first = await engine.capture();
		set(world, "data\ndata.d/\n");
		world.write("in/data", "newer\n");
		world.write("in/data.d/f", "newer\n");
		world.write("in/data.d/g", "never captured\n");
		world.write("a.txt", "changed\n");
		const before = world.files();
		const restored = await engine.restore(first);
		expect(world.read("a.txt")).toBe("a0\n");
		expect(world.read("in/data.d/g")).toBe("never captured\n");
		await engine.undo(restored);
		expectSame(before, world.files());
	});

	test(`a path that ${name} ignored then, and does not now, is not deleted [R7]`, async () => {
		await using setup = await openHere();
		const { world, engine } = setup;
		world.write("in/keep", "k\n");
		set(world, "data\n");
		world.write("in/data", "precious\n");
		world.write("in/deep/data/x", "precious\n");
		const first = await engine.capture();
		set(world, "");
		world.write("in/agent", "agent's\n");
		await engine.capture();
		const restored = await engine.restore(first);
		expect([world.read("in/data"), world.read("in/deep/data/x")]).toEqual([
			"precious\n",
			"precious\n",
		]);
		expect(world.read("in/agent")).toBe(undefined);
		expect(skipped(restored.skips)).toEqual({
			"in/data": "ignored-then",
			"in/deep/data/x": "ignored-then",
		});
	});
}

test("what is ignored at both times is never looked at, whatever happens to it [R5]", async () => {
	await using setup = await openWorld({ files: { ".gitignore": "*.log\nout/\n", a: "1\n" } });
	const { world, engine } = setup;
	world.write("x.log", "1\n");
	world.write("out/big", "1\n");
	const first = await engine.capture();
	world.write("x.log", "2\n");
	world.write("y.log", "2\n");
	world.write("out/more", "2\n");
	world.write("a", "2\n");
	const before = world.files({ skip: (path) => path === "a" });
	await engine.restore(first);
	expectSame(before, world.files({ skip: (path) => path === "a" }));
	expect(engine.names(first).toSorted()).toEqual([".gitignore", "a"]);
});

test("a folder whose own .gitignore ignores all of it, itself too, is safe when that file goes [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	// What Python, pytest, mypy, … make: the rule that hides the folder is hidden by itself.
	world.write(".venv/.gitignore", "*\n");
	world.write(".venv/lib/precious", "p\n");
	// What came into being in the very tick of the point proves nothing either way.
	await new Promise((resolve) => setTimeout(resolve, 100));
	const first = await engine.capture();
	expect(engine.names(first)).toEqual(["a.txt", "dir/b.txt", "dir/c.txt"]);
	world.remove(".venv/.gitignore");
	world.write("a.txt", "changed\n");
	await engine.capture();
	await engine.restore(first);
	expect(world.read("a.txt")).toBe("a0\n");
	expect(world.read(".venv/lib/precious")).toBe("p\n");
});

test("rules of a repository in between, negated and anchored, are judged as git judges them [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write(".gitignore", "/top\n*.tmp\n!keep.tmp\nbuild/\n");
	for (const name of [
		"top",
		"dir/top",
		"x.tmp",
		"keep.tmp",
		"dir/keep.tmp",
		"build/o",
		"dir/build/o",
	])
		world.write(name, "1\n");
	const first = await engine.capture();
	expect(
		engine
			.names(first)
			.filter((name) => !/^(a|dir\/[bc]).*txt$/.test(name))
			.toSorted(),
	).toEqual([".gitignore", "dir/keep.tmp", "dir/top", "keep.tmp"]);
	world.remove(".gitignore");
	world.write("added", "1\n");
	const restored = await engine.restore(first);
	expect(Object.keys(skipped(restored.skips)).toSorted()).toEqual([
		"build/o",
		"dir/build/o",
		"top",
		"x.tmp",
	]);
	expect([world.read("added"), world.read("build/o")]).toEqual([undefined, "1\n"]);
});

test("tracked files that are ignored are captured, restored and undone (B62) [R5]", async () => {
	await using world = createWorld({ files: { ".gitignore": "logs/\n*.gen\n" } });
	world.write("logs/keep", "1\n");
	world.write("x.gen", "1\n");
	world.git("add", "-f", "logs/keep", "x.gen");
	await using engine = await openEngine(world);
	world.write("logs/keep", "uncommitted\n");
	const before = world.files();
	const first = await engine.capture();
	expect(engine.names(first).toSorted()).toEqual([".gitignore", "logs/keep", "x.gen"]);
	world.write("logs/keep", "2\n");
	world.remove("x.gen");
	world.write("logs/other", "ignored\n");
	const changed = world.files();
	const restored = await engine.restore(first);
	expect([world.read("logs/keep"), world.read("x.gen")]).toEqual(["uncommitted\n", "1\n"]);
	await engine.undo(restored);
	expectSame(changed, world.files());
	world.remove("logs/other");
	await engine.restore(first);
	expectSame(before, world.files());
});

for (const includeUntracked of [true, false])
	test(`a tracked file that is ignored is captured again after it was deleted and recreated (untracked: ${includeUntracked}) [R7]`, async () => {
		await using world = createWorld({ files: { ".gitignore": "*.gen\n", a: "1\n" } });
		world.write("x.gen", "1\n");
		world.git("add", "-f", "x.gen");
		await using engine = await openEngine(world, { includeUntracked });
		const first = await engine.capture();
		world.remove("x.gen");
		world.remove("a");
		await engine.capture();
		world.write("x.gen", "recreated\n");
		world.write("a", "recreated\n");
		const third = await engine.capture();
		expect(engine.names(third).toSorted()).toEqual([".gitignore", "a", "x.gen"]);
		await engine.restore(first);
		expect([world.read("x.gen"), world.read("a")]).toEqual(["1\n", "1\n"]);
		await engine.restore(third);
		expect([world.read("x.gen"), world.read("a")]).toEqual(["recreated\n", "recreated\n"]);
	});

test("an excludes file that is set to nothing hides nothing, though the default one exists", async () => {
	await using world = createWorld();
	world.shell("mkdir -p ../home/.config/git; echo '*.tmp' > ../home/.config/git/ignore");
	world.write("x.tmp", "1\n");
	const hidden = await openEngine(world);
	expect(hidden.names(await hidden.capture())).not.toContain("x.tmp");
	await hidden.rewind.close();
	world.git("config", "core.excludesFile", "");
	expect(world.git("status", "--porcelain")).toBe("?? x.tmp\n");
	await using engine = await openEngine(world);
	expect(engine.names(await engine.capture())).toContain("x.tmp");
});

// ---- The tracked scope ----

test("without untracked files a restore touches tracked ones only [R7]", async () => {
	await using setup = await openWorld({}, { includeUntracked: false });
	const { world, engine } = setup;
	world.write("mine", "1\n");
	const first = await engine.capture();
	expect(engine.names(first)).toEqual(["a.txt", "dir/b.txt", "dir/c.txt"]);
	expect(first.head?.scope).toBe("tracked");
	world.write("mine", "2\n");
	world.write("new", "n\n");
	world.write("a.txt", "changed\n");
	world.remove("dir/c.txt");
	const before = world.files();
	const restored = await engine.restore(first);
	expect([
		world.read("a.txt"),
		world.read("dir/c.txt"),
		world.read("mine"),
		world.read("new"),
	]).toEqual(["a0\n", "c0\n", "2\n", "n\n"]);
	await engine.undo(restored);
	expectSame(before, world.files());
});

test("a file that was there untracked, and is tracked since, is not deleted by a tracked point [R7]", async () => {
	await using setup = await openWorld({}, { includeUntracked: false });
	const { world, engine } = setup;
	world.write("mine", "precious\n");
	const first = await engine.capture();
	world.git("add", "mine");
	await engine.capture();
	await engine.restore(first);
	expect(world.read("mine")).toBe("precious\n");
});

test("a point of all files and one of tracked files do not take each other's word for absence [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("mine", "1\n");
	const all = await engine.capture();
	await using tracked = await openEngine(world, { includeUntracked: false });
	const narrow = await tracked.capture();
	world.write("mine", "2\n");
	world.write("a.txt", "changed\n");
	await engine.restore(narrow);
	expect([world.read("mine"), world.read("a.txt")]).toEqual(["2\n", "a0\n"]);
	world.write("a.txt", "changed\n");
	await tracked.restore(all);
	expect([world.read("mine"), world.read("a.txt")]).toEqual(["2\n", "a0\n"]);
});
