/**
 * Writes objects through git, and checks that it wrote what was meant: the id is computed here too.
 */
import { RewindError } from "../core/errors.ts";
import { decodeObjectId, type ObjectFormat, type ObjectId } from "../core/ids.ts";
import { hashObject } from "./objects.ts";
import { lineOf, runGit } from "./run.ts";

export interface ObjectWriter {
	/** Makes an object durable in the repository's object store. One that is there already is freshened. */
	write(type: "blob" | "tree" | "commit", content: Buffer): Promise<ObjectId>;
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
		trusted,
	};
}
