/** Bytes are bytes, names are bytes, and permission bits come back no wider than they were. */
import { chmodSync, lstatSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { displayPath } from "../../src/core/ids.ts";
import {
	expectSame,
	expectSound,
	gitBytes,
	openEngine,
	openWorld,
	skipped,
} from "../support/engine.ts";
import { createWorld } from "../support/world.ts";

test("content is byte-exact under autocrlf, eol, ident, re-encoding and filters [R14]", async () => {
	await using setup = await openWorld({
		files: {},
		gitConfig:
			'[user]\n\tname = T\n\temail = t@example.com\n[core]\n\tautocrlf = true\n\tsafecrlf = true\n[filter "lfs"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n\trequired = true\n',
	});
	const { world, engine } = setup;
	world.write(
		".gitattributes",
		"* text=auto\n*.crlf text eol=crlf\n*.lf text eol=lf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE eol=crlf\n*.big filter=lfs diff=lfs merge=lfs -text\n[attr]macro filter=lfs ident\n*.mac macro\n",
	);
	const mixed = "one\r\ntwo\nthree\r\n";
	const contents: Record<string, string | Buffer> = {
		"m.txt": mixed,
		"m.crlf": mixed,
		"m.lf": mixed,
		"m.id": "$Id$ and $Id: 0123 $\n",
		"m.u16": Buffer.from("h\0i\0\n\0", "latin1"),
		"m.big": "MixedCase\n",
		"m.mac": "$Id$ MixedCase\n",
		"bin.dat": Buffer.from([0, 13, 10, 255, 13, 10]),
		"empty.txt": "",
	};
	for (const [name, content] of Object.entries(contents)) world.write(name, content);
	const before = world.files();
	const first = await engine.capture();
	for (const [name, content] of Object.entries(contents))
		expect(gitBytes(world, ["cat-file", "blob", `${first.tree}:${name}`])).toEqual(
			Buffer.from(content),
		);
	for (const name of Object.keys(contents)) world.write(name, "$Id$ Other\r\n");
	await engine.capture();
	await engine.restore(first);
	expectSame(before, world.files());
	expect(readFileSync(world.path("m.txt"), "latin1")).toBe(mixed);
});

test("a change of line endings alone is a change [R14]", async () => {
	await using setup = await openWorld({
		files: { ".gitattributes": "* text=auto\n", "a.txt": "1\r\n2\n" },
	});
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("a.txt", "1\n2\n");
	expect((await engine.capture()).tree).not.toBe(first.tree);
	await engine.restore(first);
	expect(world.read("a.txt")).toBe("1\r\n2\n");
});

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

test("names that are not UTF-8, or hold newlines, quotes and pathspec magic, come back exactly [R14]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const names = [
		bytes("\xff\xfe.bin"),
		bytes("caf\xe9/\xe9t\xe9.txt"),
		bytes("caf\xe9/z"),
		Buffer.from("日本語/ファイル"),
		Buffer.from("e\u0301-nfd"),
		Buffer.from("\u00e9-nfc"),
		Buffer.from("new\nline/and\ttab"),
		Buffer.from('"quoted"'),
		Buffer.from(":(glob)*.txt"),
		Buffer.from(":!a.txt"),
		Buffer.from("--output=x"),
		Buffer.from("-"),
		Buffer.from("back\\slash"),
		Buffer.from(" lead and trail "),
		Buffer.from("*"),
		Buffer.from("[a].txt"),
		Buffer.from("..."),
		Buffer.from("a.git"),
		Buffer.from("con"),
		Buffer.from("x".repeat(255)),
	];
	for (const name of names) world.write(name, `of ${name.toString("hex")}\n`);
	symlinkSync(bytes("targ\xe9t"), join(world.root, "odd-link"));
	const full = world.files();
	const first = await engine.capture();
	expect(engine.names(first).length).toBe(names.length + 1 + 3);
	for (const name of names) world.write(name, "changed\n");
	const changed = world.files();
	const restored = await engine.restore(first);
	expectSame(full, world.files());
	await engine.undo(restored);
	expectSame(changed, world.files());

	world.shell("find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +");
	const back = await engine.restore(first);
	expect(skipped(back.skips)).toEqual({});
	expectSame(full, world.files());
	expect(readlinkSync(join(world.root, "odd-link"), { encoding: "buffer" })).toEqual(
		bytes("targ\xe9t"),
	);
	expectSound(world);
});

test("names that only other systems mind are ordinary ones [R14]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	for (const name of ["git~1", "con", "a:b", "dot.", "gi\u200ct"]) world.write(name, "1\n");
	const before = world.files();
	const first = await engine.capture();
	expect(first.coverage.notCovered).toEqual([]);
	for (const name of ["git~1", "con", "a:b", "dot.", "gi\u200ct"]) world.remove(name);
	await engine.restore(first);
	expectSame(before, world.files());
});

test("names that git takes nowhere are named as not covered, and never deleted [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write(".GIT/hook", "x\n");
	world.write("dir/.Git", "y\n");
	const first = await engine.capture();
	const listed = first.coverage.notCovered.map(({ path }) => displayPath(path)).toSorted();
	expect(listed).toEqual([".GIT/hook", "dir/.Git"]);
	world.write("a.txt", "changed\n");
	const before = world.files({ skip: (path) => path === "a.txt" });
	await engine.restore(first);
	expectSame(before, world.files({ skip: (path) => path === "a.txt" }));
	expect(world.read("a.txt")).toBe("a0\n");
});

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

test("a private file that was deleted comes back private, and an executable one executable [R7]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.write("secret", "s\n", 0o600);
	world.write("run", "#!\n", 0o700);
	world.write("tool", "#!\n", 0o755);
	world.write("group", "g\n", 0o660);
	const before = world.files();
	const first = await engine.capture();
	for (const name of ["secret", "run", "tool", "group"]) world.remove(name);
	await engine.capture();
	const restored = await engine.restore(first);
	expectSame(before, world.files());
	await engine.undo(restored);
	await engine.restore(first);
	expectSame(before, world.files());
});

test("bits set after a capture are kept by a delete and its undo: the restore looks first [R4]", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a\n" } });
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("token", "t\n");
	await engine.capture();
	chmodSync(world.path("token"), 0o600);
	const before = world.files();
	const restored = await engine.restore(first);
	expect(world.read("token")).toBe(undefined);
	await engine.undo(restored);
	expectSame(before, world.files());
});

test("bits of a file are kept where only its content is restored", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	world.write("a.txt", "changed\n", 0o640);
	world.write("dir/b.txt", "changed\n", 0o444);
	await engine.restore(first);
	expect([modeOf(world.path("a.txt")), modeOf(world.path("dir/b.txt"))]).toEqual(["640", "444"]);
	expect(world.read("a.txt")).toBe("a0\n");
});

test("the executable bit alone is restored in place: same inode, same times", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const first = await engine.capture();
	const before = lstatSync(world.path("a.txt"));
	chmodSync(world.path("a.txt"), 0o755);
	const restored = await engine.restore(first);
	const after = lstatSync(world.path("a.txt"));
	expect([after.ino, after.mtimeMs, after.mode]).toEqual([before.ino, before.mtimeMs, before.mode]);
	await engine.undo(restored);
	expect(modeOf(world.path("a.txt"))).toBe("755");
});

test("with core.fileMode=false executable bits are nobody's change and survive a restore", async () => {
	await using world = createWorld();
	world.git("config", "core.fileMode", "false");
	await using engine = await openEngine(world);
	const first = await engine.capture();
	chmodSync(world.path("a.txt"), 0o755);
	chmodSync(world.path("dir/b.txt"), 0o755);
	expect((await engine.capture()).id).toBe(first.id);
	world.write("a.txt", "changed\n");
	const restored = await engine.restore(first);
	expect(restored.counts).toEqual({ changed: 1, added: 0, deleted: 0 });
	expect(world.read("a.txt")).toBe("a0\n");
	expect(modeOf(world.path("dir/b.txt"))).toBe("755");
});
