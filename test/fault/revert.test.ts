/** A part that goes back: somebody writes in the middle of it, and kill -9 at every change to the disk. [R4] [R9] */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, expect, test } from "vitest";
import { enter, openWorld, owner, startChild } from "../support/engine.ts";

const { renameSync } = fs;
afterEach(() => {
	Reflect.set(fs, "renameSync", renameSync);
	syncBuiltinESMExports();
});

test("a file that is written after the first one went back takes all of it back [R4]", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a0\n", "b.txt": "b0\n" } });
	const { world, engine } = setup;
	const target = await engine.capture();
	world.shell("echo a1 > a.txt; echo b1 > b.txt");
	const before = world.files({ inodes: true });
	const shown = await engine.rewind.preview({ target, owner, asShown: true });
	const prepared = await engine.rewind.prepare(shown);
	let renames = 0;
	Reflect.set(fs, "renameSync", (from: fs.PathLike, to: fs.PathLike): void => {
		renameSync(from, to);
		if (++renames === 1) fs.writeFileSync(world.path("b.txt"), "mine\n");
	});
	syncBuiltinESMExports();
	const failed = await engine.rewind.perform(prepared, owner).catch((error: unknown) => error);
	expect(failed).toMatchObject({
		code: "restore-rolled-back",
		message: expect.stringContaining("b.txt changed while it was being restored"),
	});
	const after = world.files({ inodes: true });
	expect(after.get("a.txt")).toEqual(before.get("a.txt"));
	expect(world.read("b.txt")).toBe("mine\n");
	expect(await engine.rewind.interrupted()).toEqual([]);
});

test("a part that dies on its way is finished as that part, not as the whole file [R9]", async () => {
	await using setup = await openWorld({ files: { "a.txt": "whole\n" } });
	const { world, engine } = setup;
	const target = await engine.capture();
	world.write("a.txt", "now\n");
	let crashes = 0;
	for (let n = 1; n < 20; n++) {
		const end = await startChild(world, ["part", target.id, `kill:${n}`, "a.txt"]).ended;
		if (end.killedBy === null) break;
		enter(world.env);
		const [interrupted] = await engine.rewind.interrupted();
		if (interrupted === undefined) {
			// Before the journal was there.
			expect([n, world.read("a.txt")]).toEqual([n, "now\n"]);
			continue;
		}
		crashes++;
		const how = n % 2 === 1 ? "finish" : "roll-back";
		const restored = await engine.rewind.recover(interrupted, how, owner);
		await restored.complete();
		expect([n, world.read("a.txt")]).toEqual([n, how === "finish" ? "part\n" : "now\n"]);
		world.write("a.txt", "now\n");
	}
	expect(crashes).toBeGreaterThan(1);
	expect(world.read("a.txt")).toBe("part\n");
});
