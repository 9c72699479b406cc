/** Reads a snapshot commit and its coverage. Says nothing about whether it is kept. */
import {
	type CoverageLists,
	decodeCoverageLists,
	decodeSnapshotMessage,
	noCoverage,
	type Snapshot,
	subjects,
} from "../core/coverage.ts";
import type { ObjectFormat, ObjectId } from "../core/ids.ts";
import {
	emptyTree,
	idIn,
	type ObjectReader,
	type ParsedCommit,
	parseCommit,
	scanTree,
} from "./objects.ts";

/** Absent when it is no snapshot, or when what it covers cannot be read. [R7] */
export async function readSnapshot(
	objects: ObjectReader,
	format: ObjectFormat,
	id: ObjectId,
): Promise<Snapshot | undefined> {
	const commit = await readCommit(objects, id);
	if (commit === undefined) return undefined;
	const head = decodeSnapshotMessage(commit.message);
	if (head === undefined) return predecessorSnapshot(id, commit, format);
	const [coverageId] = commit.parents;
	const coverage =
		coverageId === undefined ? undefined : await readCoverage(objects, format, coverageId);
	return coverage === undefined
		? undefined
		: { id, tree: commit.tree, head, coverageId, ...coverage };
}

/**
 * A predecessor's snapshot says nothing about itself: it covered what `git add -A` takes. Commits of ours that are no
 * snapshots, and keep commits of either (the empty tree, with parents), are refused: restoring one would delete all.
 */
function predecessorSnapshot(
	id: ObjectId,
	commit: ParsedCommit,
	format: ObjectFormat,
): Snapshot | undefined {
	const [subject] = commit.message.split("\n", 1);
	const isOurs = Object.values(subjects).some((known) => known === subject);
	if (isOurs || (commit.tree === emptyTree(format) && commit.parents.length > 0)) return undefined;
	const rules = { infoExclude: undefined, excludesFile: undefined };
	return {
		id,
		tree: commit.tree,
		head: undefined,
		coverageId: undefined,
		coverage: noCoverage,
		rules,
	};
}

async function readCommit(objects: ObjectReader, id: ObjectId): Promise<ParsedCommit | undefined> {
	const object = await objects.read(id);
	return object?.type === "commit" ? parseCommit(object.content) : undefined;
}

async function readCoverage(
	objects: ObjectReader,
	format: ObjectFormat,
	id: ObjectId,
): Promise<{ coverage: CoverageLists; rules: Snapshot["rules"] } | undefined> {
	const commit = await readCommit(objects, id);
	const tree = commit === undefined ? undefined : await objects.read(commit.tree);
	const content = tree?.type === "tree" ? tree.content : Buffer.alloc(0);
	const entries = new Map(
		scanTree(content, format).map((span) => [span.name, idIn(content, span)]),
	);
	const listsId = entries.get("coverage.json");
	const lists = listsId === undefined ? undefined : await objects.read(listsId);
	const coverage =
		lists === undefined ? undefined : decodeCoverageLists(lists.content.toString("utf8"));
	if (coverage === undefined) return undefined;
	const rules = {
		infoExclude: entries.get("info-exclude"),
		excludesFile: entries.get("excludes-file"),
	};
	return { coverage, rules };
}
