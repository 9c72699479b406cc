/** What a restore does to the disk: types, links, folders, and what came between the question and the deed. */
import {
	existsSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	blobText,
	expectSame,
	expectSound,
	isRoot,
	nobody,
	openEngine,
	openWorld,
	owner,
	runChild,
	skipped,
} from "../support/engine.ts";
import { createWorld, difference, type Picture, type World } from "../support/world.ts";

const shapes: Readonly<Record<string, string>> = {
	nothing: "true",
	file: "echo f > it",
	link: "ln -s a.txt it",
	"link to folder": "ln -s dir it",
	folder: "mkdir it; echo 1 > it/one; mkdir it/deep; echo 2 > it/deep/two",
};

/** A round that goes from each of `all` to each other exactly once, from the last one on. */
function roundOf(all: readonly string[]): string[] {
	const left = new Set(
		all.flatMap((from) => all.filter((to) => to !== from).map((to) => `${from}>${to}`)),
	);
	const walk = (at: string): string[] => {
		for (const to of all) if (left.delete(`${at}>${to}`)) return [...walk(to), at];
		return [at];
	};
	// Hierholzer: where the first walk ends early, the rest is walked from where it can go on.
	const path = walk(all.at(-1) ?? "").toReversed();
	for (let i = 0; i < path.length; i++) path.splice(i, 1, ...walk(path[i] ?? "").toReversed());
	return path.slice(1);
}

test("every type of thing becomes every other and back, exactly (B85)", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const taken = new Map<string, Awaited<ReturnType<typeof engine.capture>>>();
	const pictures = new Map<string, ReturnType<typeof world.files>>();
	for (const [name, script] of Object.entries(shapes)) {
		world.shell(`rm -rf it; ${script}`);
		pictures.set(name, world.files());
		taken.set(name, await engine.capture());
	}
	const order = roundOf(Object.keys(shapes));
	let from = "folder";
	for (const name of order) {
		const target = taken.get(name);
		const picture = pictures.get(name);
		if (target === undefined || picture === undefined) throw new Error(name);
		const { skips } = await engine.restore(target);
		expect([from, name, skips, difference(picture, world.files())]).toEqual([from, name, [], []]);
		from = name;
	}
	expectSound(world);
});

test("ignored leftovers in a folder that should be a file keep that folder whole, by name (B85) [R7]", async () => {
	await using setup = await openWorld({
		files: { ".gitignore": "*.log\n", lib: "file\n", a: "1\n" },
	});
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("rm lib; mkdir lib; echo a > lib/a; echo z > lib/z.log; echo 2 > a");
	const before = world.files({ skip: (path) => path === "a" });
	const restored = await engine.restore(first);
	expectSame(before, world.files({ skip: (path) => path === "a" }));
	expect(skipped(restored.skips)).toEqual({
		lib: "folder-in-the-way",
		"lib/a": "folder-in-the-way",
	});
	expect(world.read("a")).toBe("1\n");
	await engine.undo(restored);
	expect(world.read("a")).toBe("2\n");
});

test("an ignored file where a folder belongs is left, with all that belongs below it (B85) [R7]", async () => {
	await using setup = await openWorld({ files: { "lib/a": "1\n", "lib/b": "1\n" } });
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("rm -r lib; echo '/lib' > .git/info/exclude; echo precious > lib");
	const restored = await engine.restore(first);
	expect(world.read("lib")).toBe("precious\n");
	expect(skipped(restored.skips)).toEqual({ "lib/a": "behind-link", "lib/b": "behind-link" });
});

test("an ignored file where a captured one was is not overwritten [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("x", "captured\n");
	const first = await engine.capture();
	world.remove("x");
	world.write(".gitignore", "x\n");
	await engine.capture();
	world.write("x", "ignored and never captured\n");
	const restored = await engine.restore(first);
	expect(world.read("x")).toBe("ignored and never captured\n");
	expect(skipped(restored.skips)).toEqual({ x: "not-in-capture" });
});

test("a folder that became a link out of the tree is a folder again; outside nothing changes (B33) [R5]", async () => {
	await using setup = await openWorld({ files: { "d/f": "1\n", "d/deep/g": "1\n", a: "1\n" } });
	const { world, engine } = setup;
	const before = world.files();
	const first = await engine.capture();
	world.shell(
		"mkdir ../outside; echo out > ../outside/f; mkdir ../outside/deep; echo out > ../outside/deep/g",
	);
	world.shell("rm -r d; ln -s ../outside d");
	const second = await engine.capture();
	expect(engine.names(second).toSorted()).toEqual(["a", "d"]);
	expect(second.coverage.notCovered).toEqual([]);
	const changed = world.files();
	const restored = await engine.restore(first);
	expect(restored.skips).toEqual([]);
	expectSame(before, world.files());
	await engine.undo(restored);
	expectSame(changed, world.files());
	expect(world.shell("cat ../outside/f ../outside/deep/g")).toBe("out\nout\n");
});

test("a folder of 500 files that moved out and became a link to there is one change [R12]", async () => {
	const files = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`d/${i}`, `${i}\n`]));
	await using setup = await openWorld({ files });
	const { world, engine } = setup;
	const before = world.files();
	const first = await engine.capture();
	world.shell("mv d ../moved; ln -s ../moved d");
	const second = await engine.capture();
	expect([engine.names(second), second.coverage.notCovered]).toEqual([["d"], []]);
	await engine.restore(first);
	expectSame(before, world.files());
	expect(readFileSync(join(world.at, "moved/499"), "utf8")).toBe("499\n");
});

test("a parent that becomes a link between preview and perform is not followed (B33) [R5]", async () => {
	await using setup = await openWorld({ files: { "d/f": "1\n", "d/g": "1\n", a: "1\n" } });
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("d/f", "2\n");
	world.remove("d/g");
	world.write("d/new", "2\n");
	world.write("a", "2\n");
	const restored = await engine.restore(first, {
		during() {
			world.shell("mv d ../outside; ln -s ../outside d");
		},
	});
	expect(world.shell("cat ../outside/f ../outside/new; ls ../outside")).toBe("2\n2\nf\nnew\n");
	expect(lstatSync(world.path("d")).isSymbolicLink()).toBe(true);
	expect(world.read("a")).toBe("1\n");
	expect(Object.keys(skipped(restored.skips)).toSorted()).toEqual(["d/f", "d/g", "d/new"]);
});

test("what changed between preview and perform is left alone and named [R4]", async () => {
	await using setup = await openWorld({
		files: { edited: "1\n", gone: "1\n", swapped: "1\n", plain: "1\n", bit: "1\n" },
	});
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell(
		"echo 2 > edited; rm gone; echo 2 > swapped; echo 2 > plain; echo 2 > added; echo 2 > bit",
	);
	const restored = await engine.restore(first, {
		during() {
			world.shell(
				"echo 3 > edited; echo 3 > gone; rm swapped; mkdir swapped; echo 3 > swapped/x; echo 3 > added; chmod +x bit",
			);
		},
	});
	expect([
		world.read("edited"),
		world.read("gone"),
		world.read("swapped/x"),
		world.read("added"),
		world.read("bit"),
	]).toEqual(["3\n", "3\n", "3\n", "3\n", "2\n"]);
	expect(world.read("plain")).toBe("1\n");
	expect(skipped(restored.skips)).toEqual({
		edited: "changed-meanwhile",
		gone: "changed-meanwhile",
		swapped: "changed-meanwhile",
		added: "changed-meanwhile",
		bit: "changed-meanwhile",
	});
	expect(restored.counts).toEqual({ changed: 1, added: 0, deleted: 0 });
});

test("an ignored file that appears where a file comes back is left alone and named [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("x", "1\n");
	const first = await engine.capture();
	world.remove("x");
	world.write(".git/info/exclude", "x\n");
	const restored = await engine.restore(first, { during: () => world.write("x", "precious\n") });
	expect([world.read("x"), skipped(restored.skips)["x"]]).toEqual(["precious\n", "not-in-capture"]);
});

test("a same-size edit with its mtime put back in the same second is seen, every time [R4]", async () => {
	await using setup = await openWorld({ files: { x: "00\n" } });
	const { world, engine } = setup;
	const file = world.path("x");
	for (let i = 10; i < 22; i++) {
		const { atime, mtime } = lstatSync(file);
		writeFileSync(file, `${i}\n`);
		utimesSync(file, atime, mtime);
		expect(blobText(world, await engine.capture(), "x")).toBe(`${i}\n`);
	}
});

test("a same-size edit by another process, mtime put back, is seen by a third [R4]", async () => {
	await using world = createWorld({ files: { x: "00\n" } });
	const file = world.path("x");
	for (let i = 10; i < 16; i++) {
		const writer = await openEngine(world);
		const { atime, mtime } = lstatSync(file);
		writeFileSync(file, `${i}\n`);
		utimesSync(file, atime, mtime);
		await writer.capture();
		await writer.rewind.close();
		writeFileSync(file, `${i + 50}\n`);
		utimesSync(file, atime, mtime);
		await using reader = await openEngine(world);
		expect(blobText(world, await reader.capture(), "x")).toBe(`${i + 50}\n`);
	}
});

test("folders that a restore empties go; the session's folder, and folders of others, stay (B116)", async () => {
	await using world = createWorld();
	mkdirSync(world.path("n/m"), { recursive: true });
	await using engine = await openEngine(world, { cwd: world.path("n/m") });
	world.shell("rm -r n");
	const first = await engine.capture();
	world.shell(
		"mkdir -p n/m/deep other/e; echo x > n/m/x; echo x > n/m/deep/x; echo x > other/x; mkdir -p free/deep; echo x > free/deep/x",
	);
	await engine.capture();
	const restored = await engine.restore(first);
	expect(restored.skips).toEqual([]);
	expect([existsSync(world.path("n/m")), existsSync(world.path("n/m/deep"))]).toEqual([
		true,
		false,
	]);
	expect([existsSync(world.path("other/e")), existsSync(world.path("free"))]).toEqual([
		true,
		false,
	]);
	await engine.undo(restored);
	expect(world.read("free/deep/x")).toBe("x\n");
});

test("an empty folder where a file was does not keep that file from coming back", async () => {
	await using setup = await openWorld({ files: { lib: "1\n", "d/f": "1\n" } });
	const { world, engine } = setup;
	const before = world.files();
	const first = await engine.capture();
	world.shell("rm lib; mkdir lib; rm d/f; mkdir -p d/f/deep");
	const restored = await engine.restore(first);
	expect(skipped(restored.skips)).toEqual({});
	expectSame(before, world.files());
});

test("a folder where a file was keeps all that is in it once a file, or the session's folder, is there [R5]", async () => {
	await using world = createWorld({ files: { lib: "1\n", pkg: "1\n", "a.txt": "1\n" } });
	const setup = await openEngine(world);
	const first = await setup.capture();
	world.shell("rm lib pkg; mkdir -p lib/a lib/b/deep lib/z pkg/a pkg/cwd pkg/z; echo 2 > a.txt");
	await setup.rewind.close();
	await using engine = await openEngine(world, { cwd: world.path("pkg/cwd") });
	const others = (): Picture => world.files({ skip: (path) => path === "a.txt" });
	let before = others();
	const restored = await engine.restore(first, {
		during() {
			world.write("lib/b/new", "new\n");
			before = others();
		},
	});
	expect(skipped(restored.skips)).toEqual({ lib: "folder-in-the-way", pkg: "folder-in-the-way" });
	expectSame(before, others());
	expect(world.read("a.txt")).toBe("1\n");
});

test("emptying everything and back (B69): the empty target, and an undo from it", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const full = world.files();
	const first = await engine.capture();
	world.shell("rm -r a.txt dir");
	const empty = await engine.capture();
	expect(engine.names(empty)).toEqual([]);
	await engine.restore(first);
	expectSame(full, world.files());
	const restored = await engine.restore(empty);
	expectSame(new Map(), world.files());
	await engine.undo(restored);
	expectSame(full, world.files());
});

test("each undo gives back the state right before that restore, and undoing twice is redo (B03)", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const states: [Awaited<ReturnType<typeof engine.capture>>, ReturnType<typeof world.files>][] = [];
	for (let i = 0; i < 3; i++) {
		world.write("a.txt", `${i}\n`);
		world.write(`n${i}/x`, "x\n");
		states.push([await engine.capture(), world.files()]);
	}
	const [one, two] = states;
	if (one === undefined || two === undefined) throw new Error("no states");
	world.write("by-hand", "h\n");
	const byHand = world.files();
	const first = await engine.restore(one[0]);
	expectSame(one[1], world.files());
	const undone = await engine.undo(first);
	expectSame(byHand, world.files());
	await engine.undo(undone);
	expectSame(one[1], world.files());
	const second = await engine.restore(two[0]);
	expectSame(two[1], world.files());
	await engine.undo(second);
	expectSame(one[1], world.files());
});

test("a part is restored alone", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("echo 2 > a.txt; echo 2 > dir/b.txt; echo 2 > new");
	const restored = await engine.restore(first, { only: ["dir/b.txt"] });
	expect([world.read("a.txt"), world.read("dir/b.txt"), world.read("new")]).toEqual([
		"2\n",
		"b0\n",
		"2\n",
	]);
	expect(restored.skips).toEqual([]);
});

test("preview and discard change nothing and leave nothing behind [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("echo 2 > a.txt; rm dir/b.txt; echo 2 > new");
	const before = world.files({ inodes: true, mtimes: true });
	const preview = await engine.rewind.preview({ target: first, owner });
	expect(preview.plan.counts).toEqual({ changed: 1, added: 1, deleted: 1 });
	await engine.rewind.discard(await engine.rewind.prepare(preview));
	expectSame(before, world.files({ inodes: true, mtimes: true }));
	expect(
		world
			.shell("ls .git/pi-rewind")
			.split("\n")
			.filter((name) => /^(stage|journal)/.test(name)),
	).toEqual([]);
});

test("a merge, rebase, cherry-pick, revert or bisect under way refuses before anything is asked", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("a.txt", "2\n");
	const marks = {
		MERGE_HEAD: "merge",
		"rebase-merge/": "rebase",
		"rebase-apply/": "rebase",
		CHERRY_PICK_HEAD: "cherry-pick",
		REVERT_HEAD: "revert",
		BISECT_LOG: "bisect",
	};
	for (const [mark, operation] of Object.entries(marks)) {
		const path = world.path(`.git/${mark}`);
		if (mark.endsWith("/")) mkdirSync(path);
		else writeFileSync(path, world.git("rev-parse", "HEAD"));
		await expect(engine.restore(first)).rejects.toMatchObject({
			code: "operation-in-progress",
			data: { operation },
		});
		rmSync(path, { recursive: true });
	}
	expect(world.read("a.txt")).toBe("2\n");
	await engine.restore(first);
	expect(world.read("a.txt")).toBe("a0\n");
});

test.runIf(isRoot)(
	"a folder that may not be written is found before anything changes [R9]",
	async () => {
		await using world = createWorld();
		world.shell(`chmod 755 ..; chown -R ${nobody}:${nobody} . ../home ../tmp`);
		const [id = ""] = await runChild(world, ["coverage"], { uid: nobody });
		world.shell("echo 2 > a.txt; echo 2 > dir/b.txt; chown -R 65534:65534 .; chmod 555 dir");
		const before = world.files({ inodes: true });
		const [code, message] = await runChild(world, ["fails", id], { uid: nobody });
		expect(code).toBe("permission-denied");
		expect(message).toContain("dir");
		expectSame(before, world.files({ inodes: true }));
	},
);

const lockableFiles = { lib: "1\n", "a.txt": "1\n", "dir/b.txt": "1\n" };

/** Of `nobody`: a file that became a folder of folders, and a folder that was not there. Gives the snapshot before. */
async function lockable(world: World): Promise<string> {
	world.shell(`chmod 755 ..; chown -R ${nobody}:${nobody} . ../home ../tmp`);
	const [id = ""] = await runChild(world, ["coverage"], { uid: nobody });
	world.shell("rm lib; mkdir -p lib/a lib/locked/in lib/z gone/locked; echo 2 > a.txt");
	world.shell(`echo 2 > gone/x; echo 2 > gone/locked/x; chown -R ${nobody}:${nobody} .`);
	await runChild(world, ["coverage"], { uid: nobody });
	return id;
}

for (const when of ["before", "after"] as const)
	test.runIf(isRoot)(
		`a folder that may not be looked into ${when} the question is left, by name, and the rest goes back [R5] [R7]`,
		async () => {
			await using world = createWorld({ files: lockableFiles });
			const id = await lockable(world);
			const before = world.files({ skip: (path) => /^(a\.txt|gone)$/.test(path) });
			if (when === "before") world.shell("chmod 000 lib/locked gone/locked");
			const lock = when === "after" ? ["lock:lib/locked"] : [];
			const skips = await runChild(world, ["restore", id, ...lock], { uid: nobody });
			world.shell("chmod 755 lib/locked gone/locked || true");
			expect(skips.toSorted()).toEqual([
				"folder-in-the-way lib",
				...(when === "before" ? ["not-covered gone/locked/x"] : []),
			]);
			expect([world.read("a.txt"), world.read("gone/x")]).toEqual(["1\n", undefined]);
			expect(world.read("gone/locked/x")).toBe(when === "before" ? "2\n" : undefined);
			expectSame(before, world.files({ skip: (path) => /^(a\.txt|gone)$/.test(path) }));
			// Open again, all of it goes back.
			expect(await runChild(world, ["restore", id], { uid: nobody })).toEqual([]);
			expect([world.read("lib"), world.read("gone/locked/x")]).toEqual(["1\n", undefined]);
		},
	);

test.runIf(isRoot)(
	"captured files whose folder is closed between preview and perform take the whole restore back, by name [R9]",
	async () => {
		await using world = createWorld({ files: lockableFiles });
		const id = await lockable(world);
		const before = world.files({ inodes: true });
		const [code, message] = await runChild(world, ["fails", id, "lock:gone/locked"], {
			uid: nobody,
		});
		world.shell("chmod 755 gone/locked");
		expect(code).toBe("restore-rolled-back");
		expect(message).toMatch(/^Cannot delete gone\/locked\/x: permission denied; all files are as/);
		expectSame(before, world.files({ inodes: true }));
		expect(world.shell("ls .git/pi-rewind")).not.toMatch(/^(stage|journal)/m);
	},
);

test.runIf(isRoot)(
	"the owner of a file is kept where its content is restored by root",
	async () => {
		await using setup = await openWorld();
		const { world, engine } = setup;
		const first = await engine.capture();
		world.shell("echo 2 > a.txt; chown 1234:2345 a.txt");
		await engine.restore(first);
		const { uid, gid } = lstatSync(world.path("a.txt"));
		expect([uid, gid, world.read("a.txt")]).toEqual([1234, 2345, "a0\n"]);
	},
);

test("a hard link is not written through: the other name keeps its content", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("echo 2 > a.txt; ln a.txt ../other-name");
	await engine.restore(first);
	expect([world.read("a.txt"), readFileSync(join(world.at, "other-name"), "utf8")]).toEqual([
		"a0\n",
		"2\n",
	]);
});

test("a deep tree and many links in a circle are ordinary", async () => {
	await using setup = await openWorld({ files: {} });
	const { world, engine } = setup;
	world.write(`${"deep/".repeat(60)}leaf`, "1\n");
	symlinkSync("two", world.path("one"));
	symlinkSync("one", world.path("two"));
	const before = world.files();
	const first = await engine.capture();
	world.shell("rm -rf deep one two");
	await engine.restore(first);
	expectSame(before, world.files());
});
