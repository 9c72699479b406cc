/** An engine whose calls of git are written down, and what git itself would find. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { privateEnv } from "../../src/git/run.ts";
import { enter, gitBytes, openAt, owner, privateDir } from "./engine.ts";
import { watchGit } from "./git-wrapper.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** Longer than a change can be too young for its times to tell. */
export const ripe = (): Promise<void> => sleep(150);

/** Until it is disposed of, this process finds that git. */
export async function openWatched(options?: WorldOptions, maxFileBytes = 1_000) {
	const world = createWorld(options);
	enter(world.env);
	const watched = watchGit(world.at);
	const path = process.env["PATH"];
	process.env["PATH"] = watched.path;
	const opened = await openAt(world.root, { maxFileBytes });
	if (opened.kind !== "ready") throw new Error(opened.message);
	const { rewind } = opened;
	const capture = async () => (await rewind.capture({ owner })).snapshot;
	return {
		world,
		capture,
		/** Captures until git's memory stands, and a little longer. */
		async learn() {
			await capture();
			await ripe();
			await capture();
			await ripe();
			await capture();
		},
		calls: watched.calls,
		names: async () => namesOf(world, (await capture()).tree),
		async [Symbol.asyncDispose]() {
			await rewind.close();
			process.env["PATH"] = path;
			await world.end();
		},
	};
}

const namesOf = (world: World, tree: string): string[] =>
	gitBytes(world, ["ls-tree", "-r", "-z", "--name-only", tree])
		.toString("latin1")
		.split("\0")
		.filter(Boolean);

/** The tree of all files that are not ignored, by an index that knows nothing. */
export function freshTree(world: World): string {
	const index = join(world.at, "fresh-index");
	world.shell(`rm -f '${index}'; export GIT_INDEX_FILE='${index}'; git add -A . 2> /dev/null`);
	return world.shell(`GIT_INDEX_FILE='${index}' git write-tree`).trim();
}

/**
 * What git finds that is not in the last snapshot, by an index that knows nothing else: every file is compared by its
 * content, every folder is read.
 */
export function foundByGit(world: World): string {
	const gitDir = privateDir(world);
	const dirs = {
		gitDir: join(gitDir, "all"),
		workTree: world.root,
		objects: world.path(".git/objects"),
		indexFile: join(world.at, "suspicious-index"),
	};
	const git = (...args: readonly string[]): string =>
		execFileSync("git", args, { cwd: world.root, env: privateEnv(dirs), encoding: "utf8" });
	git("read-tree", "HEAD");
	return git("status", "--porcelain", "--no-renames", "-uall");
}

/** Those by which git looks at the working tree. */
export const listings = (calls: readonly string[]): string[] =>
	calls.filter((call) => /^(?:status|ls-files)/.test(call));
