/**
 * Writes objects through git: one process for however many, which computes each id anew from what it is given.
 */
import type { ObjectFormat } from "../core/ids.ts";
import { hashObject, type NewObject } from "./objects.ts";
import { encodePack } from "./pack.ts";
import { runGit } from "./run.ts";

export interface ObjectWriter {
	/**
	 * Makes objects durable in the repository's object store: few as loose objects, of which those that are there already
	 * are freshened; many as a pack.
	 */
	write(objects: readonly NewObject[]): Promise<void>;
}

/** From here on git itself keeps what it fetches as a pack (`transfer.unpackLimit`). */
const packFrom = 100;

export function createObjectWriter(
	format: ObjectFormat,
	cwd: string,
	env: NodeJS.ProcessEnv,
): ObjectWriter {
	return {
		async write(objects) {
			const distinct = new Map(
				objects.map((object) => [hashObject(format, object.type, object.content), object]),
			);
			if (distinct.size === 0) return;
			const all = [...distinct.values()];
			const isPacked = all.length >= packFrom;
			await runGit({
				args: isPacked ? ["index-pack", "--stdin"] : ["unpack-objects", "-q"],
				cwd,
				env,
				stdin: encodePack(format, all, isPacked ? 1 : 0),
			});
		},
	};
}
