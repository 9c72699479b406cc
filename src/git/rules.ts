/** The ignore rules outside the tree: the person's `info/exclude` and excludes file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { IgnoreRules } from "../core/coverage.ts";
import type { ObjectFormat } from "../core/ids.ts";
import { hashObject } from "./objects.ts";
import { writeAtomic } from "./private-dir.ts";
import type { Repository } from "./repository.ts";

/** The content of the files; empty when there is none, or none that can be read, which is the same to git. */
export interface RuleFiles {
	readonly infoExclude: Buffer;
	readonly excludesFile: Buffer;
}

/** Reads both, and keeps the private git dir's `info/exclude` in step. */
export async function readRuleFiles(repository: Repository, gitDir: string): Promise<RuleFiles> {
	const infoExclude = readOrEmpty(join(repository.commonDir, "info", "exclude"));
	const excludesFile =
		repository.excludesFile === "" ? Buffer.alloc(0) : readOrEmpty(repository.excludesFile);
	const ours = join(gitDir, "info", "exclude");
	if (!readOrEmpty(ours).equals(infoExclude)) await writeAtomic(ours, infoExclude);
	return { infoExclude, excludesFile };
}

function readOrEmpty(file: string): Buffer {
	try {
		return readFileSync(file);
	} catch {
		// To git, a file that cannot be read is one that is not there.
		return Buffer.alloc(0);
	}
}

/** The blob ids that a snapshot's coverage has for them. */
export function rulesOf(files: RuleFiles, format: ObjectFormat): IgnoreRules {
	const idOf = (content: Buffer) =>
		content.length === 0 ? undefined : hashObject(format, "blob", content);
	return { infoExclude: idOf(files.infoExclude), excludesFile: idOf(files.excludesFile) };
}
