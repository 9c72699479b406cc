/** Restoring chosen paths, and taking that back: nothing else moves, whatever happened to it in between. */
import { expect, test } from "vitest";
import { bytePathFromText } from "../../src/core/ids.ts";
import { changesWithin, pathsOf } from "../../src/core/selection.ts";
import { pathsToUndo } from "../../src/engine/undo.ts";
import { expectSame, openWorld, owner, personState } from "../support/engine.ts";

test("an undo of chosen paths touches only them, and so does the undo of that [R5]", async () => {
	await using setup = await openWorld({ files: { a: "a0\n", b: "b0\n", "d/c": "c0\n" } });
	const { world, engine } = setup;
	const state = personState(world);
	const start = await engine.capture();
	world.write("a", "a1\n");
	world.write("b", "b1\n");
	world.write("new", "n1\n");
	world.remove("d/c");
	const restored = await engine.restore(start, { only: ["a", "new"] });
	expect(restored.counts).toEqual({ changed: 1, added: 0, deleted: 1 });
	expect([world.read("a"), world.read("b"), world.read("new"), world.read("d/c")]).toEqual([
		"a0\n",
		"b1\n",
		undefined,
		undefined,
	]);
	// What was left alone goes its own way.
	world.write("b", "b2\n");
	world.write("later", "l\n");
	const undone = await engine.undo(restored);
	expect([world.read("a"), world.read("b"), world.read("new"), world.read("later")]).toEqual([
		"a1\n",
		"b2\n",
		"n1\n",
		"l\n",
	]);
	world.write("b", "b3\n");
	await engine.undo(undone);
	expect([world.read("a"), world.read("b"), world.read("new"), world.read("later")]).toEqual([
		"a0\n",
		"b3\n",
		undefined,
		"l\n",
	]);
	expectSame(state, personState(world));
});

test("an undo of everything is of everything; one whose paths nobody can tell any more is refused", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const start = await engine.capture();
	world.write("a.txt", "1\n");
	const restored = await engine.restore(start);
	expect(restored.undoAfter).toBeUndefined();
	const before = await engine.resolve(restored.undo);
	const { store } = engine.rewind;
	expect(await pathsToUndo(store, before, restored.undoAfter)).toBeUndefined();
	expect(await pathsToUndo(store, before, start.tree)).toBe("pruned");
	expect(await pathsToUndo(store, before, start.id)).toEqual(new Set(["a.txt"]));
});

test("a rename that is shown as one row goes back as one", async () => {
	await using setup = await openWorld({ files: { "old.txt": "the same\ncontent\n", b: "b0\n" } });
	const { world, engine } = setup;
	const start = await engine.capture();
	world.remove("old.txt");
	world.write("new/name.txt", "the same\ncontent\n");
	world.write("b", "b1\n");
	const preview = await engine.rewind.preview({ target: start, owner });
	const planned = new Set(preview.plan.steps.map(({ path }) => path));
	const shown = await engine.rewind.store.compare(preview.now, preview.target);
	const rename = changesWithin(shown, planned).find(({ renamedFrom }) => renamedFrom !== undefined);
	expect(rename).toMatchObject({ path: "old.txt", renamedFrom: "new/name.txt" });
	const only = pathsOf(rename === undefined ? [] : [rename]);
	expect(only).toEqual(new Set(["old.txt", "new/name.txt"].map(bytePathFromText)));
	await engine.restore(start, { only });
	expect([world.read("old.txt"), world.read("new/name.txt"), world.read("b")]).toEqual([
		"the same\ncontent\n",
		undefined,
		"b1\n",
	]);
});
