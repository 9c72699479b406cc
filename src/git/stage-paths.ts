/**
 * Stages paths in the private index, byte for byte; one path that git cannot take never costs the others.
 */
import type { NotCovered } from "../core/coverage.ts";
import { isRewindError, RewindError } from "../core/errors.ts";
import { type BytePath, bytePathOf, type ObjectFormat } from "../core/ids.ts";
import type { TreeEntry } from "../core/plan.ts";
import type { RunHere } from "./listing.ts";
import { zeroId } from "./objects.ts";
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

/** What the index gets first, with no stat data: git reads such a file anew, whatever its times say. Absent: no entry. */
export type IndexEdits = ReadonlyMap<BytePath, TreeEntry | undefined>;

export async function stagePaths(
	git: RunHere,
	format: ObjectFormat,
	first: IndexEdits,
	stage: readonly BytePath[],
	signal: AbortSignal | undefined,
): Promise<StageResult> {
	if (first.size > 0) {
		const lines = [...first].map(([path, entry]) =>
			entry === undefined
				? `0 ${zeroId(format)}\t${path}`
				: `${entry.mode.toString(8)} ${entry.id}\t${path}`,
		);
		// What goes goes first: a folder may be in the way of a file, or the other way round.
		const sorted = lines.toSorted(
			(a, b) => Number(b.startsWith("0 ")) - Number(a.startsWith("0 ")),
		);
		await git(["update-index", "-z", "--index-info"], { stdin: nulList(sorted), signal });
	}
	const failed: NotCovered[] = [];
	if (stage.length > 0) await stageAll(git, stage, failed, signal);
	return { changedIndex: stage.length + first.size > 0, failed };
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

const nulList = (records: readonly string[]): Buffer =>
	Buffer.from(records.map((record) => `${record}\0`).join(""), "latin1");
