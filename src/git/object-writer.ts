/**
 * Writes objects through git, and checks that it wrote what was meant: the id is computed here too.
 */
import { RewindError } from "../core/errors.ts";
import { decodeObjectId, type ObjectFormat, type ObjectId } from "../core/ids.ts";
import { hashObject } from "./objects.ts";
import { lineOf, runGit } from "./run.ts";

export interface ObjectWriter {
	/** Makes objects durable in the repository's object store; ids in the order of the bodies. */
	write(type: "blob" | "tree" | "commit", bodies: readonly Buffer[]): Promise<ObjectId[]>;
	/** An id that git printed; throws `git-failed` for anything else. */
	trusted(text: string): ObjectId;
}

export function createObjectWriter(
	format: ObjectFormat,
	cwd: string,
	env: NodeJS.ProcessEnv,
): ObjectWriter {
	const writer: ObjectWriter = {
		async write(type, bodies) {
			const ids: ObjectId[] = [];
			for (const stdin of bodies) {
				const args = ["hash-object", "-w", "-t", type, "--no-filters", "--stdin"];
				const id = writer.trusted(lineOf((await runGit({ args, cwd, env, stdin })).stdout));
				if (id !== hashObject(format, type, stdin))
					throw new RewindError("git-failed", `git wrote another ${type} than it was given`);
				ids.push(id);
			}
			return ids;
		},
		trusted(text) {
			const id = decodeObjectId(text, format);
			if (id !== undefined) return id;
			throw new RewindError("git-failed", `git printed no ${format} object id`, { data: { text } });
		},
	};
	return writer;
}
