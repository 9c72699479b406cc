/**
 * Writes a snapshot commit with its coverage, keeps it, and makes sure that all of it is there.
 *
 * Invariants: [R2] when `write` returns, the snapshot is durable and kept. A keep commit never stays on the ref with
 * something missing below it: the person's own `git gc` would fail from then on.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import {
	type CoverageLists,
	encodeCoverageLists,
	encodeSnapshotMessage,
	type Snapshot,
	type SnapshotHead,
	subjects,
} from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import { type ObjectId, trustedObjectId } from "../core/ids.ts";
import { fileModes } from "../core/plan.ts";
import type { Owner } from "../engine/ports.ts";
import { untilNoGc } from "./gc.ts";
import type { Keepalive, Kept } from "./keepalive.ts";
import type { RunHere } from "./listing.ts";
import { commitBytes, emptyTree, newObject, type NewObject, treeBytes } from "./objects.ts";
import type { ObjectWriter } from "./object-writer.ts";
import type { Repository } from "./repository.ts";
import { type RuleFiles, rulesOf } from "./rules.ts";
import { nulRecords } from "./run.ts";

export interface SnapshotDraft {
	readonly tree: ObjectId;
	/** What of the tree is not written yet; absent when git wrote all of it. */
	readonly made: readonly NewObject[] | undefined;
	readonly head: SnapshotHead;
	readonly coverage: CoverageLists;
	readonly rules: RuleFiles;
	/** The snapshot before it: equal coverage is not written again, and only what differs from it is checked. */
	readonly before: Snapshot | undefined;
	readonly owner: Owner;
}

export interface SnapshotWriter {
	/** Throws `object-missing` when objects were pruned meanwhile; nothing is kept then. */
	write(draft: SnapshotDraft): Promise<Snapshot>;
	/** Whether `draft` is the very state of the snapshot before it. [R11] */
	equalsBefore(draft: SnapshotDraft): boolean;
}

export function createSnapshotWriter(
	repository: Repository,
	git: RunHere,
	writer: ObjectWriter,
	keepalive: Keepalive,
): SnapshotWriter {
	const { format } = repository;
	const object = (type: NewObject["type"], content: Buffer): NewObject =>
		newObject(format, type, content);

	/** The objects of a coverage commit, in the order to write them; the commit last. */
	function coverageObjects(draft: SnapshotDraft): readonly [...NewObject[], NewObject] {
		const files: readonly (readonly [name: string, content: Buffer])[] = [
			["coverage.json", Buffer.from(encodeCoverageLists(draft.coverage))],
			["excludes-file", draft.rules.excludesFile],
			["info-exclude", draft.rules.infoExclude],
		];
		const used = files
			.filter(([, content]) => content.length > 0)
			.map(([name, content]) => ({ name, mode: fileModes.file, blob: object("blob", content) }));
		const items = used.map(({ name, mode, blob }) => ({ name, mode, id: blob.id }));
		const tree = object("tree", treeBytes(items));
		const message = `${subjects.coverage}\n`;
		// No date: equal coverage is one object. [R11]
		const commit = commitBytes({ tree: tree.id, parents: [], seconds: 0, message });
		return [...used.map(({ blob }) => blob), tree, object("commit", commit)];
	}

	/** All that is to be written for it. */
	function snapshotObjects(draft: SnapshotDraft): {
		objects: readonly NewObject[];
		id: ObjectId;
		coverageId: ObjectId;
	} {
		const known = sameCoverage(draft) ? draft.before?.coverageId : undefined;
		const coverage = known === undefined ? coverageObjects(draft) : [];
		const last = coverage.at(-1);
		const coverageId = known ?? last?.id;
		if (coverageId === undefined)
			throw new RewindError("invariant-broken", "BUG [R7]: no coverage");
		const content = commitBytes({
			tree: draft.tree,
			parents: [coverageId],
			seconds: Math.floor(draft.head.takenAt / 1000),
			message: encodeSnapshotMessage(draft.head),
		});
		const commit = object("commit", content);
		return { objects: [...(draft.made ?? []), ...coverage, commit], id: commit.id, coverageId };
	}

	/** Every object that git wrote for `draft` beyond what the snapshot before it has. */
	async function newContent({ tree, made, before }: SnapshotDraft): Promise<Set<ObjectId>> {
		const ids = new Set([tree]);
		const from = before?.tree ?? emptyTree(format);
		if (from === tree || made !== undefined) return ids;
		const { stdout } = await git([
			"diff-tree",
			"-r",
			"-t",
			"-z",
			"--no-renames",
			"--no-abbrev",
			from,
			tree,
		]);
		for (const record of nulRecords(stdout)) {
			if (!record.startsWith(":")) continue;
			const [, mode, , id] = record.split(" ");
			if (id !== undefined && mode !== "000000" && mode !== "160000") ids.add(trustedObjectId(id));
		}
		return ids;
	}

	/** Most were just written and lie there as loose objects; git is asked of the others. */
	async function missingOf(ids: Iterable<ObjectId>): Promise<ReadonlySet<string>> {
		const asked = [...ids].filter((id) => !isLoose(id));
		if (asked.length === 0) return new Set();
		const { stdout } = await git(["cat-file", "--batch-check"], { stdin: `${asked.join("\n")}\n` });
		return new Set(
			[...stdout.toString("latin1").matchAll(/^(\S+) missing$/gm)].map(([, id = ""]) => id),
		);
	}

	/** Synchronous: microseconds each, where a hundred trips through the thread pool would take longer than git. */
	const isLoose = (id: ObjectId): boolean => {
		const file = join(repository.objectsDir, id.slice(0, 2), id.slice(2));
		try {
			return (lstatSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
		} catch {
			// Cannot be looked at from here: git is asked.
			return false;
		}
	};

	/**
	 * A `git gc --prune=now` between writing and keeping takes what it saw unreachable. What we hold in memory is
	 * written again; what git made of files is not, so then the keep commit goes and the capture starts over.
	 */
	async function ensureWhole(
		content: ReadonlySet<ObjectId> | undefined,
		objects: readonly NewObject[],
		kept: Kept,
	): Promise<void> {
		const all = [...objects, object("commit", kept.body)];
		if (await isWhole(content, new Map(all.map((each) => [each.id, each])))) return;
		await keepalive.withdraw(kept);
		throw new RewindError(
			"object-missing",
			"Objects of the new snapshot were pruned while it was taken",
		);
	}

	/** Looks until no gc runs any more; `content` is absent when not even the trees could be read. */
	async function isWhole(
		content: ReadonlySet<ObjectId> | undefined,
		ours: ReadonlyMap<ObjectId, NewObject>,
	): Promise<boolean> {
		if (content === undefined) return false;
		const isGone = await untilNoGc(repository, async () => {
			const missing = await missingOf([...ours.keys(), ...content]);
			await writer.write([...ours].filter(([id]) => missing.has(id)).map(([, each]) => each));
			return [...content].some((id) => missing.has(id) && !ours.has(id)) || undefined;
		});
		return isGone !== true;
	}

	function sameCoverage({ before, coverage, rules }: SnapshotDraft): boolean {
		const { infoExclude, excludesFile } = rulesOf(rules, format);
		return (
			before?.coverageId !== undefined &&
			before.rules.infoExclude === infoExclude &&
			before.rules.excludesFile === excludesFile &&
			encodeCoverageLists(before.coverage) === encodeCoverageLists(coverage)
		);
	}

	return {
		equalsBefore: (draft) =>
			draft.before !== undefined &&
			draft.before.tree === draft.tree &&
			draft.before.head?.head === draft.head.head &&
			draft.before.head?.branch === draft.head.branch &&
			draft.before.head?.worktree === draft.head.worktree &&
			sameCoverage(draft),
		async write(draft) {
			const { objects, id, coverageId } = snapshotObjects(draft);
			// Independent of one another, so they run side by side.
			const content = newContent(draft).catch(() => undefined);
			const seconds = Math.floor(draft.head.takenAt / 1000);
			const kept = await keepalive.keep([id], draft.owner, seconds, objects);
			await ensureWhole(await content, objects, kept);
			const { tree, head, coverage } = draft;
			return { id, tree, head, coverageId, coverage, rules: rulesOf(draft.rules, format) };
		},
	};
}
