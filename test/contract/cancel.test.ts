/** A restore that is cancelled before its first write changes nothing and leaves nothing behind; after it, it is done. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { isRewindError } from "../../src/core/errors.ts";
import { createWorktree } from "../../src/disk/worktree.ts";
import { createRewind, type PointOfNoReturn } from "../../src/engine/rewind.ts";
import { expectSame, openWorld, owner, personState, privateDir } from "../support/engine.ts";

const leftovers = (at: string): string[] =>
	readdirSync(at, { recursive: true, encoding: "utf8" }).filter((name) =>
		/stage|journal/.test(name),
	);

const code = (error: unknown): string | false => isRewindError(error) && error.code;

test("cancelled at any step before the first write: nothing changed, nothing left, and the next one works [R4]", async () => {
	await using setup = await openWorld({ files: { a: "a0\n", b: "b0\n", "d/c": "c0\n" } });
	const { world, engine } = setup;
	const start = await engine.capture();
	world.write("a", "a1\n");
	world.write("new", "n\n");
	world.remove("d/c");
	const state = personState(world);
	const before = world.files({ inodes: true, mtimes: true });
	const clean = leftovers(privateDir(world));
	const { rewind } = engine;
	const preview = await rewind.preview({ target: start, owner });

	/** The person presses Escape before, or while, the store answers. */
	async function cancelAt(call: "readBlobs" | "capture" | "changes", when: "before" | "after") {
		const abort = new AbortController();
		const store = new Proxy(rewind.store, {
			get(of, name) {
				const found: unknown = Reflect.get(of, name);
				if (name !== call || typeof found !== "function") return found;
				return async (...args: unknown[]) => {
					if (when === "before") abort.abort();
					const result: unknown = await Reflect.apply(found, of, args);
					abort.abort();
					return result;
				};
			},
		});
		const steps: string[] = [];
		const until: PointOfNoReturn = {
			signal: abort.signal,
			onReached: () => steps.push("reached"),
		};
		const { root } = engine;
		const worktree = createWorktree({
			root,
			privateDir: privateDir(world),
			format: "sha1",
			fileMode: true,
			cwd: root,
			now: Date.now,
		});
		const rigged = createRewind(store, worktree, Date.now);
		const outcome = await rigged
			.prepare(preview, abort.signal)
			.then((prepared) => rigged.perform(prepared, owner, until))
			.catch((error: unknown) => error);
		expect([call, when, code(outcome), steps]).toEqual([call, when, "aborted", []]);
	}

	for (const call of ["readBlobs", "capture", "changes"] as const)
		for (const when of ["before", "after"] as const) {
			await cancelAt(call, when);
			expectSame(before, world.files({ inodes: true, mtimes: true }));
			expect(leftovers(privateDir(world))).toEqual(clean);
		}
	expectSame(state, personState(world));
	await engine.restore(start);
	expect([world.read("a"), world.read("new"), world.read("d/c")]).toEqual([
		"a0\n",
		undefined,
		"c0\n",
	]);
});

test("from the first write on a restore is done to its end, whoever cancels it [R4]", async () => {
	await using setup = await openWorld({ files: { a: "a0\n", b: "b0\n" } });
	const { world, engine } = setup;
	const start = await engine.capture();
	world.write("a", "a1\n");
	world.remove("b");
	const { rewind } = engine;
	const abort = new AbortController();
	const prepared = await rewind.prepare(
		await rewind.preview({ target: start, owner }),
		abort.signal,
	);
	const restored = await rewind.perform(prepared, owner, {
		signal: abort.signal,
		onReached: () => abort.abort(),
	});
	await restored.complete();
	expect(restored.counts).toEqual({ changed: 1, added: 1, deleted: 0 });
	expect(restored.current).toBeDefined();
	expect([world.read("a"), world.read("b")]).toEqual(["a0\n", "b0\n"]);
});
