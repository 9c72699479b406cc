/**
 * The store of snapshots of one working tree: captures one after another, and reads back what records name.
 *
 * Invariants: [R13] a snapshot is a full object id of this repository's format, a commit of the snapshot kind, reachable
 * from the keepalive ref, of this very working tree. [R5] our own files are in no list of changes.
 */
import type { Snapshot } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import { type BytePath, type ObjectId, shortId } from "../core/ids.ts";
import { asRewindError } from "../disk/failures.ts";
import type { Captured, CaptureRequest, SnapshotStore, Unavailable } from "../engine/ports.ts";
import { createCapture } from "./capture.ts";
import { isOwn, type OwnPaths } from "./classify.ts";
import { compareTrees, countLines, readPatch } from "./compare.ts";
import { readDiff } from "./diff.ts";
import { createFinder } from "./finder.ts";
import { headPosition, operationInProgress } from "./head.ts";
import { readHeld } from "./held.ts";
import { ignoredByRules } from "./ignore-rules.ts";
import { worktreeIdentity } from "./identity.ts";
import { createKeepalive } from "./keepalive.ts";
import { runIn, withoutIndex } from "./listing.ts";
import { createObjectReader, emptyTree, newObject, parseCommit } from "./objects.ts";
import { createObjectWriter } from "./object-writer.ts";
import { createPersonIndex } from "./person-index.ts";
import { openPrivateDir, type Scope } from "./private-dir.ts";
import type { Repository } from "./repository.ts";
import { harmless, lineOf, personEnv, privateEnv } from "./run.ts";
import { readSnapshot } from "./snapshot-reader.ts";
import { createSnapshotWriter } from "./snapshot-writer.ts";
import { createTreeEditor } from "./tree-editor.ts";

export interface StoreOptions {
	readonly scope: Scope;
	readonly maxFileBytes: number;
	readonly own: OwnPaths;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
}

/** Blobs asked for at a time: enough to keep git busy, few enough to hold in memory. */
const blobsAtOnce = 8;

/** Opens the store of a repository. Nothing is captured yet. */
export async function openSnapshotStore(
	repository: Repository,
	options: StoreOptions,
): Promise<SnapshotStore> {
	const { root, format, gitDir } = repository;
	const { scope, own } = options;
	const dir = await openPrivateDir(repository, scope);
	const env = privateEnv({ gitDir: dir.gitDir, workTree: root, objects: repository.objectsDir });
	const git = runIn(root, withoutIndex(env));
	const person = runIn(root, personEnv(), ["--git-dir", gitDir, "--work-tree", root, ...harmless]);
	const objects = createObjectReader(format, dir.gitDir, env);
	const writer = createObjectWriter(format, dir.gitDir, env);
	const keepalive = createKeepalive(repository, writer, objects);
	const personIndex = createPersonIndex(repository, person, scope);
	const read = (id: ObjectId): Promise<Snapshot | undefined> => readSnapshot(objects, format, id);
	const worktreeId = await worktreeIdentity(repository, keepalive, read);
	const finder = createFinder({ root, format, gitDir: dir.gitDir, scope });
	const captureOnce = createCapture({
		...options,
		repository,
		dir,
		worktreeId,
		env,
		person,
		personIndex,
		treeEditor: createTreeEditor(format, objects),
		snapshotWriter: createSnapshotWriter(repository, git, writer, keepalive),
		keepalive,
		finder,
		readSnapshot: read,
	});
	let queue: Promise<unknown> = Promise.resolve();

	async function resolve(id: ObjectId): Promise<Snapshot | Unavailable> {
		// An id of the other format cannot be of this repository.
		if (id.length !== emptyTree(format).length) return "other-worktree";
		if (!(await keepalive.isKept(id))) return "pruned";
		const object = await objects.read(id);
		if (object === undefined) return "pruned";
		const snapshot = object.type === "commit" ? await read(id) : undefined;
		if (snapshot === undefined) return "not-a-snapshot";
		if (snapshot.head !== undefined && snapshot.head.worktree !== worktreeId)
			return "other-worktree";
		return (await objects.read(snapshot.tree)) === undefined ? "pruned" : snapshot;
	}

	/** The tree of the commit that HEAD named; the empty one before the first commit; absent when it is gone. */
	async function committedTree({ head }: Snapshot): Promise<ObjectId | undefined> {
		if (head?.head === undefined) return emptyTree(format);
		const commit = await objects.read(head.head);
		return commit?.type === "commit" ? parseCommit(commit.content)?.tree : undefined;
	}

	async function readBlob(id: ObjectId): Promise<Buffer> {
		const blob = await objects.read(id);
		if (blob?.type !== "blob") throw contentMissing(id);
		return blob.content;
	}

	/** What the disk refuses to us is an error like any other: the files of the working tree were only read. */
	async function captureOrSay(request: CaptureRequest): Promise<Captured> {
		try {
			return await captureOnce(request);
		} catch (error) {
			throw asRewindError(error, "Cannot capture the files", "No files were changed");
		}
	}

	return {
		keeping: {
			list: keepalive.list,
			rewrite: keepalive.rewrite,
			held: () => readHeld(repository, options.now()),
			async claim(snapshots, owner) {
				const seconds = Math.floor(options.now() / 1000);
				await keepalive.claim(snapshots, owner, seconds);
			},
		},
		capture(request) {
			const next = queue.then(() => captureOrSay(request));
			// The next capture runs whether or not this one worked; who asked for this one is told.
			queue = next.catch(() => undefined);
			return next;
		},
		resolve,
		async changes(from, to) {
			const all = await readDiff(git, from.tree, to.tree);
			return all.filter(({ path }) => !isOwn(own, path));
		},
		async compare(from, to, signal) {
			const all = await compareTrees(git, from.tree, to.tree, signal);
			return all.filter(({ path }) => !isOwn(own, path));
		},
		async uncommitted(from, to) {
			if (from.head === undefined || from.head.head === to.head?.head) return undefined;
			const [before, after] = [await committedTree(from), await committedTree(to)];
			if (before === undefined || after === undefined) return undefined;
			const pathsOf = async (one: ObjectId, other: ObjectId): Promise<ReadonlySet<BytePath>> =>
				new Set((await readDiff(git, one, other)).map(({ path }) => path));
			const committed = await pathsOf(before, after);
			const differsStill = await pathsOf(after, to.tree);
			const changed = [...(await pathsOf(from.tree, to.tree))];
			return new Set(changed.filter((path) => !committed.has(path) || differsStill.has(path)));
		},
		lineCounts: (from, to, signal) => countLines(git, from.tree, to.tree, signal),
		patch: (change) => readPatch(change, { git, objects, writer, format, readBlob }),
		async writeBlob(content) {
			const blob = newObject(format, "blob", content);
			await writer.write([blob]);
			return blob.id;
		},
		ignoredUnder: (snapshot, paths) =>
			ignoredByRules({ repository, snapshot, paths, git, objects }),
		async readBlobs(ids, each) {
			for (let at = 0; at < ids.length; at += blobsAtOnce) {
				const some = ids.slice(at, at + blobsAtOnce);
				const blobs = await Promise.all(
					some.map(async (id) => ({ id, content: await readBlob(id) })),
				);
				for (const { id, content } of blobs) await each(id, content);
			}
		},
		operationInProgress: () => operationInProgress(repository, person),
		async commitsSince(commit) {
			const args = ["rev-list", "--count", `${commit}..HEAD`, "--"];
			const { code, stdout } = await person(args, { answers: [128, 129] });
			const count = Number(lineOf(stdout));
			return code === 0 && Number.isInteger(count) ? count : undefined;
		},
		head: () => headPosition(repository, person),
		async close() {
			await queue;
			objects.close();
			finder.close();
		},
	};
}

const contentMissing = (id: ObjectId): RewindError =>
	new RewindError(
		"object-missing",
		`Content ${shortId(id)} of the snapshot is not in the repository any more`,
		{ hint: "It was pruned outside rewind; other points may be whole" },
	);
