/**
 * Asks git which paths the rules of a snapshot ignored: its .gitignore files and the rules outside its tree.
 *
 * In a scratch working tree that holds only those files, `git check-ignore` answers for paths that are not there. [R7]
 */
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Snapshot } from "../core/coverage.ts";
import {
	type BytePath,
	bytePathOf,
	type ObjectId,
	parentPath,
	trustedObjectId,
} from "../core/ids.ts";
import { absolutePath } from "../disk/files.ts";
import type { RunHere } from "./listing.ts";
import type { Repository } from "./repository.ts";
import type { ObjectReader } from "./objects.ts";
import { nulRecords, privateEnv, runGit } from "./run.ts";

export interface IgnoreQuestion {
	readonly repository: Repository;
	readonly snapshot: Snapshot;
	readonly paths: readonly BytePath[];
	readonly git: RunHere;
	readonly objects: ObjectReader;
}

/** Those of `paths` that were ignored; they need not exist. */
export async function ignoredByRules(question: IgnoreQuestion): Promise<ReadonlySet<BytePath>> {
	const { snapshot, paths, git, objects } = question;
	const { privateDir, objectsDir, format } = question.repository;
	if (paths.length === 0) return new Set();
	const scratch = join(privateDir, `scratch-${process.pid}-${randomBytes(4).toString("hex")}`);
	const tree = join(scratch, "tree");
	const gitDir = join(scratch, "git");
	try {
		await mkdir(tree, { recursive: true });
		await mkdir(join(gitDir, "refs"), { recursive: true });
		await mkdir(join(gitDir, "info"), { recursive: true });
		const blob = async (id: ObjectId | undefined): Promise<Buffer> =>
			(id === undefined ? undefined : await objects.read(id))?.content ?? Buffer.alloc(0);
		const excludes = join(scratch, "excludes-file");
		await writeFile(excludes, await blob(snapshot.rules.excludesFile));
		await writeFile(join(gitDir, "info", "exclude"), await blob(snapshot.rules.infoExclude));
		await writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n");
		const version = format === "sha256" ? "1\n[extensions]\n\tobjectFormat = sha256" : "0";
		await writeFile(join(gitDir, "config"), `[core]\n\trepositoryformatversion = ${version}\n`);
		for (const [path, id] of await ignoreFilesOf(git, snapshot.tree)) {
			await mkdir(absolutePath(tree, parentPath(path)), { recursive: true });
			await writeFile(absolutePath(tree, path), await blob(id));
		}
		const { stdout } = await runGit({
			args: ["-c", `core.excludesFile=${excludes}`, "check-ignore", "--no-index", "-z", "--stdin"],
			cwd: tree,
			// check-ignore takes no pathspec magic, not even the wish for none; its paths are literal anyway.
			env: {
				...privateEnv({ gitDir, workTree: tree, objects: objectsDir }),
				GIT_LITERAL_PATHSPECS: "0",
			},
			stdin: Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1"),
			answers: [1], // none is ignored
		});
		return new Set(nulRecords(stdout).map(bytePathOf));
	} finally {
		await rm(scratch, { recursive: true, force: true });
	}
}

/** The .gitignore files of a tree; git reads none that is a symbolic link. */
async function ignoreFilesOf(git: RunHere, tree: ObjectId): Promise<Map<BytePath, ObjectId>> {
	const { stdout } = await git(["ls-tree", "-r", "-z", tree]);
	const files = new Map<BytePath, ObjectId>();
	for (const record of nulRecords(stdout)) {
		if (!/(^|\/|\t)\.gitignore$/.test(record) || !record.startsWith("100")) continue;
		const cut = record.indexOf("	");
		const [about, path] = [record.slice(0, cut), record.slice(cut + 1)];
		files.set(bytePathOf(path), trustedObjectId(about.split(" ")[2] ?? ""));
	}
	return files;
}
