/**
 * Puts files into a tree without an index: of each folder on the way, only its own tree is read and made anew.
 *
 * git sorts the entries of a tree by the bytes of their names, a folder's as if it ended in `/` (`base_name_compare`).
 */
import type { BytePath, ObjectFormat, ObjectId } from "../core/ids.ts";
import type { TreeEntry } from "../core/plan.ts";
import {
	hashObject,
	type NewObject,
	type ObjectReader,
	parseTree,
	type TreeItem,
	treeBytes,
} from "./objects.ts";

export interface EditedTree {
	readonly tree: ObjectId;
	/** The trees that were made. */
	readonly made: readonly NewObject[];
}

export interface TreeEditor {
	/**
	 * `tree` with these files in it, new ones and others in place of old ones. Absent where more would have to be said: a
	 * folder where a file is to be, or the other way round; or a tree that is not there.
	 */
	put(tree: ObjectId, files: ReadonlyMap<BytePath, TreeEntry>): Promise<EditedTree | undefined>;
}

/** Bytes of trees that are remembered: those that change next are mostly the same ones again. */
const rememberedMax = 4 << 20;
const folderMode = 0o040000;

/** A file by its path below some tree. */
type FileBelow = readonly [path: string, entry: TreeEntry];

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

	async function read(id: ObjectId): Promise<TreeItem[] | undefined> {
		let content = remembered.get(id);
		if (content === undefined) {
			const object = await objects.read(id);
			if (object?.type !== "tree") return undefined;
			({ content } = object);
		}
		remember(id, content);
		return parseTree(content, format);
	}

	/** The tree with the files; without `id`, a tree of nothing else. Absent as in `put`. */
	async function putInto(
		id: ObjectId | undefined,
		files: readonly FileBelow[],
		made: NewObject[],
	): Promise<TreeEntry | undefined> {
		const before = id === undefined ? [] : await read(id);
		if (before === undefined) return undefined;
		const items = new Map(before.map((item) => [item.name, item]));
		for (const [name, mine] of Map.groupBy(files, ([path]) => path.split("/", 1)[0] ?? "")) {
			const entry = await putAt(items.get(name), name, mine, made);
			if (entry === undefined) return undefined;
			items.set(name, { name, mode: entry.mode, id: entry.id });
		}
		const sorted = [...items.values()].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
		const tree = { type: "tree", content: treeBytes(sorted) } as const;
		const edited = hashObject(format, tree.type, tree.content);
		if (edited !== id) {
			remember(edited, tree.content);
			made.push(tree);
		}
		return { mode: folderMode, id: edited };
	}

	/** What is at one name of a tree then; `item` is what is there now. */
	async function putAt(
		item: TreeEntry | undefined,
		name: string,
		files: readonly FileBelow[],
		made: NewObject[],
	): Promise<TreeEntry | undefined> {
		const isFolder = item?.mode === folderMode;
		const [[path, entry] = []] = files;
		if (path === name) return isFolder || files.length > 1 ? undefined : entry;
		if (item !== undefined && !isFolder) return undefined;
		const below = files.map(([each, to]): FileBelow => [each.slice(name.length + 1), to]);
		return putInto(item?.id, below, made);
	}

	return {
		async put(tree, files) {
			if (files.size === 0) return { tree, made: [] };
			const made: NewObject[] = [];
			const edited = await putInto(tree, [...files], made);
			return edited && { tree: edited.id, made };
		},
	};
}

const sortKey = ({ mode, name }: TreeItem): string => (mode === folderMode ? `${name}/` : name);
