/**
 * The tree of a capture, in one of two ways.
 *
 * *By edit*: from the tree of the snapshot before it, in-process; for a few new files and new contents. The index, which
 * git reads and writes as a whole, stays as it was. *By index*: by git, for whatever there is.
 *
 * That the index is behind loses nothing: a listing names what it has otherwise than the last snapshot, and the next
 * capture by index hashes that anew. What a listing would not find again is never left to an edit.
 */
import type { BigIntStats } from "node:fs";
import { type NotCovered, notCoveredIndex, type Snapshot } from "../core/coverage.ts";
import type { BytePath, ObjectId } from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";
import { createBreather, readSettled } from "../disk/files.ts";
import { type Classified, signatureOf } from "./classify.ts";
import { listIndex, type RunHere } from "./listing.ts";
import { newObject, type NewObject, printedId } from "./objects.ts";
import type { Repository } from "./repository.ts";
import { stagePaths } from "./stage-paths.ts";
import type { Survey } from "./survey.ts";
import type { TreeEditor } from "./tree-editor.ts";

/** What was captured of the files. */
export interface Taken {
	readonly tree: ObjectId;
	readonly found: Classified;
	/** What could not be staged after all. */
	readonly failed: readonly NotCovered[];
	/** What of the tree is not written yet; absent when git wrote all of it. */
	readonly made: readonly NewObject[] | undefined;
	/** Paths of which the index has something else than the tree. */
	readonly behind: readonly BytePath[];
	/** The state in which files were read; of none, where git read them. */
	readonly stats: ReadonlyMap<BytePath, BigIntStats>;
}

/** Files that are read and hashed here, while everything else waits; more is for git, in a process of its own. */
const filesMax = 500;
const bytesMax = 4 << 20;
/** A link leads no further (PATH_MAX). */
const linkBytesMax = 4_096;

/** Absent when it has to be by index. Throws `object-missing` when a tree of `last` is damaged. */
export async function takeByEdit(
	{ root, format, carried }: Repository,
	editor: TreeEditor,
	last: Snapshot,
	{ listing, found, drop, leftScope, newRepositories }: Survey,
): Promise<Taken | undefined> {
	// Where bits or links on the disk say nothing, git knows which were meant.
	if (carried["filemode"] === "false" || carried["symlinks"] === "false") return undefined;
	// What is gone has to leave the index: were an ignored file to come in its place, the index would make it a captured one.
	if (drop.length + leftScope.length + newRepositories.length > 0) return undefined;
	const isInside = insideOf(found.repositories);
	if ([...listing.unequal, ...listing.missing].some(isInside)) return undefined;
	if (found.stage.length > filesMax) return undefined;
	let bytes = 0;
	for (const size of found.sizes.values()) bytes += size;
	if (bytes > bytesMax) return undefined;
	// What changes after this has to be found again: what git does not list, and the index does not have, is not.
	const listed = new Set([...listing.changed, ...listing.untracked, ...listing.unequal]);
	// Where one file may come under two names, git knows when.
	const unclear = new Set(carried["ignorecase"] === "true" ? listing.untracked : []);
	const files = new Map<BytePath, TreeEntry>();
	const stats = new Map<BytePath, BigIntStats>();
	const made: NewObject[] = [];
	const breathe = createBreather();
	for (const path of found.stage) {
		const state = found.signatures.get(path)?.signature;
		if (state === undefined || !listed.has(path)) return undefined;
		if (unclear.has(path) || isRefusedName(path, !found.sizes.has(path))) return undefined;
		const read = readSettled(root, path, found.sizes.get(path) ?? linkBytesMax);
		if (read === undefined || signatureOf(read.stats) !== state) return undefined;
		const blob = newObject(format, "blob", read.content);
		files.set(path, { mode: modeOf(read.stats), id: blob.id });
		stats.set(path, read.stats);
		made.push(blob);
		await breathe();
	}
	const edited = await editor.put(last.tree, files);
	if (edited === undefined) return undefined;
	return {
		tree: edited.tree,
		found,
		failed: [],
		// Of what was only touched nothing is new.
		made: edited.tree === last.tree ? [] : [...made, ...edited.made],
		behind: [...new Set([...listing.unequal, ...listing.missing, ...files.keys()])],
		stats,
	};
}

/** What git takes into no index (`verify_path`), and what its fsck calls an error in a tree. */
function isRefusedName(path: BytePath, isLink: boolean): boolean {
	const names = path.toLowerCase().split("/");
	return names.includes(".git") || (isLink && names.includes(".gitmodules"));
}

/** git's three modes of files; owners' bit as git reads it (`ce_permissions`). */
function modeOf(stats: BigIntStats): number {
	if (stats.isSymbolicLink()) return fileModes.link;
	return (stats.mode & 0o100n) === 0n ? fileModes.file : fileModes.executable;
}

/** Git makes the tree. `isCurrent`: `last` is what the listing compared the index with. */
export async function takeByIndex(
	git: RunHere,
	{ format }: Repository,
	editor: TreeEditor,
	{ last, isCurrent }: { readonly last: Snapshot | undefined; readonly isCurrent: boolean },
	{ found, drop, again, leftScope, newRepositories }: Survey,
	signal: AbortSignal | undefined,
): Promise<Taken> {
	// What is doubtful is as it was captured last; where it is to be looked at, it is hashed again.
	const captured = last === undefined ? undefined : await editor.find(last.tree, again);
	const isInside = insideOf(found.repositories);
	const first = new Map<BytePath, TreeEntry | undefined>(
		again.map((path) => [path, isInside(path) ? undefined : captured?.get(path)]),
	);
	const inside = newRepositories.length === 0 ? [] : (await listIndex(git)).filter(isInside);
	for (const path of [...drop, ...leftScope, ...inside]) first.set(path, undefined);
	const { changedIndex, failed } = await stagePaths(git, format, first, found.stage, signal);
	const tree =
		!changedIndex && isCurrent && last !== undefined
			? last.tree
			: printedId((await git(["write-tree"])).stdout, format);
	return { tree, found, failed, made: undefined, behind: [], stats: new Map() };
}

/** Whether a path is in another repository: nothing in it is captured. [R5] */
function insideOf(repositories: ReadonlySet<BytePath>): (path: BytePath) => boolean {
	const list = [...repositories].map((path) => ({ path, reason: "nested-repository" }) as const);
	const find = notCoveredIndex(list);
	return (path) => find(path) !== undefined;
}
