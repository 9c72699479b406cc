/**
 * The tree of a capture in which nothing but the content of captured files changed: made from the tree of the snapshot
 * before it, in-process. The index, which is read and written as a whole, stays as it was.
 *
 * That an index is behind loses nothing: the next capture that works with it finds in it what the last snapshot has not,
 * and hashes those files anew.
 */
import type { BigIntStats } from "node:fs";
import type { Snapshot } from "../core/coverage.ts";
import type { BytePath, ObjectId } from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";
import { readSettled } from "../disk/files.ts";
import { type Classified, signatureOf } from "./classify.ts";
import { hashObject, type NewObject } from "./objects.ts";
import type { Repository } from "./repository.ts";
import type { TreeEditor } from "./tree-editor.ts";

export interface EditedInPlace {
	readonly tree: ObjectId;
	/** What of it is not written yet. */
	readonly made: readonly NewObject[];
	/** The state in which each file was read. */
	readonly stats: ReadonlyMap<BytePath, BigIntStats>;
}

/** Bytes that are read and hashed here, while everything else waits; more is for git, in a process of its own. */
const bytesMax = 4 << 20;

/** Absent when git has to do it. Throws `object-missing` when a tree of `last` is damaged. */
export async function editInPlace(
	{ root, format, carried }: Repository,
	editor: TreeEditor,
	last: Snapshot,
	{ stage, sizes, signatures }: Classified,
): Promise<EditedInPlace | undefined> {
	if (stage.length === 0) return { tree: last.tree, made: [], stats: new Map() };
	// Where bits on the disk say nothing, git knows which were meant.
	if (carried["filemode"] === "false") return undefined;
	let bytes = 0;
	for (const size of sizes.values()) bytes += size;
	if (bytes > bytesMax) return undefined;
	const entries = new Map<BytePath, TreeEntry>();
	const stats = new Map<BytePath, BigIntStats>();
	const made: NewObject[] = [];
	for (const path of stage) {
		// Only of plain files there are sizes; links and what is gone are rare.
		const read = sizes.has(path) ? readSettled(root, path) : undefined;
		if (read === undefined || signatureOf(read.stats) !== signatures.get(path)?.signature)
			return undefined;
		const id = hashObject(format, "blob", read.content);
		const mode = (read.stats.mode & 0o100n) === 0n ? fileModes.file : fileModes.executable;
		entries.set(path, { mode, id });
		stats.set(path, read.stats);
		made.push({ type: "blob", content: read.content });
	}
	const edited = await editor.replace(last.tree, entries);
	if (edited === undefined) return undefined;
	// What was only touched is there already.
	if (edited.tree === last.tree) return { tree: edited.tree, made: [], stats };
	return { tree: edited.tree, made: [...made, ...edited.objects], stats };
}
