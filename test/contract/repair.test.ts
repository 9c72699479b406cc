/** What is lost is found out, named, and made again where that can be done. [R1] */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ObjectId } from "../../src/core/ids.ts";
import {
	expectSame,
	expectSound,
	openEngine,
	openWorld,
	owner,
	skipped,
} from "../support/engine.ts";
import type { World } from "../support/world.ts";

const dropObject = (world: World, id: ObjectId): void =>
	rmSync(join(world.root, ".git/objects", id.slice(0, 2), id.slice(2)));

for (const lost of ["index", "HEAD", "young", "info/attributes", "config", "."])
	test(`the private ${lost === "." ? "git dir" : lost} can be lost: the next capture is the same state [R1]`, async () => {
		await using setup = await openWorld({
			files: { ".gitignore": "*.gen\n", a: "1\r\n", ".gitattributes": "* text=auto\n" },
		});
		const { world, engine } = setup;
		world.write("x.gen", "1\n");
		world.git("add", "-f", "x.gen");
		world.write("was-visible", "1\n");
		await engine.capture();
		world.write(".gitignore", "*.gen\nwas-visible\n");
		const before = await engine.capture();
		await engine.rewind.close();
		rmSync(join(world.root, ".git/pi-rewind/all", lost), { recursive: true });
		await using again = await openEngine(world);
		const after = await again.capture();
		expect(again.names(after)).toEqual(again.names(before));
		expect([after.tree, after.head?.worktree]).toEqual([before.tree, before.head?.worktree]);
		await again.resolve(before.id);
		expectSound(world);
	});

test("the private index lost under an open engine is made again [R1]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("u", "1\n");
	const first = await engine.capture();
	for (const damage of [
		"rm .git/pi-rewind/all/index",
		"echo torn > .git/pi-rewind/all/index",
		"rm -r .git/pi-rewind/all",
	]) {
		world.shell(damage);
		world.write("a.txt", `${damage}\n`);
		const next = await engine.capture();
		expect(engine.names(next)).toEqual(engine.names(first));
		await engine.restore(first);
		expect([world.read("a.txt"), world.read("u")]).toEqual(["a0\n", "1\n"]);
	}
});

test("a snapshot whose commit is gone is named as pruned; the others, and captures, go on (B63) [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("a.txt", "2\n");
	const second = await engine.capture();
	world.write("a.txt", "3\n");
	const third = await engine.capture();
	dropObject(world, second.id);
	expect(await engine.rewind.store.resolve(second.id)).toBe("pruned");
	await using again = await openEngine(world);
	expect(await again.rewind.store.resolve(second.id)).toBe("pruned");
	expect([(await again.resolve(first.id)).id, (await again.resolve(third.id)).id]).toEqual([
		first.id,
		third.id,
	]);
	world.write("a.txt", "4\n");
	await again.capture();
	await again.restore(await again.resolve(first.id));
	expect(world.read("a.txt")).toBe("a0\n");
});

test("content that is gone or damaged is found before anything changes (B19) [R9]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("x", "only here\n");
	world.write("y", "only here too\n");
	const first = await engine.capture();
	world.shell("echo 2 > x; echo 2 > y; echo 2 > a.txt; echo 2 > new");
	await engine.capture();
	const before = world.files({ inodes: true });
	const blob = world.git("rev-parse", `${first.tree}:y`).trim();
	const file = `.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`;
	world.shell(`cp ${file} ../saved; rm ${file}`);
	await expect(engine.restore(first)).rejects.toMatchObject({ code: "object-missing" });
	expectSame(before, world.files({ inodes: true }));
	// Another object's bytes under this name.
	const other = world.git("rev-parse", `${first.tree}:x`).trim();
	world.shell(`cp .git/objects/${other.slice(0, 2)}/${other.slice(2)} ${file}`);
	await expect(engine.restore(first)).rejects.toMatchObject({ kind: "corrupt" });
	expectSame(before, world.files({ inodes: true }));
	world.shell(`rm -f ${file}; cp ../saved ${file}`);
	await engine.restore(first);
	expect(world.read("y")).toBe("only here too\n");
});

test("gc, repack, prune and pack-refs, in any order, keep every snapshot (B19) [R2]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const ids: ObjectId[] = [];
	const chores = [
		"gc --prune=now",
		"repack -adf",
		"prune --expire=now",
		"pack-refs --all --prune",
		"reflog expire --expire=now --all",
		"maintenance run",
		"commit-graph write --reachable",
	];
	for (const [i, chore] of chores.entries()) {
		world.write("a.txt", `${i}\n`);
		ids.push((await engine.capture()).id);
		world.git(...chore.split(" "));
	}
	await using again = await openEngine(world);
	for (const [i, id] of ids.entries()) {
		await again.restore(await again.resolve(id));
		expect(world.read("a.txt")).toBe(`${i}\n`);
	}
	expectSound(world);
});

test("the ref deleted and everything pruned: captures start anew, and are whole [R2]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("u", "untracked\n");
	const lost = await engine.capture();
	world.git("update-ref", "-d", "refs/pi-rewind/store");
	world.git("gc", "-q", "--prune=now");
	expect(await engine.rewind.store.resolve(lost.id)).toBe("pruned");
	world.write("a.txt", "2\n");
	const next = await engine.capture();
	await engine.resolve(next.id);
	expect(engine.names(next)).toContain("u");
	expectSound(world);
});

test("an equal state whose snapshot is not kept any more is captured anew, and is whole [R2]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.git("update-ref", "-d", "refs/pi-rewind/store");
	const second = await engine.capture();
	await engine.resolve(second.id);
	world.git("gc", "-q", "--prune=now");
	await engine.resolve(second.id);
	expect(second.tree).toBe(first.tree);
	expectSound(world);
});

test("rules outside the tree are whole in every snapshot, also when an aborted capture wrote them first [R2]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	await engine.capture();
	world.write(".git/info/exclude", "# rules that only this capture knows\n*.zip\n");
	await expect(engine.rewind.capture({ owner, signal: AbortSignal.abort() })).rejects.toMatchObject(
		{ code: "aborted" },
	);
	world.git("gc", "-q", "--prune=now");
	const snapshot = await engine.capture();
	expectSound(world);
	world.git("gc", "-q", "--prune=now");
	await engine.resolve(snapshot.id);
});

test("an aborted capture leaves nothing that stops the next one [R12]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	await engine.capture();
	for (let ms = 0; ms < 200; ms += 20) {
		world.write("a.txt", `${ms}\n`);
		await engine.rewind.capture({ owner, signal: AbortSignal.timeout(ms) }).catch(() => undefined);
	}
	const last = await engine.capture();
	expect(world.git("cat-file", "blob", `${last.tree}:a.txt`)).toBe("180\n");
	expectSound(world);
});

test("a working tree that vanished is told as such, and gives no empty snapshot [R12]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	await engine.capture();
	world.shell("mv .git ../kept; rm -r a.txt dir");
	await expect(engine.rewind.capture({ owner })).rejects.toMatchObject({ kind: "environment" });
	world.shell("mv ../kept .git; echo back > a.txt");
	await engine.capture();
	execFileSync("mv", [world.root, `${world.root}-moved`]);
	await expect(engine.rewind.capture({ owner })).rejects.toMatchObject({ code: "root-vanished" });
	execFileSync("mv", [`${world.root}-moved`, world.root]);
	expect(engine.names(await engine.capture())).toEqual(["a.txt"]);
});

test("moving the repository keeps its points", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	await engine.rewind.close();
	world.shell("echo 2 > a.txt; mv ../repo ../moved; mkdir ../repo");
	await using moved = await openEngine(world, { cwd: join(world.at, "moved") });
	const restored = await moved.restore(await moved.resolve(first.id));
	expect(skipped(restored.skips)).toEqual({});
	expect(world.shell("cat ../moved/a.txt")).toBe("a0\n");
});
