/** What we are compared with: git's own look at the working tree, and a capture the predecessor's way. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lineOf, personEnv, runGit } from "../../src/git/run.ts";

export async function gitStatus(root: string): Promise<void> {
	await runGit({
		args: ["status", "--porcelain", "-uall"],
		cwd: root,
		env: { ...personEnv(), GIT_OPTIONAL_LOCKS: "1" },
	});
}

/** Captures with a new, empty index each time, so every file is read and hashed. */
export interface FreshIndexCapture {
	/** Gives the tree. Nothing more is written when it is the one of the capture before. */
	capture(): Promise<string>;
	/** Tells it the tree of the files as they are now, as if it had captured them. */
	startFrom(tree: string): void;
}

const ref = "refs/bench/store";
const identity = {
	GIT_AUTHOR_NAME: "bench",
	GIT_AUTHOR_EMAIL: "bench@localhost",
	GIT_COMMITTER_NAME: "bench",
	GIT_COMMITTER_EMAIL: "bench@localhost",
};

export function createFreshIndexCapture(root: string): FreshIndexCapture {
	let lastTree = "";
	let tip = "";
	const emptyTree = execFileSync("git", ["hash-object", "-w", "-t", "tree", "/dev/null"], {
		cwd: root,
		encoding: "utf8",
	}).trim();

	async function capture(): Promise<string> {
		const folder = mkdtempSync(join(tmpdir(), "bench-index-"));
		const env = { ...personEnv(), ...identity, GIT_INDEX_FILE: join(folder, "index") };
		const git = async (...args: readonly string[]): Promise<string> =>
			lineOf((await runGit({ args, cwd: root, env })).stdout);
		try {
			await git("add", "-A");
			const tree = await git("write-tree");
			if (tree === lastTree) return tree;
			const snapshot = await git("commit-tree", tree, "-m", "snapshot");
			const parents = tip === "" ? ["-p", snapshot] : ["-p", tip, "-p", snapshot];
			const keep = await git("commit-tree", emptyTree, ...parents, "-m", "keep");
			await git("update-ref", ref, keep, ...(tip === "" ? [] : [tip]));
			tip = keep;
			lastTree = tree;
			return tree;
		} finally {
			rmSync(folder, { recursive: true, force: true });
		}
	}

	return { capture, startFrom: (tree) => void (lastTree = tree) };
}
