/** isomorphic-git, which shares no code with git, reads the snapshots: the same trees and bytes, loose and packed. */
import fs from "node:fs";
import { join } from "node:path";
import { readBlob, readCommit, readTree } from "isomorphic-git";
import { expect, test } from "vitest";
import { openWorld } from "../support/engine.ts";
import type { Snapshot } from "../../src/core/coverage.ts";
import type { World } from "../support/world.ts";

/** Path → mode and content, as isomorphic-git sees the commit. */
async function readAll(world: World, snapshot: Snapshot): Promise<Map<string, string>> {
	const repository = { fs, dir: world.root, gitdir: world.path(".git"), cache: {} };
	const { commit } = await readCommit({ ...repository, oid: snapshot.id });
	expect(commit.tree).toBe(snapshot.tree);
	const found = new Map<string, string>();
	const walk = async (oid: string, prefix: string): Promise<void> => {
		for (const entry of (await readTree({ ...repository, oid })).tree) {
			if (entry.type === "tree") await walk(entry.oid, `${prefix}${entry.path}/`);
			else {
				const { blob } = await readBlob({ ...repository, oid: entry.oid });
				found.set(prefix + entry.path, `${entry.mode} ${Buffer.from(blob).toString("hex")}`);
			}
		}
	};
	await walk(commit.tree, "");
	return found;
}

function onDisk(world: World, folder = "", found = new Map<string, string>()): Map<string, string> {
	for (const name of fs.readdirSync(join(world.root, folder))) {
		if (name === ".git") continue;
		const path = join(folder, name);
		const stat = fs.lstatSync(world.path(path));
		if (stat.isDirectory()) onDisk(world, path, found);
		else if (stat.isSymbolicLink())
			found.set(path, `120000 ${Buffer.from(fs.readlinkSync(world.path(path))).toString("hex")}`);
		else
			found.set(
				path,
				`${(stat.mode & 0o100) !== 0 ? "100755" : "100644"} ${fs.readFileSync(world.path(path)).toString("hex")}`,
			);
	}
	return found;
}

test("an independent reader finds in each snapshot what was on the disk, loose and packed [R14]", async () => {
	await using setup = await openWorld({ files: { ".gitattributes": "* text=auto ident\n" } });
	const { world, engine } = setup;
	const taken: [Snapshot, Map<string, string>][] = [];
	for (let i = 0; i < 4; i++) {
		world.write(`deep/${i}/é.txt`, `$Id$ ${i}\r\n`);
		world.write("same", `${i}\r\n\n`);
		world.write(`run-${i % 2}`, "#!\n", i % 2 ? 0o755 : 0o644);
		world.write("bin", Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * (i + 7)) % 256)));
		world.shell(`rm -f link; ln -s same-${i} link`);
		if (i === 3) world.remove("deep/0");
		taken.push([await engine.capture(), onDisk(world)]);
	}
	for (const pack of [false, true]) {
		if (pack) world.git("gc", "-q", "--prune=now");
		for (const [snapshot, disk] of taken) expect(await readAll(world, snapshot)).toEqual(disk);
	}
});
