/**
 * A checklist of changed paths, grouped by folder: what stands in which row, what is picked, what a key does to it.
 *
 * Pure. Every function gives a new value; rows are worked out when they are asked for, so that 20,000 paths cost
 * nothing until they are seen.
 */
import { type ChangeMark, type FileChange, markOf } from "./changes.ts";
import { type BytePath, bytePathOf, parentPath } from "./ids.ts";

export interface Selection {
	/** By folder, then by name; what lies below one folder stands in one piece. */
	readonly changes: readonly FileChange[];
	/** Indexes into `changes`. */
	readonly picked: ReadonlySet<number>;
	/** What stands in each row, from the top. */
	readonly rows: readonly RowRef[];
}

type RowRef =
	| { readonly kind: "file"; readonly index: number }
	/** `path` is empty for the root, else it ends in `/`; all of `changes` from `first` to before `end` lie below it. */
	| {
			readonly kind: "folder";
			readonly path: BytePath;
			readonly first: number;
			readonly end: number;
	  };

export type SelectionRow =
	| {
			readonly kind: "file";
			readonly change: FileChange;
			readonly mark: ChangeMark;
			readonly isPicked: boolean;
	  }
	| {
			readonly kind: "folder";
			/** Empty for the root, else it ends in `/`. */
			readonly path: BytePath;
			/** How many of the paths below it are picked. */
			readonly picked: number;
			readonly total: number;
	  };

/** All of `changes`, all picked. */
export function createSelection(unsorted: readonly FileChange[]): Selection {
	const placed = unsorted.map((change) => ({ change, folder: folderOf(change.path) }));
	placed.sort((a, b) => compare(a.folder, b.folder) || compare(a.change.path, b.change.path));
	const changes = placed.map(({ change }) => change);
	const rows = rowsOf(placed.map(({ folder }) => folder));
	return { changes, picked: new Set(changes.keys()), rows };
}

/** With its `/`, so that `a/` and all below it sort together and `a-b/` does not come between. */
function folderOf(path: BytePath): BytePath {
	const parent = parentPath(path);
	return parent === "" ? parent : bytePathOf(`${parent}/`);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A row for each folder that holds files or forks into several, before the files that lie in it. */
function rowsOf(folders: readonly BytePath[]): RowRef[] {
	const headers = new Set(folders);
	for (const [i, folder] of folders.entries()) {
		const shared = sharedFolder(folders[i - 1] ?? folder, folder);
		if (shared !== "") headers.add(shared);
	}
	const rows: RowRef[] = [];
	let index = 0;
	for (const path of [...headers].toSorted(compare)) {
		const first = index;
		let end = first;
		while (folders[end]?.startsWith(path) === true) end += 1;
		rows.push({ kind: "folder", path, first, end });
		for (; folders[index] === path; index++) rows.push({ kind: "file", index });
	}
	return rows;
}

/** The deepest folder that both lie in, or are. */
function sharedFolder(a: BytePath, b: BytePath): BytePath {
	let length = 0;
	while (length < a.length && a[length] === b[length]) length += 1;
	return bytePathOf(a.slice(0, a.lastIndexOf("/", length - 1) + 1));
}

/** What stands in a row; absent beyond the last one. */
export function rowAt({ changes, picked, rows }: Selection, row: number): SelectionRow | undefined {
	const ref = rows[row];
	if (ref === undefined) return undefined;
	if (ref.kind === "folder") {
		const { path, first, end } = ref;
		let count = 0;
		for (let i = first; i < end; i++) if (picked.has(i)) count += 1;
		return { kind: "folder", path, picked: count, total: end - first };
	}
	const change = changes[ref.index];
	if (change === undefined) return undefined;
	return { kind: "file", change, mark: markOf(change), isPicked: picked.has(ref.index) };
}

/** Turns one file over; a folder is picked whole, unless it was: then nothing below it is. */
export function toggleRow(selection: Selection, row: number): Selection {
	const ref = selection.rows[row];
	if (ref === undefined) return selection;
	const picked = new Set(selection.picked);
	const [first, end] = ref.kind === "file" ? [ref.index, ref.index + 1] : [ref.first, ref.end];
	let isWhole = true;
	for (let i = first; i < end; i++) isWhole &&= picked.has(i);
	for (let i = first; i < end; i++) {
		if (isWhole) picked.delete(i);
		else picked.add(i);
	}
	return { ...selection, picked };
}

export const pickAll = (selection: Selection): Selection => ({
	...selection,
	picked: new Set(selection.changes.keys()),
});

export const pickNone = (selection: Selection): Selection => ({ ...selection, picked: new Set() });

export const pickedChanges = ({ changes, picked }: Selection): FileChange[] =>
	changes.filter((_, index) => picked.has(index));

/** Every path that changes take part in: of a rename, both. */
export function pathsOf(changes: readonly FileChange[]): Set<BytePath> {
	const paths = new Set<BytePath>();
	for (const { path, renamedFrom } of changes) {
		paths.add(path);
		if (renamedFrom !== undefined) paths.add(renamedFrom);
	}
	return paths;
}

/**
 * The changes that a plan for `paths` carries out, where a comparison shows more: of a rename whose one half is left
 * alone, the other half.
 */
export function changesWithin(
	changes: readonly FileChange[],
	paths: ReadonlySet<BytePath>,
): FileChange[] {
	return changes.flatMap((change) => {
		const { path, renamedFrom, from, to } = change;
		const arrives = paths.has(path);
		if (renamedFrom === undefined) return arrives ? [change] : [];
		const leaves = paths.has(renamedFrom);
		if (arrives && leaves) return [change];
		if (arrives && to !== undefined) return [{ path, to }];
		if (leaves && from !== undefined) return [{ path: renamedFrom, from }];
		return [];
	});
}
