/**
 * Stages paths in the private index, byte for byte; one path that git cannot take never costs the others.
 */
import type { NotCovered } from "../core/coverage.ts";
import { isRewindError, RewindError } from "../core/errors.ts";
import { type BytePath, bytePathOf } from "../core/ids.ts";
import type { RunHere } from "./listing.ts";
import { stderrMaxNamed } from "./run.ts";

export interface StageResult {
	readonly changedIndex: boolean;
	/** What git could not take, with the reason. */
	readonly failed: readonly NotCovered[];
}

/** More failing paths than this are no exceptions any more. */
const failedMax = 200;
/** Hashing a whole working tree for the first time takes its time. */
const stageMs = 60 * 60_000;

export async function stagePaths(
	git: RunHere,
	stage: readonly BytePath[],
	drop: readonly BytePath[],
	signal: AbortSignal | undefined,
): Promise<StageResult> {
	if (drop.length > 0)
		await git(["update-index", "-z", "--force-remove", "--stdin"], {
			stdin: nulList(drop),
			signal,
		});
	const failed: NotCovered[] = [];
	if (stage.length > 0) await stageAll(git, stage, failed, signal);
	return { changedIndex: stage.length + drop.length > 0, failed };
}

/** git gives up at the first path that fails: halves are tried until that path is alone. */
async function stageAll(
	git: RunHere,
	paths: readonly BytePath[],
	failed: NotCovered[],
	signal: AbortSignal | undefined,
): Promise<void> {
	try {
		const args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
		const { stderr, stderrCut } = await git(args, {
			stdin: nulList(paths),
			signal,
			timeoutMs: stageMs,
			stderrMax: stderrMaxNamed,
		});
		if (stderrCut)
			throw new RewindError("git-failed", "Too many files have names that git does not take");
		// Names with a `.git` in them, in any case of letters, are left out by git with a word and exit code 0.
		for (const [, path] of stderr.matchAll(/^Ignoring path (.*)$/gm))
			if (path !== undefined) failed.push({ path: bytePathOf(path), reason: "unsupported-name" });
	} catch (error) {
		if (!isRewindError(error) || error.code !== "git-failed") throw error;
		if (
			/index\.lock|Unable to write new index|unable to write|insufficient permission/i.test(
				String(error.data["stderr"]),
			)
		)
			throw error;
		const [only] = paths;
		if (paths.length === 1 && only !== undefined) {
			const said = String(error.data["stderr"]);
			failed.push({
				path: only,
				reason: /Permission denied/.test(said) ? "unreadable" : "vanished",
			});
			if (failed.length > failedMax)
				throw new RewindError("git-failed", `Over ${failedMax} files cannot be read`, {
					cause: error,
				});
			return;
		}
		const half = paths.length >> 1;
		await stageAll(git, paths.slice(0, half), failed, signal);
		await stageAll(git, paths.slice(half), failed, signal);
	}
}

const nulList = (paths: readonly BytePath[]): Buffer =>
	Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
