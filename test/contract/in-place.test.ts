/** Where only the content of captured files changed, a capture is one write of objects and one move of the ref. */
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { expectSound, gitBytes, openEngine, privateDir } from "../support/engine.ts";
import { wrapGit } from "../support/git-wrapper.ts";
import { foundByGit, freshTree, listings, openWatched, ripe } from "../support/watched.ts";
import { createWorld, type World } from "../support/world.ts";

const indexOf = (world: World): Buffer => readFileSync(join(privateDir(world), "all/index"));

/** `--git-dir x -c a=b update-ref y` is `update-ref`. */
const verbs = (calls: readonly string[]): string[] =>
	calls.map((call) => /^(?:-c \S+ |--\S+ \S+ )*(\S+)/.exec(call)?.[1] ?? call);

const manyFiles =
	"for i in $(seq 0 149); do mkdir -p many/$((i % 10)); echo $i > many/$((i % 10))/$i; done";

test.each([1, 150])(
	"%i edits: git's own tree, in two processes, and the index stays as it is",
	async (count) => {
		await using setup = await openWatched();
		const { world, capture, learn, calls } = setup;
		world.shell(`${manyFiles}; chmod +x many/3/13`);
		await learn();
		// The process that reads trees stays.
		world.write("many/0/0", "read\n");
		await capture();
		for (let i = 0; i < count; i++) world.write(`many/${i % 10}/${i}`, `${i}, edited\n`);
		await ripe();
		const index = indexOf(world);
		calls();
		const { tree } = await capture();
		expect(verbs(calls())).toEqual(["unpack-objects", "update-ref"]);
		expect(indexOf(world).equals(index)).toBe(true);
		expect(tree).toBe(freshTree(world));
		expect(foundByGit(world)).toBe("");
		expectSound(world);
	},
);

test("a new file in a folder that is there: git lists, and that is all that it does with the index", async () => {
	await using setup = await openWatched();
	const { world, capture, learn, calls, names } = setup;
	world.shell("ln -s a.txt dir/link");
	await learn();
	for (const name of ["dir/new", "-x", "dir.txt", "dir/a b"]) {
		world.write(name, `${name}\n`);
		world.shell("ln -sfn nowhere dir/link");
		await ripe();
		calls();
		const { tree } = await capture();
		expect(verbs(calls()).filter((verb) => verb !== "status" && verb !== "cat-file")).toEqual([
			"unpack-objects",
			"update-ref",
		]);
		expect(tree).toBe(freshTree(world));
		await ripe();
	}
	// Whatever becomes of it then.
	world.write("dir/new", "in place\n");
	await capture();
	expect(foundByGit(world)).toBe("");
	world.shell("head -c 2000 /dev/zero > dir/new");
	expect(await names()).not.toContain("dir/new");
	world.shell("rm dir/new -- -x; mkdir dir/new; echo x > dir/new/-x; echo 'a b' > .gitignore");
	await capture();
	expect(foundByGit(world)).toBe("");
	// Captured before it was ignored.
	world.write("dir/a b", "ignored, edited\n");
	expect(await names()).toContain("dir/a b");
	await using other = await openEngine(world);
	const { tree } = await other.capture();
	expect(gitBytes(world, ["show", `${tree}:dir/a b`]).toString()).toBe("ignored, edited\n");
	expectSound(world);
});

test("an executable bit alone, one with content, and a file that was only touched", async () => {
	await using setup = await openWatched();
	const { world, capture, learn, calls } = setup;
	await learn();
	chmodSync(world.path("a.txt"), 0o755);
	world.write("dir/b.txt", "#!\n");
	chmodSync(world.path("dir/b.txt"), 0o755);
	world.shell("touch -d '1 hour ago' dir/c.txt");
	await ripe();
	calls();
	const { tree } = await capture();
	expect(listings(calls())).toEqual([]);
	expect(tree).toBe(freshTree(world));
	expect(
		gitBytes(world, ["ls-tree", "-r", tree])
			.toString()
			.match(/^100755/gm),
	).toHaveLength(2);
});

test("with core.fileMode=false an edit does not change which files are executable", async () => {
	await using setup = await openWatched();
	const { world, capture } = setup;
	world.shell("chmod +x a.txt dir/b.txt; git commit -qam executable");
	await capture();
	world.git("config", "core.fileMode", "false");
	await using without = await openEngine(world);
	await without.capture();
	await ripe();
	await without.capture();
	await ripe();
	world.write("a.txt", "edited\n");
	chmodSync(world.path("a.txt"), 0o644);
	const { tree } = await without.capture();
	expect(
		gitBytes(world, ["ls-tree", "-r", tree])
			.toString()
			.match(/^100755/gm),
	).toHaveLength(2);
	expect(gitBytes(world, ["show", `${tree}:a.txt`]).toString()).toBe("edited\n");
});

test("what cannot be looked at any more stays as it was captured without the index [R11]", async () => {
	await using setup = await openWatched();
	const { world, capture, learn } = setup;
	world.write("gone", "g\n");
	await learn();
	world.write("dir/b.txt", "edited\n");
	world.write("dir/new", "n\n");
	await ripe();
	const before = await capture();
	world.git("add", "dir", "gone");
	world.git("commit", "-qm", "edited");
	world.shell("git sparse-checkout set --no-cone /a.txt /gone 2> /dev/null");
	// What is gone goes through the index.
	world.remove("gone");
	const { tree } = await capture();
	const args = ["diff-tree", "-r", "--name-status", before.tree, tree];
	expect(gitBytes(world, args).toString()).toBe("D\tgone\n");
	world.git("sparse-checkout", "disable");
	expect((await capture()).tree).toBe(freshTree(world));
});

test("who comes after finds what was captured without the index, and what changed since", async () => {
	await using setup = await openWatched();
	const { world, capture, learn, calls } = setup;
	await learn();
	calls();
	for (const content of ["1\n", "2\n", "3\n"]) {
		world.write("a.txt", content);
		await capture();
	}
	expect(listings(calls())).toEqual([]);
	await using other = await openEngine(world);
	const same = await other.capture();
	expect(same.tree).toBe(freshTree(world));
	// Of the same size, in the same second as what the index has of it.
	world.write("a.txt", "4\n");
	world.write("new", "n\n");
	expect((await other.capture()).tree).toBe(freshTree(world));
	world.write("a.txt", "5\n");
	expect((await capture()).tree).toBe(freshTree(world));
});

test.each(["the ref", "the ref, and all that only it kept"])(
	"%s is gone between two captures: the next one is whole",
	async (what) => {
		await using setup = await openWatched();
		const { world, capture, learn } = setup;
		world.write("dir/deep/only-here", "1\n");
		await learn();
		world.write("a.txt", "edited\n");
		await capture();
		world.git("update-ref", "-d", "refs/pi-rewind/store");
		if (what !== "the ref") world.git("prune", "--expire=now");
		world.write("a.txt", "edited again\n");
		await ripe();
		expect((await capture()).tree).toBe(freshTree(world));
		expectSound(world);
		world.git("gc", "-q", "--prune=now");
		expectSound(world);
	},
);

test("a git gc after the ref was removed and everything pruned finds all that the ref reaches since", async () => {
	await using setup = await openWatched();
	const { world, capture, learn } = setup;
	await learn();
	world.shell("git update-ref -d refs/pi-rewind/store; git gc -q --prune=now");
	await ripe();
	const { id } = await capture();
	world.git("merge-base", "--is-ancestor", id, "refs/pi-rewind/store");
	expectSound(world);
	world.git("gc", "-q", "--prune=now");
	await using other = await openEngine(world);
	expect((await other.capture()).tree).toBe(freshTree(world));
	expectSound(world);
});

test("a repack that began before the ref moved takes nothing of it, however much was written", async () => {
	await using setup = await openWatched();
	const { world, capture, learn } = setup;
	world.shell(manyFiles);
	await learn();
	for (let i = 0; i < 150; i++) world.write(`many/${i % 10}/${i}`, `${i}, edited\n`);
	await capture();
	// Of a pack that came while it looked at the refs, a repack would keep what they reached then: nothing.
	expect(world.shell("ls .git/objects/pack").trim()).toBe("");
	expectSound(world);
});

test.each(["a new file", "an edit and its undoing"])(
	"who works with a copy of the index while its owner moves on has the files as they are: %s",
	async (what) => {
		await using world = createWorld();
		const path = process.env["PATH"];
		const [go, slow] = [join(world.at, "go"), join(world.at, "slow")];
		// The copy's owner asks only when the other is done; the other holds the lock for longer than anybody waits.
		const script = `
			if [ -n "$GIT_INDEX_FILE" ] && [ "$1" = status ]; then while [ ! -e '${go}' ]; do sleep 0.05; done; fi
			if [ -e '${slow}' ] && [ "$1" = unpack-objects ]; then rm -f '${slow}'; sleep 5; fi`;
		Object.assign(world.env, { PATH: wrapGit(world.at, script) });
		try {
			await using owner = await openEngine(world);
			await using other = await openEngine(world);
			for (let i = 0; i < 3; i++) await owner.capture().then(ripe);
			if (what !== "a new file") {
				world.write("a.txt", "1\n");
				for (let i = 0; i < 3; i++) await owner.capture().then(() => sleep(1_500));
			}
			writeFileSync(slow, "");
			if (what === "a new file") world.write("new", "n\n");
			else world.write("a.txt", "a0\n");
			const owned = owner.capture().finally(() => writeFileSync(go, ""));
			await sleep(400);
			const [one, two] = await Promise.all([owned, other.capture()]);
			expect([one.tree, two.tree]).toEqual([freshTree(world), freshTree(world)]);
		} finally {
			process.env["PATH"] = path;
		}
	},
);

/** A capture that does its work in the index, and then cannot move the ref. */
async function failedCapture(world: World, capture: () => Promise<unknown>): Promise<void> {
	const lock = world.path(".git/refs/pi-rewind/store.lock");
	world.shell(`touch -d '+1 hour' '${lock}'`);
	await expect(capture()).rejects.toThrow(/could not be moved/);
	rmSync(lock);
}

test.each(["before", "after a capture that failed"])(
	"a folder that becomes another repository leaves the snapshot with all that was captured in it: %s",
	async (when) => {
		await using setup = await openWatched();
		const { world, capture, learn, names } = setup;
		world.write("nd/a", "a\n");
		await learn();
		world.write("nd/b", "b\n");
		await capture();
		world.shell("git init -q nd");
		if (when === "before") world.remove("nd/a");
		else {
			world.write("nd/c", "c\n");
			await failedCapture(world, capture);
		}
		const first = await capture();
		expect(first.coverage.notCovered).toMatchObject([{ path: "nd/" }]);
		expect((await names()).filter((name) => name.startsWith("nd"))).toEqual([]);
		expect((await capture()).id).toBe(first.id);
		await using other = await openEngine(world);
		expect((await other.capture()).id).toBe(first.id);
	},
);

test("names that git takes into no index come into no tree, and are named [R7]", async () => {
	await using setup = await openWatched();
	const { world, capture, learn } = setup;
	await learn();
	world.shell("ln -s a.txt .gitmodules; ln -s a.txt dir/.GIT; echo x > dir/.Git; echo y > dir/ok");
	const first = await capture();
	expect(first.coverage.notCovered.map(({ path, reason }) => [path, reason])).toEqual([
		[".gitmodules", "unsupported-name"],
		["dir/.GIT", "unsupported-name"],
		["dir/.Git", "unsupported-name"],
	]);
	await ripe();
	expect((await capture()).id).toBe(first.id);
	expectSound(world);
});

test("what left the scope stays out of it also when a capture failed in between", async () => {
	await using world = createWorld();
	await using engine = await openEngine(world, { includeUntracked: false });
	await engine.capture();
	world.git("rm", "-q", "--cached", "dir/b.txt");
	await failedCapture(world, engine.capture);
	const first = await engine.capture();
	expect(engine.names(first)).toEqual(["a.txt", "dir/c.txt"]);
	expect((await engine.capture()).id).toBe(first.id);
	world.shell("rm a.txt; mkdir a.txt; echo untracked > a.txt/in");
	expect(engine.names(await engine.capture())).toEqual(["dir/c.txt"]);
});

test("a tracked file that is ignored and was too large for a while is named, comes back, and is not deleted", async () => {
	await using world = createWorld();
	world.write(".gitignore", "a.txt\n");
	await using engine = await openEngine(world, { maxFileBytes: 1_000 });
	await engine.capture();
	world.shell("head -c 2000 /dev/zero > a.txt");
	const large = await engine.capture();
	const same = await engine.capture();
	expect([same.id, same.coverage.notCovered]).toEqual([
		large.id,
		[{ path: "a.txt", reason: "too-large", size: 2_000 }],
	]);
	world.write("a.txt", "small\n");
	expect(engine.names(await engine.capture())).toContain("a.txt");
	await engine.restore(large);
	expect(world.read("a.txt")).toBe("small\n");
});

test("a tree that is damaged is not built upon", async () => {
	await using setup = await openWatched();
	const { world, capture, learn } = setup;
	world.write("ours/x", "1\n");
	await learn();
	const { tree } = await capture();
	const ours = world.git("rev-parse", `${tree}:ours`).trim();
	rmSync(world.path(`.git/objects/${ours.slice(0, 2)}/${ours.slice(2)}`));
	world.write("ours/x", "edited\n");
	await ripe();
	const after = await capture();
	expect(after.tree).toBe(freshTree(world));
	// The one before stays damaged.
	world.git("rev-list", "--objects", after.id);
});
