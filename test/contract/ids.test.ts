/** Ids come out of session files, which anybody may have written: only a kept snapshot of this working tree is one. */
import { expect, test } from "vitest";
import { decodeAnyObjectId, trustedObjectId } from "../../src/core/ids.ts";
import { expectSame, openEngine, openWorld, personState } from "../support/engine.ts";

test("text that is no full object id is none at all: options, refs, short, long, upper case [R13]", () => {
	const id = "a".repeat(40);
	const crafted = [
		"--output=x",
		"HEAD",
		"refs/heads/main",
		"refs/pi-rewind/store",
		id.slice(0, 12),
		`${id}a`,
		id.toUpperCase(),
		`${id}\n`,
		`${id.slice(0, 38)}^{`,
		` ${id.slice(1)}`,
		"",
		[id],
		{ length: 40 },
		null,
	];
	expect(crafted.map(decodeAnyObjectId)).toEqual(crafted.map(() => undefined));
	expect(decodeAnyObjectId(id)).toBe(id);
});

test("ids that are not kept snapshots are refused, whatever they name, and nothing changes [R13]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const snapshot = await engine.capture();
	const store = world.git("rev-parse", "refs/pi-rewind/store");
	const unkept = world.git("commit-tree", "-m", "rewind snapshot", snapshot.tree);
	world.git("tag", "-a", "tagged", "-m", "t", snapshot.id);
	const state = personState(world);
	const crafted = {
		commit: world.git("rev-parse", "HEAD"),
		tree: snapshot.tree,
		blob: world.git("rev-parse", "HEAD:a.txt"),
		tag: world.git("rev-parse", "tagged"),
		keep: store,
		coverage: String(snapshot.coverageId),
		unkept,
		unknown: "1".repeat(40),
		zero: "0".repeat(40),
		otherFormat: "1".repeat(64),
	};
	// Also by an engine that did not make them.
	await using fresh = await openEngine(world);
	for (const { store: each } of [engine.rewind, fresh.rewind]) {
		for (const [name, text] of Object.entries(crafted)) {
			const answer = await each.resolve(trustedObjectId(text.trim()));
			expect([name, typeof answer]).toEqual([name, "string"]);
		}
		expect(typeof (await each.resolve(snapshot.id))).toBe("object");
	}
	expectSame(state, personState(world));
});

test("a snapshot of another working tree of the same repository is refused by name [R13]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.git("worktree", "add", "-q", "../linked");
	const linked = await openEngine(world, { cwd: `${world.at}/linked` });
	const theirs = await linked.capture();
	await linked.rewind.close();
	expect(await engine.rewind.store.resolve(theirs.id)).toBe("other-worktree");
	expect((await engine.resolve((await engine.capture()).id)).head?.scope).toBe("all");
});

test("a commit that claims to be a snapshot but has no readable coverage is not one [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const real = await engine.capture();
	const message = world.git("log", "-1", "--format=%B", real.id);
	const parent = world.git("rev-parse", "HEAD").trim();
	const forged = world.git("commit-tree", "-p", parent, "-m", message, real.tree).trim();
	const store = world.git("rev-parse", "refs/pi-rewind/store").trim();
	const empty = world.git("hash-object", "-t", "tree", "/dev/null").trim();
	const keep = world.git("commit-tree", "-p", store, "-p", forged, "-m", "rewind keep", empty);
	world.git("update-ref", "refs/pi-rewind/store", keep.trim());
	expect(await engine.rewind.store.resolve(trustedObjectId(forged))).toBe("not-a-snapshot");
	expect((await engine.resolve(real.id)).id).toBe(real.id);
});
