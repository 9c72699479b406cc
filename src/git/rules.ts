/** The ignore rules outside the tree: the person's `info/exclude` and excludes file, kept in step and as blobs. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { IgnoreRules } from "../core/coverage.ts";
import type { ObjectId } from "../core/ids.ts";
import type { ObjectWriter } from "./object-writer.ts";
import { writeIfDifferent } from "./private-dir.ts";
import type { Repository } from "./repository.ts";

export interface Rules {
	/** Copies `info/exclude` into the private git dir; gives the blobs of both. */
	read(): Promise<IgnoreRules>;
}

export function createRules(repository: Repository, gitDir: string, writer: ObjectWriter): Rules {
	const blobs = new Map<string, ObjectId>();

	async function blobOf(content: Buffer): Promise<ObjectId | undefined> {
		if (content.length === 0) return undefined;
		const key = content.toString("latin1");
		const known = blobs.get(key);
		if (known !== undefined) return known;
		const id = await writer.write("blob", content);
		blobs.set(key, id);
		return id;
	}

	return {
		async read() {
			const [infoExclude, excludesFile] = await Promise.all([
				readOrEmpty(join(repository.commonDir, "info", "exclude")),
				readOrEmpty(repository.excludesFile),
			]);
			await writeIfDifferent(join(gitDir, "info", "exclude"), infoExclude);
			return { infoExclude: await blobOf(infoExclude), excludesFile: await blobOf(excludesFile) };
		},
	};
}

/** A file that is not there has no rules; git treats one that it cannot read alike. */
const readOrEmpty = (file: string): Promise<Buffer> => readFile(file).catch(() => Buffer.alloc(0));
