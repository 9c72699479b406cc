/** Looking at what changed since a point, and reverting any of it: what is shown is what goes back, and nothing else. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { displayPath } from "../../src/core/ids.ts";
import { pathsToRevert, reviewLine, type ReviewRow } from "../../src/core/review.ts";
import { lookNow } from "../../src/engine/offers.ts";
import {
	contentWithout,
	findPrompt,
	hunksOf,
	lookAt,
	type Review,
	weighRevert,
} from "../../src/engine/review.ts";
import type { Restored } from "../../src/engine/rewind.ts";
import { type Engine, expectSame, openWorld, owner, personState } from "../support/engine.ts";
import type { Snapshot } from "../../src/core/coverage.ts";
import type { Picture } from "../support/world.ts";

const never = new AbortController().signal;

async function look({ rewind }: Engine, point: Snapshot, latest?: Snapshot): Promise<Review> {
	const moment = await lookNow(rewind, owner, latest?.id);
	return lookAt(point.id, moment, rewind, owner, never);
}

async function revert(
	{ rewind }: Engine,
	review: Review,
	rows: readonly ReviewRow[],
	contents?: Awaited<ReturnType<typeof contentWithout>>,
): Promise<Restored> {
	const { preview } = await weighRevert(review, rows, rewind, owner, contents);
	if (preview === undefined) throw new Error("not weighed");
	const restored = await rewind.perform(await rewind.prepare(preview), owner);
	await restored.complete();
	return restored;
}

const lines = ({ rows }: Review): string[] => rows.map((row) => reviewLine(row, undefined));

test("rows say what is committed, changed since, and left alone", async () => {
	await using setup = await openWorld({
		files: { "a.txt": "a0\n", "b.txt": "b0\n", ".gitignore": "*.log\n" },
	});
	const { world, engine } = setup;
	world.write("old.log", "ignored\n");
	const point = await engine.capture();
	world.shell("echo a1 > a.txt; git commit -qam one; : > .gitignore; git mv b.txt c.txt");
	const latest = await engine.capture();
	world.write("a.txt", "a2\n");
	expect(lines(await look(engine, point, latest))).toEqual([
		"M .gitignore",
		"M a.txt · changed since the last answer",
		"R b.txt → c.txt",
		"A old.log · left alone: old.log (ignored at that point)",
	]);
	world.write("a.txt", "a1\n");
	expect(lines(await look(engine, point, latest))).toContain("M a.txt · committed");
});

test("any choice of rows goes back, nothing else does, and its undo gives back exactly that", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const state = personState(world);
	// Renames, folders that become files and back, bits, links, and a name that is no plain word.
	world.shell(
		"rm -rf * .git?*; seq 20 > moved; mkdir -p d/e; echo 1 > d/e/f; echo 1 > swap; echo 1 > bit; ln -s bit link; echo 1 > 'é x'; echo 1 > gone",
	);
	const point = await engine.capture();
	const old = world.files();
	world.shell(
		"mkdir n; mv moved n/moved; rm -r d; echo 2 > d; rm swap; mkdir swap; echo 2 > swap/f; chmod +x bit; ln -sf gone link; echo 2 > 'é x'; rm gone; echo 2 > new",
	);
	const now = world.files();
	const count = (await look(engine, point)).rows.length;
	expect(count).toBe(10);
	await fc.assert(
		fc.asyncProperty(fc.uniqueArray(fc.nat(count - 1), { minLength: 1 }), async (chosen) => {
			const review = await look(engine, point);
			const rows = review.rows.filter((_, i) => chosen.includes(i));
			const paths = new Set([...pathsToRevert(rows)].map(displayPath));
			const within = (picture: Picture, inside: boolean): Picture =>
				new Map([...picture].filter(([at]) => !at.endsWith("/") && paths.has(at) === inside));
			const restored = await revert(engine, review, rows);
			const left = new Set(restored.skips.map(({ path }) => displayPath(path)));
			const done = (picture: Picture): Picture =>
				new Map([...within(picture, true)].filter(([at]) => !left.has(at)));
			expectSame(within(now, false), within(world.files(), false));
			expectSame(done(old), done(world.files()));
			await engine.undo(restored);
			expectSame(now, world.files());
		}),
		{ numRuns: 8, seed: 20_261, endOnFailure: true },
	);
	expectSame(state, personState(world));
});

test("hunks of a file with carriage returns, without a last line feed, go back one by one", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const content = (changed: readonly number[]): string =>
		Array.from({ length: 40 }, (_, i) => `${changed.includes(i) ? "NEW" : "old"} ${i}`).join(
			"\r\n",
		);
	world.write("a.txt", content([]));
	const point = await engine.capture();
	world.write("a.txt", content([2, 20, 39]));
	const review = await look(engine, point);
	const [row] = review.rows;
	if (row === undefined) throw new Error("no row");
	const { store } = engine.rewind;
	const hunks = hunksOf(row, await store.patch(row.change));
	expect(hunks).toHaveLength(3);
	const contents = await contentWithout(row, hunks, new Set([0, 2]), store);
	const restored = await revert(engine, review, [row], contents);
	expect(world.read("a.txt")).toBe(content([20]));
	await engine.undo(restored);
	expect(world.read("a.txt")).toBe(content([2, 20, 39]));
});

test("only a text file that was changed in place has hunks to choose from", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.shell(
		"rm -rf *; printf 'a\\0b' > bin; echo 1 > text; echo 1 > mode; seq 50 > was; ln -s text link; echo 1 > gone; echo 1 > typed",
	);
	const point = await engine.capture();
	world.shell(
		"printf 'a\\0c' > bin; echo 2 > text; chmod +x mode; mv was is; echo 51 >> is; ln -sf mode link; rm gone; echo fresh > new; rm typed; ln -s text typed",
	);
	const { rows } = await look(engine, point);
	const withHunks: string[] = [];
	for (const row of rows)
		if (hunksOf(row, await engine.rewind.store.patch(row.change)).length > 0)
			withHunks.push(displayPath(row.change.path));
	expect(rows).toHaveLength(8);
	expect(withHunks).toEqual(["text"]);
});

test("the prompt that is looked at is the newest that changed files and whose point is there", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a0\n" } });
	const { world, engine } = setup;
	const zero = await engine.capture();
	world.write("a.txt", "a1\n");
	const one = await engine.capture();
	// Another commit, the same files.
	world.shell("git commit -qam one");
	const committed = await engine.capture();
	const { store } = engine.rewind;
	const first = { id: "first", text: "", at: 0, point: zero.id, after: one.id };
	const second = { id: "second", text: "", at: 0, point: one.id, after: committed.id };
	expect(await findPrompt([second, first], store)).toMatchObject({ prompt: { id: "first" } });
	world.write("a.txt", "a2\n");
	const after = (await engine.capture()).id;
	const third = { id: "third", text: "", at: 0, point: committed.id, after };
	expect(await findPrompt([third, second, first], store)).toMatchObject({
		prompt: { id: "third" },
	});
	world.shell("git update-ref -d refs/pi-rewind/store");
	expect(await findPrompt([third, second, first], store)).toBeUndefined();
});
