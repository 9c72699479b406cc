/**
 * Writes objects through git: one process for however many, which computes each id anew from what it is given.
 *
 * Always as loose objects. A pack would be faster from some hundred on, but a `git repack -a -d` of the person's that
 * began before our ref moved would delete it after, and what the ref reaches with it.
 */
import type { ObjectFormat } from "../core/ids.ts";
import type { NewObject } from "./objects.ts";
import { encodePack } from "./pack.ts";
import { runGit } from "./run.ts";

export interface ObjectWriter {
	/** Makes objects durable in the repository's object store. Those that are there already are freshened. */
	write(objects: readonly NewObject[]): Promise<void>;
}

export function createObjectWriter(
	format: ObjectFormat,
	cwd: string,
	env: NodeJS.ProcessEnv,
): ObjectWriter {
	return {
		async write(objects) {
			if (objects.length === 0) return;
			const stdin = await encodePack(format, objects);
			await runGit({ args: ["unpack-objects", "-q"], cwd, env, stdin });
		},
	};
}
