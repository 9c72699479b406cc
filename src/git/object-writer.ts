/**
 * Writes objects through git, and checks that it wrote what was meant: the id is computed here too.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RewindError } from "../core/errors.ts";
import { decodeObjectId, type ObjectFormat, type ObjectId } from "../core/ids.ts";
import { hashObject } from "./objects.ts";
import { lineOf, runGit } from "./run.ts";

export interface ObjectWriter {
	/** Makes an object durable in the repository's object store. One that is there already is freshened. */
	write(type: "blob" | "tree" | "commit", content: Buffer): Promise<ObjectId>;
	/** Makes many commits durable, in one process. */
	writeCommits(contents: readonly Buffer[]): Promise<void>;
	/** An id that git printed; throws `git-failed` for anything else. */
	trusted(text: string): ObjectId;
}

export function createObjectWriter(
	format: ObjectFormat,
	cwd: string,
	env: NodeJS.ProcessEnv,
): ObjectWriter {
	function trusted(text: string): ObjectId {
		const id = decodeObjectId(text, format);
		if (id !== undefined) return id;
		throw new RewindError("git-failed", `git printed no ${format} object id`, { data: { text } });
	}

	return {
		async write(type, content) {
			const args = ["hash-object", "-w", "-t", type, "--no-filters", "--stdin"];
			const id = trusted(lineOf((await runGit({ args, cwd, env, stdin: content })).stdout));
			if (id === hashObject(format, type, content)) return id;
			throw new RewindError("git-failed", `git wrote another ${type} than it was given`);
		},
		async writeCommits(contents) {
			// git reads one object from stdin, many only from files.
			const scratch = join(cwd, `scratch-${process.pid}-${randomBytes(4).toString("hex")}`);
			await mkdir(scratch, { recursive: true });
			try {
				const files = contents.map((_, i) => join(scratch, String(i)));
				await Promise.all(files.map((file, i) => writeFile(file, contents[i] ?? "")));
				const args = ["hash-object", "-w", "-t", "commit", "--stdin-paths"];
				const { stdout } = await runGit({ args, cwd, env, stdin: `${files.join("\n")}\n` });
				const ids = lineOf(stdout).split("\n");
				if (contents.every((content, i) => hashObject(format, "commit", content) === ids[i]))
					return;
				throw new RewindError("git-failed", "git wrote other commits than it was given");
			} finally {
				await rm(scratch, { recursive: true, force: true });
			}
		},
		trusted,
	};
}
