/** Compares two trees by `git diff-tree`: raw, so that no attribute, filter or rename rule has a say. */
import { bytePathOf, type ObjectId, trustedObjectId } from "../core/ids.ts";
import type { TreeChange, TreeEntry } from "../core/plan.ts";
import type { RunHere } from "./listing.ts";
import { nulRecords } from "./run.ts";

/** Every path that differs between two trees; `from` and `to` are absent where a side has none. */
export async function readDiff(git: RunHere, from: ObjectId, to: ObjectId): Promise<TreeChange[]> {
	if (from === to) return [];
	// --no-renames: a rename would hide a deletion.
	const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
	const records = nulRecords((await git(args)).stdout);
	const changes: TreeChange[] = [];
	for (let i = 0; i + 1 < records.length; i += 2) {
		const [fromMode, toMode, fromId, toId] = (records[i] ?? "").slice(1).split(" ");
		const path = records[i + 1];
		if (path === undefined || fromId === undefined || toId === undefined) break;
		const before = entryOf(fromMode, fromId);
		const after = entryOf(toMode, toId);
		changes.push({
			path: bytePathOf(path),
			...(before === undefined ? {} : { from: before }),
			...(after === undefined ? {} : { to: after }),
		});
	}
	return changes;
}

const entryOf = (mode: string | undefined, id: string): TreeEntry | undefined =>
	mode === undefined || mode === "000000"
		? undefined
		: { mode: Number.parseInt(mode, 8), id: trustedObjectId(id) };
