/**
 * Compares two trees for people, by git's own diff: renames, line counts, hunks.
 *
 * Invariant: [R13] [R14] the private git dir's attributes leave only "is this text?" to git, asked of the content; no
 * external diff, no textconv, no re-encoding. A restore never looks here: it goes by the raw comparison in diff.ts.
 *
 * Limit: git pairs renames of changed files only while there are at most a thousand candidates on a side.
 */
import type { FileChange, FilePatch, LineCounts } from "../core/changes.ts";
import {
	type BytePath,
	bytePathOf,
	type ObjectFormat,
	type ObjectId,
	trustedObjectId,
} from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";
import type { RunHere } from "./listing.ts";
import { newObject, type ObjectReader } from "./objects.ts";
import type { ObjectWriter } from "./object-writer.ts";
import { nulRecords } from "./run.ts";

/** Beyond this a diff is nothing that a person reads, and git takes seconds to make it. */
const shownBytesMax = 2 * 1024 * 1024;

const asGitDoes = ["--no-ext-diff", "--no-textconv", "--diff-algorithm=histogram"];

/** Every path that differs, renames paired, sorted by path. */
export async function compareTrees(
	git: RunHere,
	from: ObjectId,
	to: ObjectId,
	signal: AbortSignal | undefined,
): Promise<FileChange[]> {
	if (from === to) return [];
	const args = ["diff-tree", "-r", "-z", "--raw", "--find-renames", "--no-abbrev", from, to];
	const records = nulRecords((await git(args, { signal })).stdout);
	const changes: FileChange[] = [];
	for (let i = 0; i + 1 < records.length;) {
		const [fromMode, toMode, fromId, toId, status] = (records[i] ?? "").slice(1).split(" ");
		const isRename = status?.startsWith("R") === true;
		const [first, second] = [records[i + 1], records[i + 2]];
		i += isRename ? 3 : 2;
		const path = isRename ? second : first;
		if (path === undefined || first === undefined) break;
		changes.push({
			path: bytePathOf(path),
			...(isRename ? { renamedFrom: bytePathOf(first) } : {}),
			...side("from", fromMode, fromId),
			...side("to", toMode, toId),
		});
	}
	return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function side(
	name: "from" | "to",
	mode: string | undefined,
	id: string | undefined,
): { from?: TreeEntry; to?: TreeEntry } {
	if (mode === undefined || id === undefined || mode === "000000") return {};
	return { [name]: { mode: Number.parseInt(mode, 8), id: trustedObjectId(id) } };
}

/** Lines added and removed, by the path of `compareTrees`; no entry for what is not text. */
export async function countLines(
	git: RunHere,
	from: ObjectId,
	to: ObjectId,
	signal: AbortSignal | undefined,
): Promise<ReadonlyMap<BytePath, LineCounts>> {
	const counts = new Map<BytePath, LineCounts>();
	if (from === to) return counts;
	const args = ["diff-tree", "-r", "-z", "--numstat", "--find-renames", ...asGitDoes, from, to];
	const records = nulRecords((await git(args, { signal })).stdout);
	for (let i = 0; i < records.length;) {
		const [added, removed, name] = splitNumstat(records[i] ?? "");
		// A rename leaves the name empty and says both after it.
		const path = name === "" ? records[i + 2] : name;
		i += name === "" ? 3 : 1;
		if (path === undefined || added === "-") continue;
		counts.set(bytePathOf(path), { added: Number(added), removed: Number(removed) });
	}
	return counts;
}

/** `1\t2\tname`; a name can hold tabs itself. */
function splitNumstat(record: string): [added: string, removed: string, name: string] {
	const first = record.indexOf("\t");
	const second = record.indexOf("\t", first + 1);
	return [record.slice(0, first), record.slice(first + 1, second), record.slice(second + 1)];
}

/** How one file differs. Throws `object-missing` when its content is gone. */
export async function readPatch(
	change: FileChange,
	deps: {
		readonly git: RunHere;
		readonly objects: ObjectReader;
		readonly writer: ObjectWriter;
		readonly format: ObjectFormat;
		readBlob(id: ObjectId): Promise<Buffer>;
	},
): Promise<FilePatch> {
	const { from, to } = change;
	// A mode or a name alone; another repository has no content of its own here.
	const isLink = from?.mode === fileModes.gitlink || to?.mode === fileModes.gitlink;
	if (from?.id === to?.id || isLink) return withoutHunks;
	const [before, after] = await Promise.all([contentOf(from), contentOf(to)]);
	const sizes = { fromSize: before?.length, toSize: after?.length };
	if ((before?.length ?? 0) + (after?.length ?? 0) > shownBytesMax)
		return { kind: "oversized", ...sizes };
	// git compares blobs that it has; the empty one need not be there.
	const nothing = newObject(deps.format, "blob", Buffer.alloc(0));
	if (from === undefined || to === undefined) await deps.writer.write([nothing]);
	const ids = [from?.id ?? nothing.id, to?.id ?? nothing.id];
	const { stdout } = await deps.git(["diff", ...asGitDoes, "--no-color", ...ids, "--"]);
	const at = stdout.indexOf("\n@@ ");
	if (at !== -1) return { kind: "text", hunks: stdout.subarray(at + 1) };
	// One line that says that they differ; nothing at all when an empty file came or went.
	return stdout.length > 0 ? { kind: "binary", ...sizes } : withoutHunks;

	async function contentOf(entry: TreeEntry | undefined): Promise<Buffer | undefined> {
		return entry === undefined ? undefined : deps.readBlob(entry.id);
	}
}

const withoutHunks: FilePatch = { kind: "text", hunks: Buffer.alloc(0) };
