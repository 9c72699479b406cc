/**
 * Puts files into a tree without an index: of each folder on the way, only its own tree is read and made anew.
 *
 * git sorts the entries of a tree by the bytes of their names, a folder's as if it ended in `/` (`base_name_compare`).
 */
import { RewindError } from "../core/errors.ts";
import { type BytePath, type ObjectFormat, type ObjectId, shortId } from "../core/ids.ts";
import type { TreeEntry } from "../core/plan.ts";
import {
	idIn,
	newObject,
	type NewObject,
	type ObjectReader,
	scanTree,
	type TreeItem,
	treeBytes,
	type TreeSpan,
} from "./objects.ts";

export interface EditedTree {
	readonly tree: ObjectId;
	/** The trees that were made. */
	readonly made: readonly NewObject[];
}

export interface TreeEditor {
	/**
	 * `tree` with these files in it, new ones and others in place of old ones. Absent where more would have to be said: a
	 * folder where a file is to be, or the other way round; where a tree is not there, or it would take too long.
	 */
	put(tree: ObjectId, files: ReadonlyMap<BytePath, TreeEntry>): Promise<EditedTree | undefined>;
	/**
	 * What `tree` has at these paths, of those where it has something else than a folder. Throws `object-missing` when a
	 * tree on the way is not there.
	 */
	find(tree: ObjectId, paths: Iterable<BytePath>): Promise<Map<BytePath, TreeEntry>>;
}

/** Bytes of trees that are remembered: those that change next are mostly the same ones again. */
const rememberedMax = 4 << 20;
/** Bytes of trees that are worked on while everything else waits: some 25,000 entries. */
const workMax = 1 << 20;
const folderMode = 0o040000;

/** A file by its path below some tree. */
type FileBelow = readonly [path: string, entry: TreeEntry];

interface Work {
	readonly made: NewObject[];
	/** Bytes read until now. */
	bytes: number;
}

export function createTreeEditor(format: ObjectFormat, objects: ObjectReader): TreeEditor {
	const remembered = new Map<ObjectId, Buffer>();
	let bytes = 0;

	function remember(id: ObjectId, content: Buffer): void {
		if (remembered.delete(id)) bytes -= content.length;
		remembered.set(id, content);
		bytes += content.length;
		for (const [oldest, { length }] of remembered) {
			if (bytes <= rememberedMax) break;
			remembered.delete(oldest);
			bytes -= length;
		}
	}

	async function read(id: ObjectId): Promise<Buffer | undefined> {
		let content = remembered.get(id);
		if (content === undefined) {
			const object = await objects.read(id);
			if (object?.type !== "tree") return undefined;
			({ content } = object);
		}
		remember(id, content);
		return content;
	}

	/** The tree with the files; without `id`, a tree of nothing else. Absent as in `put`. */
	async function putInto(
		id: ObjectId | undefined,
		files: readonly FileBelow[],
		work: Work,
	): Promise<TreeEntry | undefined> {
		const before = id === undefined ? Buffer.alloc(0) : await read(id);
		work.bytes += before?.length ?? 0;
		if (before === undefined || work.bytes > workMax) return undefined;
		const waiting = Map.groupBy(files, ([path]) => path.split("/", 1)[0] ?? "");
		const parts: { readonly key: string; readonly bytes: Buffer }[] = [];
		const keep = (item: TreeItem): void =>
			void parts.push({ key: sortKey(item), bytes: treeBytes([item]) });
		for (const span of scanTree(before, format)) {
			const { name } = span;
			const mine = waiting.get(name);
			if (mine === undefined) {
				parts.push({ key: sortKey(span), bytes: before.subarray(span.start, span.end) });
				continue;
			}
			const entry = await putAt({ mode: span.mode, id: idIn(before, span) }, name, mine, work);
			if (entry === undefined) return undefined;
			keep({ name, mode: entry.mode, id: entry.id });
			waiting.delete(name);
		}
		for (const [name, mine] of waiting) {
			const entry = await putAt(undefined, name, mine, work);
			if (entry === undefined) return undefined;
			keep({ name, mode: entry.mode, id: entry.id });
		}
		// What was there keeps its place.
		if (waiting.size > 0) parts.sort((a, b) => (a.key < b.key ? -1 : 1));
		const tree = newObject(format, "tree", Buffer.concat(parts.map((part) => part.bytes)));
		if (tree.id !== id) {
			remember(tree.id, tree.content);
			work.made.push(tree);
		}
		return { mode: folderMode, id: tree.id };
	}

	/** What is at one name of a tree then; `item` is what is there now. */
	async function putAt(
		item: TreeEntry | undefined,
		name: string,
		files: readonly FileBelow[],
		work: Work,
	): Promise<TreeEntry | undefined> {
		const isFolder = item?.mode === folderMode;
		const [[path, entry] = []] = files;
		if (path === name) return isFolder || files.length > 1 ? undefined : entry;
		if (item !== undefined && !isFolder) return undefined;
		const below = files.map(([each, to]): FileBelow => [each.slice(name.length + 1), to]);
		return putInto(item?.id, below, work);
	}

	async function findBelow(
		id: ObjectId,
		paths: readonly (readonly [below: string, path: BytePath])[],
		into: Map<BytePath, TreeEntry>,
	): Promise<void> {
		const content = await read(id);
		// What cannot be looked up must not pass for absent. [R7]
		if (content === undefined)
			throw new RewindError("object-missing", `Tree ${shortId(id)} of the last snapshot is gone`, {
				hint: "git fsck tells more",
			});
		const wanted = Map.groupBy(paths, ([below]) => below.split("/", 1)[0] ?? "");
		for (const span of scanTree(content, format)) {
			const mine = wanted.get(span.name) ?? [];
			const entry = (): TreeEntry => ({ mode: span.mode, id: idIn(content, span) });
			if (span.mode !== folderMode) {
				for (const [below, path] of mine) if (below === span.name) into.set(path, entry());
				continue;
			}
			const inside = mine
				.filter(([below]) => below !== span.name)
				.map(([below, path]) => [below.slice(span.name.length + 1), path] as const);
			if (inside.length > 0) await findBelow(entry().id, inside, into);
		}
	}

	return {
		async put(tree, files) {
			if (files.size === 0) return { tree, made: [] };
			const work: Work = { made: [], bytes: 0 };
			const edited = await putInto(tree, [...files], work);
			return edited && { tree: edited.id, made: work.made };
		},
		async find(tree, paths) {
			const found = new Map<BytePath, TreeEntry>();
			await findBelow(
				tree,
				[...paths].map((path) => [path, path] as const),
				found,
			);
			return found;
		},
	};
}

const sortKey = ({ mode, name }: Pick<TreeSpan, "mode" | "name">): string =>
	mode === folderMode ? `${name}/` : name;
