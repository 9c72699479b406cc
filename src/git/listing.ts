/**
 * Asks git what changed in the working tree since the private index, and what the person's index says.
 *
 * One contract, so that a faster finder can take its place: names in, names out, nothing is read or staged here.
 */
import { RewindError } from "../core/errors.ts";
import type { BytePath } from "../core/ids.ts";
import { bytePathOf, parentPaths } from "../core/ids.ts";
import { type GitResult, type GitRun, nulRecords, runGit, stderrMaxNamed } from "./run.ts";

/** Runs git somewhere: the private git dir, or the person's own. */
export type RunHere = (
	args: readonly string[],
	more?: Pick<GitRun, "stdin" | "answers" | "timeoutMs" | "signal" | "stderrMax">,
) => Promise<GitResult>;

export interface Listing {
	/** In the private index, and different on the disk (or gone from it). */
	readonly changed: readonly BytePath[];
	/** Not in the private index and not ignored. */
	readonly untracked: readonly BytePath[];
	/** Untracked folders, not looked into; without the trailing slash. Nested repositories are among them. */
	readonly folders: readonly BytePath[];
	/** Folders and files that could not be looked at. */
	readonly unreadable: readonly BytePath[];
	/**
	 * Paths of which the index has something else than the private HEAD: a capture was cut off between the two, or left the
	 * index as it was.
	 */
	readonly unequal: readonly BytePath[];
	/** Paths of which it may have nothing, but the private HEAD has. */
	readonly missing: readonly BytePath[];
	/** By whom it was found: git compares whole seconds (2.39) and content, memory all of the times and nothing else. */
	readonly by: "git" | "memory";
}

/** A first capture, or one after an index was lost, reads every file. */
const firstCaptureMs = 30 * 60_000;

export async function listChanges(
	git: RunHere,
	withUntracked: boolean,
	signal: AbortSignal | undefined,
): Promise<Listing> {
	// -unormal: only this form uses the untracked cache; folders come collapsed.
	const untrackedFiles = withUntracked ? "-unormal" : "-uno";
	const said = await git(
		["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=none", untrackedFiles],
		{ signal, timeoutMs: firstCaptureMs, stderrMax: stderrMaxNamed },
	);
	const changed: BytePath[] = [];
	const untracked: BytePath[] = [];
	const folders: BytePath[] = [];
	const unequal: BytePath[] = [];
	const missing: BytePath[] = [];
	for (const record of nulRecords(said.stdout)) {
		const path = record.slice(3);
		if (record.startsWith("??")) {
			if (path.endsWith("/")) folders.push(bytePathOf(path.slice(0, -1)));
			else untracked.push(bytePathOf(path));
			continue;
		}
		if (record[0] === "D") missing.push(bytePathOf(path));
		else if (record[0] !== " ") unequal.push(bytePathOf(path));
		if (record[1] !== " ") changed.push(bytePathOf(path));
	}
	return {
		changed,
		untracked,
		folders,
		unreadable: unreadableIn(said),
		unequal,
		missing,
		by: "git",
	};
}

/** git goes on past what it cannot read and says so in words; names stand there as they are. */
function unreadableIn({ stderr, stderrCut }: GitResult): BytePath[] {
	// [R7] Names that were lost would be taken for deleted.
	if (stderrCut) throw new RewindError("git-failed", "Too many files and folders cannot be read");
	const patterns = [
		/^warning: could not open directory '(.*?)\/?': (?:Permission denied|Input\/output error)$/gm,
		/^error: open\("(.*)"\): Permission denied$/gm,
		/^(?:error: )?(.+): Permission denied$/gm,
	];
	const found = new Set<BytePath>();
	for (const pattern of patterns)
		for (const [, path] of stderr.matchAll(pattern))
			// The last pattern also fits the lines of the others, quotes and all.
			if (
				path !== undefined &&
				!(pattern === patterns.at(-1) && /^(?:warning: |open\(")/.test(path))
			)
				found.add(bytePathOf(path));
	return [...found];
}

/** Arguments are bounded; beyond this many folders one listing of everything is cheaper. */
const foldersMax = 200;

/** All untracked, not ignored files below folders. Nested repositories come as `path/`. */
export async function listFolders(
	git: RunHere,
	folders: readonly BytePath[],
	signal: AbortSignal | undefined,
): Promise<BytePath[]> {
	if (folders.length === 0) return [];
	// Arguments are text to Node: a name that is not UTF-8 cannot be one, so everything is listed then.
	const asText = folders.map((path) => Buffer.from(path, "latin1").toString("utf8"));
	const exact = folders.every(
		(path, i) => Buffer.from(asText[i] ?? "", "utf8").toString("latin1") === path,
	);
	const some = exact && folders.length <= foldersMax ? asText.map((path) => `${path}/`) : [];
	const { stdout } = await git(["ls-files", "-o", "-z", "--exclude-standard", "--", ...some], {
		signal,
		timeoutMs: firstCaptureMs,
	});
	return nulRecords(stdout).map(bytePathOf);
}

/** Everything in an index. */
export async function listIndex(git: RunHere): Promise<BytePath[]> {
	return nulRecords((await git(["ls-files", "-c", "-z"])).stdout).map(bytePathOf);
}

/** What the person's index tracks although it is ignored. */
export async function listTrackedIgnored(person: RunHere): Promise<BytePath[]> {
	const { stdout } = await person(["ls-files", "-c", "-i", "-z", "--exclude-standard"]);
	return nulRecords(stdout).map(bytePathOf);
}

/**
 * What the person's sparse checkout leaves off the disk (skip-worktree): as few names as say it, a folder that is off
 * as a whole as `folder/`.
 */
export async function listSparse(person: RunHere): Promise<string[]> {
	const { stdout } = await person(["ls-files", "-t", "-z"]);
	const off: BytePath[] = [];
	const live = new Set<BytePath>();
	for (const record of nulRecords(stdout)) {
		const path = bytePathOf(record.slice(2));
		if (record.startsWith("S ")) off.push(path);
		else for (const parent of parentPaths(path)) live.add(parent);
	}
	const names = off.map((path) => {
		const top = parentPaths(path)
			.filter((parent) => !live.has(parent))
			.at(-1);
		return top === undefined ? path : `${top}/`;
	});
	return [...new Set(names)].toSorted();
}

/**
 * For what looks at trees only: git's diff-tree reads the index all the same, which takes longer than the comparison.
 */
export const withoutIndex = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
	...env,
	GIT_INDEX_FILE: `${env["GIT_DIR"] ?? ""}/no-index`,
});

/** A runner for one place. */
export const runIn =
	(cwd: string, env: NodeJS.ProcessEnv, prefix: readonly string[] = []): RunHere =>
	(args, more) =>
		runGit({ args: [...prefix, ...args], cwd, env, ...more });
