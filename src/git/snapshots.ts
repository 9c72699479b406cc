/**
 * Snapshots of one working tree: the order of a capture, and reading them back.
 *
 *   lock ▸ rules ▸ list ▸ classify ▸ stage ▸ write-tree ▸ coverage ▸ commit ▸ keep ▸ verify ▸ private HEAD
 *
 * Invariants: [R2] durable, then kept, then returned (and only then recorded). [R6] the person's index, HEAD and refs
 * are read, never written. [R7] what is not covered is in the snapshot's coverage. [R11] an equal state is the same
 * snapshot; only the one that the private HEAD names is reused, and sweeps always keep that one.
 *
 * Limit: a file is captured in some state that it had during the capture; two files may be of different moments.
 */
import { readFile, rm, stat, statfs, utimes, copyFile } from "node:fs/promises";
import { join } from "node:path";
import type {
	CoverageLists,
	IgnoreRules,
	NotCovered,
	Snapshot,
	SnapshotHead,
} from "../core/coverage.ts";
import {
	decodeCoverageLists,
	decodeSnapshotMessage,
	encodeCoverageLists,
	encodeSnapshotMessage,
	noCoverage,
	notCoveredIndex,
	subjects,
} from "../core/coverage.ts";
import { isRewindError, RewindError } from "../core/errors.ts";
import { type BytePath, bytePathOf, type ObjectId, shortId } from "../core/ids.ts";
import type { TreeChange } from "../core/plan.ts";
import type {
	Captured,
	CaptureRequest,
	Owner,
	SnapshotStore,
	Unavailable,
} from "../engine/ports.ts";
import {
	type Classified,
	classify,
	isOwn,
	lstatBig,
	type OwnPaths,
	overTurnLimit,
} from "./classify.ts";
import { absolutePath } from "../disk/files.ts";
import { readDiff } from "./diff.ts";
import { headPosition, operationInProgress } from "./head.ts";
import { ignoredByRules } from "./ignore-rules.ts";
import { createKeepalive } from "./keepalive.ts";
import {
	listChanges,
	listFolders,
	listIndex,
	listSparse,
	listTrackedIgnored,
	runIn,
} from "./listing.ts";
import {
	commitBytes,
	createObjectReader,
	emptyTree,
	parseCommit,
	parseTree,
	treeBytes,
} from "./objects.ts";
import { createObjectWriter } from "./object-writer.ts";
import { openPrivateDir, type Scope, writeIfDifferent } from "./private-dir.ts";
import { acquireLock } from "../disk/process-lock.ts";
import { gitDirNamedBy, type Repository } from "./repository.ts";
import { harmless, lineOf, nulRecords, personEnv, privateEnv } from "./run.ts";
import { type StageResult, stagePaths } from "./stage-paths.ts";
import { loadYoung, saveYoung, touchedYoung, youngOf } from "./young.ts";

export interface StoreOptions {
	readonly scope: Scope;
	readonly maxFileBytes: number;
	readonly own: OwnPaths;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
}

/** How long a capture waits for another process's; then it works on a copy of the index. */
const lockWaitMs = 4_000;
/** Free disk space, beyond what is about to be written, below which nothing is captured. */
const freeBytesMin = 32 * 1024 * 1024;
/** Files whose permission bits differ are all listed up to here; beyond it, only those that are stricter. */
const modesMax = 20_000;

/** Opens the store of a repository. Nothing is captured yet. */
export async function openSnapshotStore(
	repository: Repository,
	options: StoreOptions,
): Promise<SnapshotStore> {
	const { root, format } = repository;
	const dir = await openPrivateDir(repository, options.scope);
	const env = privateEnv({ gitDir: dir.gitDir, workTree: root, objects: repository.objectsDir });
	const person = runIn(root, personEnv(), [
		"--git-dir",
		repository.gitDir,
		"--work-tree",
		root,
		...harmless,
	]);
	const objects = createObjectReader(format, dir.gitDir, env);
	const writer = createObjectWriter(format, dir.gitDir, env);
	const keepalive = createKeepalive(repository, writer);

	/** The snapshot that the private HEAD names, as last read. */
	let last: Snapshot | undefined;
	let lastListsJson = "";
	let personIndexStamp = "";
	let trackedNow: ReadonlySet<BytePath> | undefined;
	let sparse: readonly string[] = [];
	let rulesRead = { infoExclude: "", excludesFile: "" };
	let rules: IgnoreRules = { infoExclude: undefined, excludesFile: undefined };
	const claimed = new Set<string>();
	let queue: Promise<unknown> = Promise.resolve();

	async function capture(request: CaptureRequest): Promise<Captured> {
		const release = await acquireLock(join(repository.privateDir, "capture.lock"), lockWaitMs);
		const copy = release === undefined ? await copyIndex() : undefined;
		try {
			// Only the holder of the lock may do this: nobody else works on this index now.
			if (copy === undefined) await rm(join(dir.gitDir, "index.lock"), { force: true });
			return await captureOrRebuild(request, copy);
		} finally {
			if (copy !== undefined) await rm(copy, { force: true });
			await release?.();
		}
	}

	/** An unexplained failure of git on our own index is answered once: by a new index. [R1] */
	async function captureOrRebuild(
		request: CaptureRequest,
		copy: string | undefined,
	): Promise<Captured> {
		try {
			return await captureOnce(request, copy);
		} catch (error) {
			if (!isRewindError(error) || copy !== undefined) throw error;
			if (error.code !== "git-failed" && error.code !== "object-missing") throw error;
			await assertRootIsThere(error);
			await rebuildIndex();
			return captureOnce(request, copy);
		}
	}

	/** git compares a file's times with the index's own: a copy must have them to the nanosecond. */
	async function copyIndex(): Promise<string | undefined> {
		const from = join(dir.gitDir, "index");
		const to = join(dir.gitDir, `index.${process.pid}`);
		try {
			const { atimeMs, mtimeMs } = await stat(from);
			await copyFile(from, to);
			// Rounded down: an index that looks older than it is makes git look again, never less.
			await utimes(to, Math.floor(atimeMs / 1000), Math.floor(mtimeMs / 1000));
		} catch {
			// No index yet: this capture starts an empty one of its own.
		}
		return to;
	}

	async function rebuildIndex(): Promise<void> {
		const head = await dir.readHead();
		await dir.reset();
		const candidates = [...(head === undefined ? [] : [head]), ...(await keepalive.newest(50))];
		const git = runIn(root, env);
		for (const id of candidates) {
			const snapshot = await readSnapshot(id).catch(() => undefined);
			if (snapshot?.head?.worktree !== dir.worktreeId || !(await keepalive.isKept(id))) continue;
			try {
				await git(["read-tree", snapshot.tree]);
				await dir.writeHead(id);
				return;
			} catch {
				// Its trees are gone: an older one may be whole; without any, all is hashed anew.
				await dir.reset();
			}
		}
		last = undefined;
		await rm(join(dir.gitDir, "HEAD"), { force: true });
		await openPrivateDir(repository, options.scope);
	}

	async function assertRootIsThere(cause: unknown): Promise<void> {
		if ((await gitDirNamedBy(root)) === repository.gitDir) return;
		throw new RewindError(
			"root-vanished",
			"The working tree is not there any more, or its .git leads elsewhere",
			{
				hint: "No point was taken; earlier points are kept",
				cause,
			},
		);
	}

	async function captureOnce(request: CaptureRequest, copy: string | undefined): Promise<Captured> {
		const { signal } = request;
		const git = runIn(root, copy === undefined ? env : { ...env, GIT_INDEX_FILE: copy });
		const startedAt = options.now();
		await readLast();
		await readRules();
		const [listing, indexNews, young, position] = await Promise.all([
			listChanges(git, options.scope === "all", signal),
			readPersonIndex(git),
			loadYoung(dir.gitDir),
			headPosition(repository, person),
		]);
		const isSparse = sparseTest();
		const touched = touchedYoung(young, root, new Set(listing.changed));
		const inFolders = await listFolders(git, listing.folders.filter(notRepository), signal);
		const candidates = new Set([
			...listing.changed,
			...listing.untracked,
			...inFolders,
			...touched,
			...indexNews.add,
		]);
		for (const folder of listing.folders) if (!notRepository(folder)) candidates.add(folder);
		for (const { path, reason } of last?.coverage.notCovered ?? [])
			if (reason === "special-file") candidates.add(path);
		const found = await classifyCandidates(candidates, isSparse);
		const stagedRacy = [...touched].filter((path) => found.signatures.has(path));
		const drop = [
			...found.drop,
			...stagedRacy,
			...indexNews.remove,
			...(await insideOf(git, found)),
		];
		await assertSpace(found);
		const staged = await stagePaths(git, found.stage, drop, signal);
		const tree = await writeTree(git, staged, listing.indexAhead);
		await refuseFalselyEmpty(tree);
		const notCovered = listNotCovered(found, listing.unreadable, staged);
		const lists = listCoverage(notCovered, found, staged, await readBits(request.modesOf ?? []));
		const captured = await commitSnapshot({
			tree,
			lists,
			position,
			request,
			keepIndex: copy === undefined,
		});
		if (copy === undefined)
			await saveYoung(dir.gitDir, youngOf(found.signatures, young, startedAt));
		return captured;
	}

	const notRepository = (folder: BytePath): boolean =>
		lstatBig(absolutePath(root, bytePathOf(`${folder}/.git`))) === undefined;

	async function readLast(): Promise<void> {
		const head = await dir.readHead();
		if (head === last?.id) return;
		last = head === undefined ? undefined : await readSnapshot(head);
		lastListsJson = last === undefined ? "" : encodeCoverageLists(last.coverage);
		if (last === undefined && head !== undefined)
			throw new RewindError("object-missing", `The last snapshot, ${shortId(head)}, is gone`);
	}

	/** Keeps our copy of info/exclude in step with the person's, and both rule files as blobs. */
	async function readRules(): Promise<void> {
		const read = (file: string): Promise<string> => readFile(file, "latin1").catch(() => "");
		const [infoExclude, excludesFile] = await Promise.all([
			read(join(repository.commonDir, "info", "exclude")),
			read(repository.excludesFile),
		]);
		await writeIfDifferent(join(dir.gitDir, "info", "exclude"), Buffer.from(infoExclude, "latin1"));
		if (infoExclude === rulesRead.infoExclude && excludesFile === rulesRead.excludesFile) return;
		const blobOf = async (text: string): Promise<ObjectId | undefined> =>
			text === "" ? undefined : (await writer.write("blob", [Buffer.from(text, "latin1")]))[0];
		rules = { infoExclude: await blobOf(infoExclude), excludesFile: await blobOf(excludesFile) };
		rulesRead = { infoExclude, excludesFile };
	}

	/** What the person's index adds to, or takes from, the scope; asked only when that index changed. */
	async function readPersonIndex(
		git: ReturnType<typeof runIn>,
	): Promise<{ add: BytePath[]; remove: BytePath[] }> {
		const stats = await stat(join(repository.gitDir, "index"), { bigint: true }).catch(
			() => undefined,
		);
		const stamp = stats === undefined ? "none" : `${stats.ino}:${stats.size}:${stats.mtimeNs}`;
		if (stamp === personIndexStamp) return { add: [], remove: [] };
		trackedNow = undefined;
		sparse = repository.sparse ? await listSparse(person) : [];
		const news = { add: await listTrackedIgnored(person), remove: [] as BytePath[] };
		if (options.scope === "tracked") {
			const tracked = await trackedPaths();
			const held = new Set(await listIndex(git));
			news.add = [...tracked].filter((path) => !held.has(path));
			news.remove = [...held].filter((path) => !tracked.has(path));
		}
		personIndexStamp = stamp;
		return news;
	}

	async function trackedPaths(): Promise<ReadonlySet<BytePath>> {
		trackedNow ??= new Set(await listIndex(person));
		return trackedNow;
	}

	function sparseTest(): (path: BytePath) => boolean {
		const lookup = notCoveredIndex(
			sparse.map((path) => ({ path: bytePathOf(path), reason: "sparse" })),
		);
		return (path) => lookup(path) !== undefined;
	}

	async function classifyCandidates(
		candidates: ReadonlySet<BytePath>,
		isSparse: (path: BytePath) => boolean,
	): Promise<Classified> {
		const known = new Set<BytePath>();
		const input = { root, own: options.own, maxFileBytes: options.maxFileBytes, isSparse };
		const first = classify(candidates, { ...input, isKnownContent: (path) => known.has(path) });
		const large = first.notCovered.filter(({ reason }) => reason === "too-large");
		// A large file that the person committed costs nothing: its very bytes are in the repository.
		for (const { path } of large) if (await isInRepository(path)) known.add(path);
		if (known.size === 0) return limited(first);
		return limited(classify(candidates, { ...input, isKnownContent: (path) => known.has(path) }));
	}

	async function isInRepository(path: BytePath): Promise<boolean> {
		if (!(await trackedPaths()).has(path)) return false;
		const { stdout } = await runIn(root, env)(["hash-object", "--no-filters", "--stdin-paths"], {
			stdin: Buffer.from(`${path}\n`, "latin1"),
		});
		const { code } = await runIn(root, env)(["cat-file", "-e", lineOf(stdout)], {
			answers: [1, 128],
		});
		return code === 0;
	}

	async function limited(found: Classified): Promise<Classified> {
		if (overTurnLimit(found.sizes, () => false).size === 0) return found;
		const tracked = await trackedPaths();
		const over = overTurnLimit(found.sizes, (path) => tracked.has(path));
		return {
			...found,
			stage: found.stage.filter((path) => !over.has(path)),
			drop: [...found.drop, ...over],
			notCovered: [
				...found.notCovered,
				...[...over].map((path): NotCovered => ({
					path,
					reason: "turn-limit",
					size: found.sizes.get(path) ?? 0,
				})),
			],
		};
	}

	/** A folder with captured files that became another repository: what the index has of it goes. */
	async function insideOf(git: ReturnType<typeof runIn>, found: Classified): Promise<BytePath[]> {
		if (found.repositories.size === 0 || last === undefined) return [];
		const known = notCoveredIndex(last.coverage.notCovered);
		const fresh = [...found.repositories].filter(
			(path) => known(path)?.reason !== "nested-repository",
		);
		if (fresh.length === 0) return [];
		return (await listIndex(git)).filter((path) =>
			fresh.some((folder) => path.startsWith(`${folder}/`)),
		);
	}

	async function assertSpace(found: Classified): Promise<void> {
		let bytes = 0;
		for (const size of found.sizes.values()) bytes += size;
		if (bytes < freeBytesMin) return; // git itself says when even that does not fit
		const { bavail, bsize } = await statfs(repository.objectsDir);
		if (bavail * bsize > bytes + freeBytesMin) return;
		throw new RewindError("no-space", "Not enough free disk space for a snapshot", {
			hint: "No files were changed; free some space",
		});
	}

	async function writeTree(
		git: ReturnType<typeof runIn>,
		staged: StageResult,
		indexAhead: boolean,
	): Promise<ObjectId> {
		if (!staged.changedIndex && !indexAhead && last !== undefined) return last.tree;
		const { stdout } = await git(["write-tree"]);
		return writer.trusted(lineOf(stdout));
	}

	/** An unmounted or vanished working tree looks like one whose files were all deleted. */
	async function refuseFalselyEmpty(tree: ObjectId): Promise<void> {
		const empty = emptyTree(format);
		if (tree !== empty || last === undefined || last.tree === empty) return;
		await assertRootIsThere(undefined);
	}

	function listNotCovered(
		found: Classified,
		unreadable: readonly BytePath[],
		staged: StageResult,
	): NotCovered[] {
		const all = new Map<string, NotCovered>();
		for (const path of sparse) all.set(path, { path: bytePathOf(path), reason: "sparse" });
		for (const path of unreadable)
			if (!isOwn(options.own, path)) all.set(path, { path, reason: "unreadable" });
		for (const item of [...found.notCovered, ...staged.failed]) all.set(item.path, item);
		return [...all.values()];
	}

	async function readBits(paths: readonly BytePath[]): Promise<Map<BytePath, number>> {
		const bits = new Map<BytePath, number>();
		for (const path of paths) {
			const stats = lstatBig(absolutePath(root, path));
			if (stats?.isFile() === true) bits.set(path, Number(stats.mode) & 0o777);
		}
		return bits;
	}

	/** The last snapshot's bits, brought up to date for what was staged or asked for. */
	function listCoverage(
		notCovered: readonly NotCovered[],
		found: Classified,
		staged: StageResult,
		asked: ReadonlyMap<BytePath, number>,
	): CoverageLists {
		const umask = process.umask();
		const modes = new Map(last?.coverage.umask === umask ? last.coverage.modes : []);
		for (const path of [...found.stage, ...found.drop]) modes.delete(path);
		const failed = new Set(staged.failed.map(({ path }) => path));
		for (const [path, bits] of [...found.bits, ...asked]) {
			if (failed.has(path)) continue;
			const usual = ((bits & 0o100) !== 0 ? 0o777 : 0o666) & ~umask;
			if (bits === usual) modes.delete(path);
			else modes.set(path, bits);
		}
		if (modes.size > modesMax)
			for (const [path, bits] of modes) if ((0o644 & ~bits) === 0) modes.delete(path);
		return { notCovered, umask, modes };
	}

	interface Commit {
		tree: ObjectId;
		lists: CoverageLists;
		position: { head?: ObjectId; branch?: string };
		request: CaptureRequest;
		keepIndex: boolean;
	}

	async function commitSnapshot({
		tree,
		lists,
		position,
		request,
		keepIndex,
	}: Commit): Promise<Captured> {
		const listsJson = encodeCoverageLists(lists);
		const sameCoverage =
			last !== undefined &&
			listsJson === lastListsJson &&
			last.rules.infoExclude === rules.infoExclude &&
			last.rules.excludesFile === rules.excludesFile;
		const seconds = Math.floor(options.now() / 1000);
		if (
			last !== undefined &&
			sameCoverage &&
			last.tree === tree &&
			last.head?.head === position.head &&
			last.head?.branch === position.branch &&
			(await keepalive.isKept(last.id))
		) {
			await claim(last.id, request.owner, request.isClaimed, seconds);
			return { snapshot: last, reused: true, notCovered: lists.notCovered };
		}
		const coverageId =
			sameCoverage && last?.coverageId !== undefined
				? last.coverageId
				: await writeCoverage(listsJson);
		const head: SnapshotHead = {
			v: 1,
			worktree: dir.worktreeId,
			scope: options.scope,
			takenAt: options.now(),
			...position,
		};
		const [id] = await writer.write("commit", [
			commitBytes({ tree, parents: [coverageId], seconds, message: encodeSnapshotMessage(head) }),
		]);
		if (id === undefined) throw new RewindError("invariant-broken", "BUG [R2]: no snapshot commit");
		await keepalive.keep([id], request.owner, seconds);
		claimed.add(`${request.owner.sessionId} ${id}`);
		await verifyComplete(last?.tree ?? emptyTree(format), tree);
		const snapshot: Snapshot = { id, tree, head, coverageId, coverage: lists, rules };
		if (keepIndex) {
			await dir.writeHead(id);
			last = snapshot;
			lastListsJson = listsJson;
		}
		return { snapshot, reused: false, notCovered: lists.notCovered };
	}

	/** Owners are a set: a session that takes over a snapshot says so once, or a sweep of the other could drop it. */
	async function claim(
		id: ObjectId,
		owner: Owner,
		isClaimed: CaptureRequest["isClaimed"],
		seconds: number,
	): Promise<void> {
		const key = `${owner.sessionId} ${id}`;
		if (claimed.has(key)) return;
		if (isClaimed?.(id) !== true) await keepalive.keep([id], owner, seconds);
		claimed.add(key);
	}

	async function writeCoverage(listsJson: string): Promise<ObjectId> {
		const [lists] = await writer.write("blob", [Buffer.from(listsJson)]);
		if (lists === undefined) throw new RewindError("invariant-broken", "BUG [R2]: no coverage");
		const entries = [
			{ name: "coverage.json", id: lists },
			...(rules.excludesFile === undefined
				? []
				: [{ name: "excludes-file", id: rules.excludesFile }]),
			...(rules.infoExclude === undefined ? [] : [{ name: "info-exclude", id: rules.infoExclude }]),
		];
		const [tree] = await writer.write("tree", [treeBytes(entries)]);
		if (tree === undefined) throw new RewindError("invariant-broken", "BUG [R2]: no coverage tree");
		const message = `${subjects.coverage}\n`;
		const [id] = await writer.write("commit", [
			commitBytes({ tree, parents: [], seconds: 0, message }),
		]);
		if (id === undefined) throw new RewindError("invariant-broken", "BUG [R2]: no coverage commit");
		return id;
	}

	/** A `git gc --prune=now` between writing and keeping takes objects that the index goes on believing in. */
	async function verifyComplete(from: ObjectId, to: ObjectId): Promise<void> {
		if (from === to) return;
		const git = runIn(root, env);
		const { stdout } = await git([
			"diff-tree",
			"-r",
			"-t",
			"-z",
			"--no-renames",
			"--no-abbrev",
			from,
			to,
		]);
		const ids = new Set([to]);
		for (const record of nulRecords(stdout)) {
			if (!record.startsWith(":")) continue;
			const [, mode, , id] = record.split(" ");
			if (id !== undefined && mode !== "000000" && mode !== "160000") ids.add(writer.trusted(id));
		}
		const check = await git(["cat-file", "--batch-check"], { stdin: `${[...ids].join("\n")}\n` });
		if (!/ missing$/m.test(check.stdout.toString("latin1"))) return;
		throw new RewindError(
			"object-missing",
			"Objects of the new snapshot were pruned while it was taken",
		);
	}

	async function readSnapshot(id: ObjectId): Promise<Snapshot | undefined> {
		const object = await objects.read(id);
		const commit = object?.type === "commit" ? parseCommit(object.content) : undefined;
		if (commit === undefined) return undefined;
		const head = decodeSnapshotMessage(commit.message);
		const none = { infoExclude: undefined, excludesFile: undefined };
		const coverageId = head === undefined ? undefined : commit.parents[0];
		const about = { id, tree: commit.tree, head, coverageId };
		if (coverageId === undefined) {
			// A predecessor's: it covered what `git add -A` takes. Commits of ours that are no snapshots are refused.
			const [subject] = commit.message.split("\n", 1);
			const isKeep =
				subject === subjects.keep ||
				subject === subjects.coverage ||
				(commit.tree === emptyTree(format) && commit.parents.length > 0);
			return isKeep || subject === subjects.snapshot
				? undefined
				: { ...about, coverage: noCoverage, rules: none };
		}
		const coverageCommit = await objects.read(coverageId);
		const parsed =
			coverageCommit?.type === "commit" ? parseCommit(coverageCommit.content) : undefined;
		const tree = parsed === undefined ? undefined : await objects.read(parsed.tree);
		const entries = tree?.type === "tree" ? parseTree(tree.content, format) : undefined;
		const listsId = entries?.get("coverage.json");
		const lists = listsId === undefined ? undefined : await objects.read(listsId);
		const coverage =
			lists === undefined ? undefined : decodeCoverageLists(lists.content.toString("utf8"));
		// [R7] What it covers is unknown: a snapshot that cannot be used.
		if (coverage === undefined) return undefined;
		return {
			...about,
			coverage,
			rules: {
				infoExclude: entries?.get("info-exclude"),
				excludesFile: entries?.get("excludes-file"),
			},
		};
	}

	async function resolve(id: ObjectId): Promise<Snapshot | Unavailable> {
		if (id.length !== emptyTree(format).length) return "other-worktree";
		if (!(await keepalive.isKept(id))) return "pruned";
		const object = await objects.read(id);
		if (object === undefined) return "pruned";
		const snapshot = object.type === "commit" ? await readSnapshot(id) : undefined;
		if (snapshot === undefined) return "not-a-snapshot";
		if (snapshot.head !== undefined && snapshot.head.worktree !== dir.worktreeId)
			return "other-worktree";
		if ((await objects.read(snapshot.tree)) === undefined) return "pruned";
		return snapshot;
	}

	return {
		capture(request) {
			const next = queue.then(() => capture(request));
			// The next capture runs whether or not this one worked; who asked for this one is told.
			queue = next.catch(() => undefined);
			return next;
		},
		resolve,
		async changes(from, to): Promise<TreeChange[]> {
			const all = await readDiff(runIn(root, env), from.tree, to.tree);
			return all.filter(({ path }) => !isOwn(options.own, path));
		},
		async ignoredUnder(snapshot, paths) {
			return ignoredByRules({
				privateDir: repository.privateDir,
				objectsDir: repository.objectsDir,
				format,
				snapshot,
				paths,
				git: runIn(root, env),
				objects,
			});
		},
		trackedPaths,
		async readBlobs(ids, each) {
			for (const id of ids) {
				const blob = await objects.read(id);
				if (blob?.type !== "blob")
					throw new RewindError(
						"object-missing",
						`Content ${shortId(id)} of the snapshot is not in the repository any more`,
						{ hint: "It was pruned outside rewind; other points may be whole" },
					);
				await each(id, blob.content);
			}
		},
		operationInProgress: () => operationInProgress(repository, person),
		async commitsSince(commit) {
			const { code, stdout } = await person(["rev-list", "--count", `${commit}..HEAD`, "--"], {
				answers: [128, 129],
			});
			const count = Number(lineOf(stdout));
			return code === 0 && Number.isInteger(count) ? count : undefined;
		},
		head: () => headPosition(repository, person),
		async close() {
			await queue;
			objects.close();
		},
	};
}
