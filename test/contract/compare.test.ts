/** Two snapshots compared for people: marks, renames, line counts and hunks, as the bytes have it. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type FileChange, markOf } from "../../src/core/changes.ts";
import { displayPath } from "../../src/core/ids.ts";
import { openWorld } from "../support/engine.ts";

const rows = (changes: readonly FileChange[]): string[] =>
	changes.map((change) => {
		const from = change.renamedFrom === undefined ? "" : `${displayPath(change.renamedFrom)} → `;
		return `${markOf(change)} ${from}${displayPath(change.path)}`;
	});

test("changes are marked, renames paired and lines counted", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.shell(
		"rm -rf *; seq 100 > moved; seq 9 > edited; echo x > 'a\tb'; echo gone > gone; printf 'a\\0b' > bin; echo x > mode",
	);
	const before = await engine.capture();
	world.shell(
		"mkdir d; mv moved d/renamed; echo 101 >> d/renamed; sed -i s/5/five/ edited; rm gone; printf 'a\\0c' > bin; printf 'new\\nfile' > new; chmod +x mode; echo y >> 'a\tb'; : > empty",
	);
	const after = await engine.capture();
	const { store } = engine.rewind;
	const changes = await store.compare(before, after);
	expect(rows(changes)).toEqual([
		"M a\\tb",
		"M bin",
		"R moved → d/renamed",
		"M edited",
		"A empty",
		"D gone",
		"M mode",
		"A new",
	]);
	const counts = await store.lineCounts(before, after);
	const lines = [...counts].map(([path, { added, removed }]) => [
		displayPath(path),
		`+${added} -${removed}`,
	]);
	expect(Object.fromEntries(lines)).toEqual({
		"a\\tb": "+1 -0",
		"d/renamed": "+1 -0",
		edited: "+1 -1",
		empty: "+0 -0",
		gone: "+0 -1",
		mode: "+0 -0",
		new: "+2 -0",
	});
	expect(await store.compare(after, after)).toEqual([]);
});

test("hunks are those of the bytes, and say where there are none to show", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	// What the repository says of diffs has no say. [R13]
	world.shell(
		"echo '* diff=mine working-tree-encoding=UTF-16' > .gitattributes; git config diff.mine.command 'touch ran'; git config diff.mine.textconv 'touch ran'",
	);
	world.shell(
		"printf 'one\\r\\ntwo\\r\\n' > crlf; printf 'caf\\351\\n' > latin; printf 'a\\0' > bin",
	);
	writeFileSync(join(world.root, "large"), "x".repeat(3 << 20));
	const before = await engine.capture();
	world.shell(
		"printf 'one\\r\\n2\\r\\n' > crlf; printf 'caf\\350' > latin; printf 'b\\0' > bin; echo >> large; : > empty; rm .gitattributes; mkdir n; cd n; git init -q; git commit -q --allow-empty -m n",
	);
	const after = await engine.capture();
	const { store } = engine.rewind;
	const changes = await store.compare(before, after);
	const patches = new Map<string, string>();
	for (const change of changes) {
		const patch = await store.patch(change);
		patches.set(
			displayPath(change.path),
			patch.kind === "text"
				? patch.hunks.toString("latin1")
				: `${patch.kind} ${patch.fromSize} ${patch.toSize}`,
		);
	}
	expect(Object.fromEntries(patches)).toEqual({
		".gitattributes": "@@ -1 +0,0 @@\n-* diff=mine working-tree-encoding=UTF-16\n",
		bin: "binary 2 2",
		crlf: "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n",
		empty: "",
		large: `oversized ${3 << 20} ${(3 << 20) + 1}`,
		latin: "@@ -1 +1 @@\n-caf\xe9\n+caf\xe8\n\\ No newline at end of file\n",
	});
	expect(() => readFileSync(join(world.root, "ran"))).toThrow(/ENOENT/);
});

test("what is written as content can be read back, and is not kept by itself", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const id = await engine.rewind.store.writeBlob(Buffer.from("caf\xe9\r\n", "latin1"));
	const shown = execFileSync("git", ["cat-file", "blob", id], { cwd: world.root, env: world.env });
	expect(shown.toString("latin1")).toBe("caf\xe9\r\n");
});

test("what a commit since then has is told from what none has, and from what was committed before", async () => {
	await using setup = await openWorld({
		files: { "same.txt": "s\n", "gone.txt": "g\n", "kept.txt": "k\n", "back.txt": "b\n" },
	});
	const { world, engine } = setup;
	world.shell("echo mine > back.txt; echo mine > untracked.txt");
	const before = await engine.capture();
	const { store } = engine.rewind;
	// Thrown away, not committed.
	world.shell("git checkout -q back.txt; rm untracked.txt");
	expect(await store.uncommitted(before, await engine.capture())).toBeUndefined();
	world.shell(
		"echo committed > same.txt; git rm -q gone.txt; git add -A; git commit -qm two; echo k1 > kept.txt; echo new > new.txt",
	);
	const uncommitted = await store.uncommitted(before, await engine.capture());
	expect([...(uncommitted ?? [])].toSorted()).toEqual([
		"back.txt",
		"kept.txt",
		"new.txt",
		"untracked.txt",
	]);
});
