/** Reads where the person's HEAD stands and whether an operation of theirs is under way. Never writes. [R6] */
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeObjectId, type ObjectId } from "../core/ids.ts";
import { errorCode } from "../disk/files.ts";
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
 * A capture must not wait for a process here: HEAD and its branch are read as files, loose or packed
 * (gitrepository-layout, git-pack-refs). What needs more - a branch that names another, a reftable - is asked of git.
 */
export async function headPosition(repository: Repository, person: RunHere): Promise<HeadPosition> {
	return (await readFiles(repository)) ?? askGit(repository, person);
}

/** Names that are plain ASCII, in the very form that git writes; absent for all else. */
const headForm = /^(?:ref: (refs\/heads\/[!-~]+)|([0-9a-f]+))\n$/;

async function readFiles(repository: Repository): Promise<HeadPosition | undefined> {
	const { refsAreFiles, gitDir, format } = repository;
	if (!refsAreFiles) return undefined;
	const file = join(gitDir, "HEAD");
	// As a link (core.preferSymlinkRefs) it names a branch, and has the content of that.
	const isLink = await lstat(file).then(
		(stats) => stats.isSymbolicLink(),
		() => true,
	);
	const [, branch, id] =
		(isLink ? undefined : headForm.exec((await readIfThere(file)) ?? "")) ?? [];
	const detached = id === undefined ? undefined : decodeObjectId(id, format);
	if (detached !== undefined) return { head: detached };
	if (branch === undefined) return undefined;
	const found = await branchHead(repository, branch);
	if (found === undefined) return undefined;
	return found === "unborn" ? { branch } : { head: found, branch };
}

/** A loose ref outranks a packed one. Absent where git has to be asked. */
async function branchHead(
	{ commonDir, format }: Repository,
	branch: string,
): Promise<ObjectId | "unborn" | undefined> {
	const loose = await readIfThere(join(commonDir, branch));
	if (loose !== undefined) return decodeObjectId(loose.trim(), format);
	const packed = await readIfThere(join(commonDir, "packed-refs"));
	// Nothing to read is not the same as no file.
	if (packed === "") return undefined;
	const end = packed?.indexOf(` ${branch}\n`) ?? -1;
	if (packed === undefined || end < 0) return "unborn";
	return decodeObjectId(packed.slice(packed.lastIndexOf("\n", end) + 1, end), format);
}

/** Bytes (latin1). Absent when there is no such file; empty when it cannot be read. */
async function readIfThere(file: string): Promise<string | undefined> {
	try {
		return await readFile(file, "latin1");
	} catch (error) {
		const code = errorCode(error);
		// A folder: branches below that name, or what was left of them.
		return code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR" ? undefined : "";
	}
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
