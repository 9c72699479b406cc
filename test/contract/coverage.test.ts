/** What a snapshot does not cover is named, and is never deleted nor overwritten. [R7] */
import { writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { usable } from "../support/engine.ts";
import {
	blobText,
	expectSame,
	expectSound,
	idsIn,
	isRoot,
	nobody,
	objectCount,
	openEngine,
	openWorld,
	runChild,
	skipped,
	startChild,
	uncovered,
} from "../support/engine.ts";
import { createWorld } from "../support/world.ts";

test("a file over the cap is named once, left alone by a restore, and costs nothing [R7]", async () => {
	await using setup = await openWorld({}, { maxFileBytes: 1000 });
	const { world, engine } = setup;
	world.write("big.bin", "x".repeat(1001));
	world.write("fits.bin", "y".repeat(1000));
	const first = await engine.capture();
	expect(first.coverage.notCovered).toEqual([{ path: "big.bin", reason: "too-large", size: 1001 }]);
	const objects = objectCount(world);
	world.write("big.bin", "z".repeat(1001));
	expect((await engine.capture()).id).toBe(first.id);
	expect(objectCount(world)).toBe(objects);
	world.write("a.txt", "changed\n");
	await engine.restore(first);
	expect(world.read("big.bin")).toBe("z".repeat(1001));
	expect(world.read("a.txt")).toBe("a0\n");
});

test("a captured file that grows over the cap is neither overwritten nor deleted [R7]", async () => {
	await using setup = await openWorld({}, { maxFileBytes: 1000 });
	const { world, engine } = setup;
	const before = await engine.capture();
	world.write("grows", "small\n");
	const small = await engine.capture();
	world.write("grows", "x".repeat(2000));
	for (const target of [small, before]) {
		const restored = await engine.restore(target);
		expect(world.read("grows")).toBe("x".repeat(2000));
		expect(Object.keys(skipped(restored.skips)).filter((path) => path !== "grows")).toEqual([]);
	}
	// Over the cap then, small now: absence from that snapshot says nothing.
	const large = await engine.capture();
	world.write("grows", "small again\n");
	const restored = await engine.restore(large);
	expect(skipped(restored.skips)).toEqual({ grows: "not-covered" });
	expect(world.read("grows")).toBe("small again\n");
});

test("a large file that is clean in the person's index is covered [R7]", async () => {
	const large = "L".repeat(5000);
	await using setup = await openWorld(
		{ files: { "large.bin": large, a: "1\n" } },
		{ maxFileBytes: 1000 },
	);
	const { world, engine } = setup;
	const first = await engine.capture();
	expect(first.coverage.notCovered).toEqual([]);
	expect(blobText(world, first, "large.bin")).toBe(large);
	world.remove("large.bin");
	await engine.restore(first);
	expect(world.read("large.bin")).toBe(large);
	world.write("large.bin", "M".repeat(5000));
	expect(uncovered((await engine.capture()).coverage.notCovered)).toEqual({
		"large.bin": "too-large",
	});
	const restored = await engine.restore(first);
	expect(skipped(restored.skips)).toEqual({ "large.bin": "not-covered" });
	expect(world.read("large.bin")).toBe("M".repeat(5000));
});

test("a large tracked file with a newline or a quote in its name does not cost the capture [R12]", async () => {
	const names = ["two\nlines", '"quoted', " spaces "];
	const files = Object.fromEntries(names.map((name) => [name, "L".repeat(5000)]));
	await using setup = await openWorld({ files }, { maxFileBytes: 1000 });
	const { world, engine } = setup;
	const first = await engine.capture();
	expect(first.coverage.notCovered).toEqual([]);
	expect(engine.names(first).toSorted()).toEqual(names.toSorted());
	expectSound(world);
});

test("a FIFO and a socket are never opened, never deleted; where a file was they are named [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell("rm a.txt; mkfifo a.txt; mkfifo dir/pipe");
	const server = createServer().listen(world.path("socket"));
	await once(server, "listening");
	try {
		const second = await engine.capture();
		expect(uncovered(second.coverage.notCovered)["a.txt"]).toBe("special-file");
		world.write("dir/b.txt", "changed\n");
		const before = world.files({ skip: (path) => path === "dir/b.txt" });
		const restored = await engine.restore(first);
		expect(skipped(restored.skips)).toEqual({ "a.txt": "not-covered" });
		expectSame(before, world.files({ skip: (path) => path === "dir/b.txt" }));
		expect(world.read("dir/b.txt")).toBe("b0\n");
	} finally {
		server.close();
	}
});

test.runIf(isRoot)(
	"what cannot be read is named, and left alone by a restore; the rest goes back [R7] [R12]",
	async () => {
		await using world = createWorld();
		world.shell("chmod 755 ..; mkdir locked; echo in > locked/in; echo s > secret; echo t > dir/t");
		world.shell(`chown -R ${nobody}:${nobody} . ../home ../tmp`);
		world.shell("chown 0:0 secret locked dir/t; chmod 600 secret dir/t; chmod 700 locked");
		const lines = await runChild(world, ["coverage"], { uid: nobody });
		expect(lines.slice(1).toSorted()).toEqual([
			"unreadable dir/t",
			"unreadable locked",
			"unreadable secret",
		]);
		const [id = ""] = lines;
		world.write("a.txt", "changed\n");
		const before = world.files({ skip: (path) => path === "a.txt" });
		await runChild(world, ["restore", id], { uid: nobody });
		expect(world.read("a.txt")).toBe("a0\n");
		expectSame(before, world.files({ skip: (path) => path === "a.txt" }));
		// Readable later: absence from that snapshot still says nothing.
		world.shell(`chown -R ${nobody}:${nobody} .`);
		const skips = await runChild(world, ["restore", id], { uid: nobody });
		expect(skips.toSorted()).toEqual([
			"not-covered dir/t",
			"not-covered locked/in",
			"not-covered secret",
		]);
		expect([world.read("secret"), world.read("locked/in"), world.read("dir/t")]).toEqual([
			"s\n",
			"in\n",
			"t\n",
		]);
	},
);

test.runIf(isRoot)(
	"captured files whose folder cannot be searched any more are not deleted ones [R7]",
	async () => {
		await using world = createWorld();
		world.shell(`chmod 755 ..; chown -R ${nobody}:${nobody} . ../home ../tmp`);
		const [id = ""] = await runChild(world, ["coverage"], { uid: nobody });
		world.shell("chown 0:0 dir; chmod 700 dir");
		const lines = await runChild(world, ["coverage"], { uid: nobody });
		const [later = ""] = idsIn(lines);
		expect(world.git("-c", "safe.directory=*", "diff", "--name-status", id, later)).toBe("");
		expect(lines.length).toBeGreaterThan(1);
	},
);

test.runIf(isRoot)(
	"two thousand unreadable folders are all named, and none is emptied later [R7]",
	async () => {
		await using world = createWorld();
		const count = 2000;
		const long = "an-unreadable-folder-with-a-long-name";
		for (let i = 0; i < count; i++) {
			mkdirSync(world.path(`${long}-${i}`));
			writeFileSync(world.path(`${long}-${i}/in`), "in\n");
		}
		world.shell(
			`chmod 755 ..; chown -R ${nobody}:${nobody} . ../home ../tmp; chown 0:0 an-*; chmod 700 an-*`,
		);
		const lines = await runChild(world, ["coverage"], { uid: nobody });
		expect(lines.filter((line) => line.startsWith("unreadable")).length).toBe(count);
	},
);

test("a nested repository is never entered: with commits, without, as a file [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.shell(
		"git init -q vendor/one; cd vendor/one; echo 1 > f; git add .; git commit -qm 1; cd ../..; git init -q two; echo 2 > two/f; mkdir three; echo 'gitdir: ../nowhere' > three/.git; echo 3 > three/f",
	);
	const second = await engine.capture();
	expect(uncovered(second.coverage.notCovered)).toEqual({
		"three/": "nested-repository",
		"two/": "nested-repository",
		"vendor/one/": "nested-repository",
	});
	world.write("a.txt", "changed\n");
	world.write("vendor/plain", "p\n");
	const inside = world.files({ skip: (path) => /^(a.txt|vendor\/plain)$/.test(path) });
	const restored = await engine.restore(first);
	expectSame(inside, world.files({ skip: (path) => path === "a.txt" }));
	expect(world.read("a.txt")).toBe("a0\n");
	await engine.undo(restored);
	expect(world.read("vendor/plain")).toBe("p\n");
	expect((await engine.capture()).id).toBe((await engine.capture()).id);
});

test("a bare repository in the tree is ordinary files", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.git("init", "-q", "--bare", "bare.git");
	const first = await engine.capture();
	expect(engine.names(first)).toContain("bare.git/HEAD");
	world.remove("bare.git/HEAD");
	await engine.restore(first);
	expect(world.read("bare.git/HEAD")).toContain("refs/heads");
});

test("a folder with captured files that gets a git init is left alone from then on [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("sub/deep/f", "1\n");
	world.write("sub/g", "1\n");
	const first = await engine.capture();
	world.write("sub/deep/f", "2\n");
	world.git("init", "-q", "sub");
	world.write("sub/h", "new\n");
	const before = world.files();
	const restored = await engine.restore(first);
	expectSame(before, world.files());
	expect([...new Set(Object.values(skipped(restored.skips)))]).toEqual(["other-repository"]);
	// Its .git is gone again: what it has now was not covered at that time.
	const asRepository = await engine.capture();
	world.remove("sub/.git");
	await engine.restore(asRepository);
	expect([world.read("sub/deep/f"), world.read("sub/h")]).toEqual(["2\n", "new\n"]);
});

test("a git init between preview and perform protects that folder too [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("sub/f", "1\n");
	const first = await engine.capture();
	world.write("sub/f", "2\n");
	world.write("sub/new", "n\n");
	await engine.restore(first, { during: () => void world.git("init", "-q", "sub") });
	expect([world.read("sub/f"), world.read("sub/new")]).toEqual(["2\n", "n\n"]);
});

test("session files and Pi's own folder are neither captured nor restored [R5]", async () => {
	await using world = createWorld();
	const sessions = world.path(".sessions");
	await using engine = await openEngine(world, {
		sessionFolders: [sessions, world.root],
		ownPaths: [world.path(".agent")],
	});
	world.write(".sessions/one.jsonl", "1\n");
	world.write(".sessions/deeper/two.jsonl", "1\n");
	world.write(".sessions/note.txt", "1\n");
	world.write("root.jsonl", "1\n");
	world.write(".agent/x", "1\n");
	const first = await engine.capture();
	expect(
		engine
			.names(first)
			.filter((name) => !/^(a|dir)/.test(name))
			.toSorted(),
	).toEqual([".sessions/deeper/two.jsonl", ".sessions/note.txt"]);
	for (const name of [".sessions/one.jsonl", "root.jsonl", ".agent/x", ".sessions/note.txt"])
		world.write(name, "2\n");
	world.git("add", "-f", ".");
	await engine.capture();
	await engine.restore(first);
	expect(
		[".sessions/one.jsonl", "root.jsonl", ".agent/x", ".sessions/note.txt"].map(world.read),
	).toEqual(["2\n", "2\n", "2\n", "1\n"]);
});

test("a symbolic link to another repository, or to this one, is captured and restored as a link [R5]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.git("init", "-q", "../other");
	const first = await engine.capture();
	world.shell("ln -s ../other to-other; ln -s . self; ln -s .. dir/up");
	const second = await engine.capture();
	expect(engine.names(second)).toEqual(expect.arrayContaining(["to-other", "self", "dir/up"]));
	const before = world.files();
	const restored = await engine.restore(first);
	expect(world.shell("ls -A dir .").includes("self")).toBe(false);
	await engine.undo(restored);
	expectSame(before, world.files());
});

test("a file that vanishes or changes type while it is captured costs nothing else", async () => {
	await using world = createWorld();
	const churn = startChild(world, ["captures", "6", "captured"]);
	const end = churn.ended;
	const ending = new AbortController();
	void end.then(() => ending.abort());
	for (let i = 0; !ending.signal.aborted; i++) {
		world.shell(
			`mkdir -p churn; for n in 1 2 3 4 5 6 7 8 9; do rm -rf churn/$n; ${i % 2 ? "echo x > churn/$n" : "mkdir churn/$n; ln -s x churn/$n/l"}; done`,
		);
		await new Promise((done) => setImmediate(done));
	}
	const { lines, code } = await end;
	expect(code).toBe(0);
	expect(idsIn(lines).length).toBe(6);
	await using engine = await openEngine(world);
	for (const id of idsIn(lines))
		expect(engine.names(usable(await engine.rewind.store.resolve(id)))).toContain("captured");
	expectSound(world);
});

test("a worktree stage of another process is not captured", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write(join("dir", ".pi-rewind-stage-1-2-abcd", "new-0"), "x\n");
	expect(engine.names(await engine.capture())).toEqual(["a.txt", "dir/b.txt", "dir/c.txt"]);
});
