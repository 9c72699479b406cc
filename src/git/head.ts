/** Reads where the person's HEAD stands and whether an operation of theirs is under way. Never writes. [R6] */
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeObjectId, type ObjectId } from "../core/ids.ts";
import type { RunHere } from "./listing.ts";
import type { Repository } from "./repository.ts";
import { lineOf } from "./run.ts";

export interface HeadPosition {
	/** Absent on an unborn branch. */
	readonly head?: ObjectId;
	/** Full ref name; absent when HEAD is detached. */
	readonly branch?: string;
}

/**
 * A capture must not wait for a process here: HEAD and a loose ref are read as files. What needs more - a packed
 * ref, a reftable - is asked of git.
 */
export async function headPosition(repository: Repository, person: RunHere): Promise<HeadPosition> {
	if (repository.refsAreFiles) {
		const text = await readFile(join(repository.gitDir, "HEAD"), "utf8").catch(() => "");
		const detached = decodeObjectId(text.trim(), repository.format);
		if (detached !== undefined) return { head: detached };
		const branch = /^ref: (refs\/[^\n]+)\n?$/.exec(text)?.[1];
		const loose =
			branch === undefined
				? ""
				: await readFile(join(repository.commonDir, branch), "utf8").catch(() => "");
		const head = decodeObjectId(loose.trim(), repository.format);
		if (branch !== undefined && head !== undefined) return { head, branch };
	}
	return askGit(repository, person);
}

async function askGit(repository: Repository, person: RunHere): Promise<HeadPosition> {
	const symbolic = await person(["symbolic-ref", "--quiet", "HEAD"], { answers: [1, 128] });
	const commit = await person(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], {
		answers: [1, 128],
	});
	const head = decodeObjectId(lineOf(commit.stdout), repository.format);
	return {
		...(commit.code === 0 && head !== undefined ? { head } : {}),
		...(symbolic.code === 0 ? { branch: lineOf(symbolic.stdout) } : {}),
	};
}

const operations: readonly (readonly [name: string, marks: readonly string[]])[] = [
	["rebase", ["rebase-merge", "rebase-apply"]],
	["merge", ["MERGE_HEAD"]],
	["cherry-pick", ["CHERRY_PICK_HEAD"]],
	["revert", ["REVERT_HEAD"]],
	["bisect", ["BISECT_LOG"]],
];

/** The name of an operation in progress: its files would be left in a state that nobody asked for. */
export async function operationInProgress(
	repository: Repository,
	person: RunHere,
): Promise<string | undefined> {
	for (const [name, marks] of operations) {
		for (const mark of marks) {
			const there = await lstat(join(repository.gitDir, mark)).then(
				() => true,
				() => false,
			);
			if (there) return name;
			// In a reftable these are refs, not files.
			if (!repository.refsAreFiles && mark.endsWith("_HEAD")) {
				const { code } = await person(["rev-parse", "--verify", "--quiet", mark], {
					answers: [1, 128],
				});
				if (code === 0) return name;
			}
		}
	}
	return undefined;
}
