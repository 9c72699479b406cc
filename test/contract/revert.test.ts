/** Taking back a part of what changed: chosen paths, a part of one file, and only as it was shown. */
import { expect, test } from "vitest";
import { type BytePath, bytePathFromText } from "../../src/core/ids.ts";
import type { RestoreRequest, Restored } from "../../src/engine/rewind.ts";
import type { Snapshot } from "../../src/core/coverage.ts";
import {
	type Engine,
	expectSame,
	expectSound,
	openWorld,
	owner,
	personState,
} from "../support/engine.ts";

const paths = (...names: readonly string[]): ReadonlySet<BytePath> =>
	new Set(names.map(bytePathFromText));

async function revert(
	{ rewind }: Engine,
	target: Snapshot,
	request: Partial<RestoreRequest>,
	during?: () => void,
): Promise<Restored> {
	const from = (await rewind.capture({ owner })).snapshot;
	const shown = await rewind.preview({ target, owner, from, asShown: true, ...request });
	const prepared = await rewind.prepare(shown);
	during?.();
	const restored = await rewind.perform(prepared, owner);
	await restored.complete();
	return restored;
}

test("content that is given stands in for the target's; bits stay, and an undo gives it back [R14]", async () => {
	await using setup = await openWorld({ files: { "a.txt": "one\r\ntwo\n", "b.txt": "b0\n" } });
	const { world, engine } = setup;
	world.shell("chmod 600 a.txt");
	const target = await engine.capture();
	world.write("a.txt", "ONE\r\nTWO\n");
	world.write("b.txt", "b1\n");
	world.shell("chmod 700 a.txt");
	const before = world.files({ inodes: true });
	const state = personState(world);
	const id = await engine.rewind.store.writeBlob(Buffer.from("one\r\nTWO\n"));
	const contents = new Map([[bytePathFromText("a.txt"), id]]);
	const restored = await revert(engine, target, { only: paths("a.txt"), contents });
	expect(restored).toMatchObject({ counts: { changed: 1, added: 0, deleted: 0 }, skips: [] });
	expect(world.read("a.txt")).toBe("one\r\nTWO\n");
	expect(world.shell("stat -c %a a.txt").trim()).toBe("700");
	// The other file was not so much as opened.
	expect(world.files({ inodes: true }).get("b.txt")).toEqual(before.get("b.txt"));
	await engine.undo(restored);
	expect(world.read("a.txt")).toBe("ONE\r\nTWO\n");
	expectSame(state, personState(world));
	expectSound(world);
});

test("content that the file holds already is nothing to do", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a0\n" } });
	const { world, engine } = setup;
	const target = await engine.capture();
	world.write("a.txt", "a1\n");
	const id = await engine.rewind.store.writeBlob(Buffer.from("a1\n"));
	const contents = new Map([[bytePathFromText("a.txt"), id]]);
	const shown = await engine.rewind.preview({ target, owner, contents });
	expect(shown.plan).toMatchObject({ steps: [], skips: [] });
});

test.each([
	["is edited", "echo mine > b.txt"],
	["goes", "rm b.txt"],
	["becomes a link", "ln -sf a.txt b.txt"],
	["comes back at a place that was deleted", "echo mine > gone.txt"],
	["becomes executable", "chmod +x b.txt"],
])("a path that %s since it was shown refuses all of it [R4]", async (_, script) => {
	await using setup = await openWorld({
		files: { "a.txt": "a0\n", "b.txt": "b0\n", "gone.txt": "g\n" },
	});
	const { world, engine } = setup;
	const target = await engine.capture();
	world.shell("echo a1 > a.txt; echo b1 > b.txt; rm gone.txt; echo new > new.txt");
	let before = world.files({ inodes: true });
	const failed = await revert(engine, target, {}, () => {
		world.shell(script);
		before = world.files({ inodes: true });
	}).catch((error: unknown) => error);
	expect(failed).toMatchObject({ code: "files-changed" });
	expectSame(before, world.files({ inodes: true }));
	expect(await engine.rewind.interrupted()).toEqual([]);
	// What is not part of it may change.
	const restored = await revert(engine, target, { only: paths("a.txt") }, () =>
		world.write("new.txt", "newer\n"),
	);
	expect(restored.skips).toEqual([]);
	expect(world.read("a.txt")).toBe("a0\n");
	expect(world.read("new.txt")).toBe("newer\n");
});
