/**
 * Any choice of the changes of a restore: what was shown is what changes, nothing else does, and its undo gives back
 * exactly that. Random edits on a real disk, the choice by the checklist's own model.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type BytePath, bytePathFromText } from "../../src/core/ids.ts";
import { plannedChanges } from "../../src/core/rewind.ts";
import {
	createSelection,
	pathsOf,
	pickedChanges,
	pickNone,
	toggleRow,
} from "../../src/core/selection.ts";
import { openEngine, owner, personState, expectSame } from "../support/engine.ts";
import { createWorld, type Picture, type World } from "../support/world.ts";

const name = fc.constantFrom("a", "b", "d", "é", "x y");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const edit = fc.record({
	kind: fc.constantFrom("write", "write", "write", "delete", "rename", "flip"),
	path,
	to: path,
	content: fc.constantFrom("", "1\n", "two\nlines\n", "\0\xff"),
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

function write(world: World, at: string, content: string | Buffer): void {
	const parts = at.split("/");
	for (let i = 1; i < parts.length; i++) {
		const parent = world.path(parts.slice(0, i).join("/"));
		if (lstatSync(parent, { throwIfNoEntry: false })?.isFile() === true) rmSync(parent);
	}
	rmSync(world.path(at), { recursive: true, force: true });
	mkdirSync(dirname(world.path(at)), { recursive: true });
	writeFileSync(world.path(at), content);
}

function apply(world: World, { kind, path: at, to, content }: Edit): void {
	const stat = existsSync(world.path(at)) ? lstatSync(world.path(at)) : undefined;
	if (kind === "write") write(world, at, content);
	else if (stat === undefined) return;
	else if (kind === "delete") rmSync(world.path(at), { recursive: true });
	else if (!stat.isFile()) return;
	else if (kind === "flip") chmodSync(world.path(at), stat.mode ^ 0o111);
	else if (kind === "rename" && !to.startsWith(`${at}/`) && to !== at) {
		const bytes = world.read(at) ?? "";
		rmSync(world.path(at));
		write(world, to, bytes);
	}
}

/** Files only; empty folders stand in no snapshot. */
const filesOf = (world: World): Picture =>
	new Map([...world.files()].filter(([at]) => !at.endsWith("/")));

const only = (picture: Picture, paths: ReadonlySet<BytePath>, inside: boolean): Picture =>
	new Map([...picture].filter(([at]) => paths.has(bytePathFromText(at)) === inside));

test("what was shown is what changes, and its undo gives back exactly that", async () => {
	const seed = Number(process.env["REWIND_SEED"] ?? 20_262);
	await fc.assert(
		fc.asyncProperty(
			fc.array(edit, { minLength: 2, maxLength: 8 }),
			fc.array(edit, { minLength: 2, maxLength: 8 }),
			fc.array(fc.nat(12), { maxLength: 5 }),
			edit,
			async (first, then, presses, later) => {
				await using world = createWorld({ files: { a: "0\n", "d/b": "0\n", "x y": "0\n" } });
				await using engine = await openEngine(world);
				const { rewind } = engine;
				const state = personState(world);
				for (const one of first) apply(world, one);
				const target = await engine.capture();
				const wanted = filesOf(world);
				for (const one of then) apply(world, one);
				const whole = await rewind.preview({ target, owner });
				const compared = await rewind.store.compare(whole.now, target);
				let selection = pickNone(createSelection(plannedChanges(compared, whole.plan)));
				for (const row of presses) selection = toggleRow(selection, row);
				const picked = pickedChanges(selection);

				const paths = pathsOf(picked);
				const part = await rewind.preview({ target, owner, from: whole.now, only: paths });
				const shown = plannedChanges(picked, part.plan);
				const before = filesOf(world);
				const restored = await rewind.perform(await rewind.prepare(part), owner);
				await restored.complete();
				const changed = pathsOf(shown);
				expectSame(only(before, changed, false), only(filesOf(world), changed, false));
				expectSame(only(wanted, changed, true), only(filesOf(world), changed, true));
				expect(new Set([...changed, ...part.plan.skips.map((skip) => skip.path)])).toEqual(paths);

				// What is done elsewhere meanwhile stays.
				write(world, `elsewhere/${later.path}`, later.content);
				const between = filesOf(world);
				await engine.undo(restored);
				expectSame(only(between, changed, false), only(filesOf(world), changed, false));
				expectSame(only(before, changed, true), only(filesOf(world), changed, true));
				expectSame(state, personState(world));
			},
		),
		{ numRuns: Number(process.env["REWIND_RUNS"] ?? 8), seed, endOnFailure: true },
	);
}, 300_000);
