/**
 * Replaces files in a tree without an index: of each folder on the way, only its own tree is read and made anew.
 *
 * A file that stays a file keeps its place in git's order.
 */
import type { BytePath, ObjectFormat, ObjectId } from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";
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
	readonly objects: readonly NewObject[];
}

export interface TreeEditor {
	/** `tree` with other files in place of some that it has. Absent when it has no file at one of these paths. */
	replace(tree: ObjectId, files: ReadonlyMap<BytePath, TreeEntry>): Promise<EditedTree | undefined>;
}

type Edit = readonly [path: string, entry: TreeEntry];

/** Bytes of trees that are remembered: those that change next are mostly the same ones again. */
const rememberedMax = 4 << 20;
const folderMode = 0o040000;

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
		const known = remembered.get(id);
		if (known !== undefined) return known;
		const object = await objects.read(id);
		return object?.type === "tree" ? object.content : undefined;
	}

	/** `edits` by their path below this tree. */
	async function edit(
		tree: ObjectId,
		edits: readonly Edit[],
		made: NewObject[],
	): Promise<ObjectId | undefined> {
		const content = await read(tree);
		if (content === undefined) return undefined;
		const below = Map.groupBy(edits, ([path]) => path.split("/", 1)[0] ?? "");
		const items: TreeItem[] = [];
		for (const item of parseTree(content, format)) {
			const mine = below.get(item.name);
			const entry = mine === undefined ? item : await editItem(item, mine, made);
			if (entry === undefined) return undefined;
			items.push({ name: item.name, mode: entry.mode, id: entry.id });
			below.delete(item.name);
		}
		if (below.size > 0) return undefined;
		const object = { type: "tree", content: treeBytes(items) } as const;
		const id = hashObject(format, object.type, object.content);
		remember(id, object.content);
		if (id !== tree) made.push(object);
		return id;
	}

	/** The entry itself, or what is below it. */
	async function editItem(
		{ name, mode, id }: TreeItem,
		edits: readonly Edit[],
		made: NewObject[],
	): Promise<TreeEntry | undefined> {
		const [[path, entry] = []] = edits;
		if (mode === fileModes.file || mode === fileModes.executable)
			return path === name && edits.length === 1 ? entry : undefined;
		if (mode !== folderMode) return undefined;
		const inside = edits.map(([each, to]) => [each.slice(name.length + 1), to] as const);
		const edited = await edit(id, inside, made);
		return edited && { mode, id: edited };
	}

	return {
		async replace(tree, files) {
			const made: NewObject[] = [];
			const edited = await edit(tree, [...files], made);
			return edited && { tree: edited, objects: made };
		},
	};
}
