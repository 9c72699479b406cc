/**
 * Random edits on a real disk, against what git itself would take: a capture is the tree of `git add` with all conversion
 * off, a restore reaches its target, an undo gives back what was there.
 *
 * Empty folders are left out of the pictures: no snapshot holds them (B116).
 */
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
	type Engine,
	expectSame,
	expectSound,
	openEngine,
	personState,
} from "../support/engine.ts";
import { createWorld, type Picture, type World } from "../support/world.ts";

const name = fc.constantFrom("a", "b", "d", "e.log", "é", "x y");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const content = fc.constantFrom("", "1\n", "2\n", "1\r\n2\n", "$Id$\n", "\0\xff");
const edit = fc.oneof(
	{ weight: 6, arbitrary: fc.record({ kind: fc.constant("write" as const), path, content }) },
	{ weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), path }) },
	{
		weight: 2,
		arbitrary: fc.record({
			kind: fc.constant("link" as const),
			path,
			to: fc.constantFrom("a", "../d", "nowhere"),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("flip" as const), path }) },
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("rename" as const), path, to: path }) },
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant("ignore" as const),
			folder: fc.constantFrom("", "d/"),
			rules: fc.constantFrom("*.log\n", "b\n", "", "!e.log\n"),
		}),
	},
);
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

/** Makes room for something at a path: what is in its way, above or at it, goes. */
function clear(world: World, at: string): void {
	const parts = at.split("/");
	for (let i = 1; i < parts.length; i++) {
		const parent = world.path(parts.slice(0, i).join("/"));
		const stat = lstatSync(parent, { throwIfNoEntry: false });
		if (stat !== undefined && !stat.isDirectory()) rmSync(parent);
	}
	rmSync(world.path(at), { recursive: true, force: true });
	mkdirSync(dirname(world.path(at)), { recursive: true });
}

function isReal(world: World, at: string): boolean {
	const parts = at.split("/");
	return parts.every((_, i) => {
		const stat = lstatSync(world.path(parts.slice(0, i + 1).join("/")), { throwIfNoEntry: false });
		return stat !== undefined && (i === parts.length - 1 || stat.isDirectory());
	});
}

function apply(world: World, one: Edit): void {
	if (one.kind === "write") {
		clear(world, one.path);
		writeFileSync(world.path(one.path), one.content, "latin1");
	} else if (one.kind === "link") {
		clear(world, one.path);
		symlinkSync(one.to, world.path(one.path));
	} else if (one.kind === "ignore") {
		clear(world, `${one.folder}.gitignore`);
		writeFileSync(world.path(`${one.folder}.gitignore`), one.rules);
	} else if (!isReal(world, one.path)) return;
	else if (one.kind === "delete") rmSync(world.path(one.path), { recursive: true });
	else if (one.kind === "flip") {
		const stat = lstatSync(world.path(one.path));
		if (stat.isFile()) chmodSync(world.path(one.path), stat.mode ^ 0o111);
	} else if (
		!one.to.startsWith(`${one.path}/`) &&
		!one.path.startsWith(`${one.to}/`) &&
		one.to !== one.path
	) {
		clear(world, one.to);
		if (isReal(world, one.path)) world.shell(`mv -T -- '${one.path}' '${one.to}'`);
	}
}

/** What `git add` takes into a fresh index without any conversion, with what was captured before. */
function oracle(world: World, before: ReadonlySet<string>): string {
	const clean = join(world.at, "oracle");
	rmSync(clean, { recursive: true, force: true });
	world.shell(
		`git init -q --bare '${clean}'; mkdir -p '${clean}/info'; echo '* -text -ident -filter !working-tree-encoding !eol' > '${clean}/info/attributes'`,
	);
	const env = `GIT_DIR='${clean}' GIT_WORK_TREE='${world.root}'`;
	world.shell(`${env} git add -A .`);
	// Once covered, a file that became ignored stays covered until it is gone.
	for (const each of before)
		if (isReal(world, each) && !lstatSync(world.path(each)).isDirectory())
			world.shell(`${env} git add -f -- '${each}'`);
	return world.shell(`${env} git write-tree`).trim();
}

/** Files and links only, without what is ignored and was never covered. */
const filesOf = (world: World): Picture =>
	new Map([...world.files()].filter(([at]) => !at.endsWith("/")));

/** The part of a picture that a snapshot holds. */
const heldBy = (picture: Picture, names: readonly string[]): Picture => {
	const held = new Set(names.map((each) => Buffer.from(each, "latin1").toString("utf8")));
	return new Map([...picture].filter(([at]) => held.has(at)));
};

test(
	"a capture is what git would take, a restore reaches it, an undo gives all of it back [R5] [R14]",
	{ timeout: 300_000 },
	async () => {
		const seed = Number(process.env["REWIND_SEED"] ?? 20_261);
		await fc.assert(
			fc.asyncProperty(
				fc.array(edit, { maxLength: 8 }),
				fc.array(edit, { minLength: 1, maxLength: 8 }),
				fc.array(edit, { minLength: 1, maxLength: 8 }),
				async (...rounds) => {
					await using world = createWorld({
						files: { ".gitattributes": "* text=auto ident\n", a: "0\n", "d/b": "0\n" },
					});
					await using engine = await openEngine(world);
					const state = personState(world);
					const taken: {
						snapshot: Awaited<ReturnType<Engine["capture"]>>;
						names: string[];
						picture: Picture;
					}[] = [];
					let covered: ReadonlySet<string> = new Set(["a", "d/b", ".gitattributes"]);
					for (const round of rounds) {
						for (const one of round) apply(world, one);
						const snapshot = await engine.capture();
						const names = engine.names(snapshot);
						const wanted = oracle(world, covered);
						if (snapshot.tree !== wanted) {
							const env = `GIT_ALTERNATE_OBJECT_DIRECTORIES='${world.at}/oracle/objects'`;
							expect(
								world.shell(`${env} git diff --raw --no-renames ${snapshot.tree} ${wanted}`),
							).toBe("");
						}
						covered = new Set([
							...names.map((each) => Buffer.from(each, "latin1").toString("utf8")),
							"a",
							"d/b",
							".gitattributes",
						]);
						taken.push({ snapshot, names, picture: filesOf(world) });
					}
					const end = filesOf(world);
					for (const { snapshot, names, picture } of taken.slice(0, 2)) {
						const restored = await engine.restore(snapshot);
						const now = filesOf(world);
						const left = new Set(
							restored.skips.map(({ path }) => Buffer.from(path, "latin1").toString("utf8")),
						);
						const without = (each: Picture): Picture =>
							new Map([...each].filter(([at]) => !left.has(at)));
						// All of the target is there, but for the named skips …
						expectSame(without(heldBy(picture, names)), without(heldBy(now, names)));
						// … and nothing else of what both covered.
						const after = await engine.capture();
						const extra = engine.names(after).filter((each) => !names.includes(each));
						expect(
							extra.filter((each) => !left.has(Buffer.from(each, "latin1").toString("utf8"))),
						).toEqual([]);
						await engine.undo(restored);
						expectSame(end, filesOf(world));
					}
					expectSame(state, personState(world));
					expectSound(world);
					expect(existsSync(world.path(".git/index.lock"))).toBe(false);
				},
			),
			{ numRuns: Number(process.env["REWIND_RUNS"] ?? 5), seed, endOnFailure: true },
		);
	},
);
