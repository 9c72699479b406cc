/**
 * The order of a capture.
 *
 *   lock ▸ rules ▸ list ▸ survey ┬▸ edit the last tree ─────┬▸ coverage ▸ commit ▸ keep ▸ verify ▸ private HEAD
 *                                └▸ stage ▸ write-tree ─────┘
 *
 * Invariants: [R2] durable, then kept, then returned (and only then recorded). [R6] the person's index, HEAD and refs
 * are read, never written. [R7] what is not covered is in the snapshot's coverage. [R11] an equal state is the same
 * snapshot; only the one that the private HEAD names is reused, and sweeps always keep that one.
 *
 * Limit: a file is captured in some state that it had during the capture; two files may be of different moments.
 */
import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { CoverageLists, NotCovered, Snapshot } from "../core/coverage.ts";
import { isRewindError, RewindError } from "../core/errors.ts";
import { type BytePath, bytePathOf, type ObjectId, shortId } from "../core/ids.ts";
import { acquireLock } from "../disk/process-lock.ts";
import type { Captured, CaptureRequest, Owner } from "../engine/ports.ts";
import { bitsNow, readBits } from "./bits.ts";
import { type Classified, isOwn } from "./classify.ts";
import type { Finder } from "./finder.ts";
import { headPosition } from "./head.ts";
import { keepIdentity, placeOf } from "./identity.ts";
import type { Keepalive } from "./keepalive.ts";
import { type RunHere, runIn } from "./listing.ts";
import { emptyTree } from "./objects.ts";
import { copyIndex, type PrivateDir } from "./private-dir.ts";
import { gitDirNamedBy } from "./repository.ts";
import { readRuleFiles } from "./rules.ts";
import type { SnapshotDraft, SnapshotWriter } from "./snapshot-writer.ts";
import { createSurvey, type SurveyDeps, type SurveyRequest } from "./survey.ts";
import { type Taken, takeByEdit, takeByIndex } from "./take.ts";
import type { TreeEditor } from "./tree-editor.ts";
import { ageIndex, loadYoung, saveYoung, touchedYoung, youngOf } from "./young.ts";

export interface CaptureDeps extends SurveyDeps {
	readonly dir: PrivateDir;
	readonly worktreeId: string;
	readonly person: RunHere;
	readonly treeEditor: TreeEditor;
	readonly snapshotWriter: SnapshotWriter;
	readonly keepalive: Keepalive;
	readonly finder: Finder;
	readonly readSnapshot: (id: ObjectId) => Promise<Snapshot | undefined>;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
}

/** How long a capture waits for another process's; then it works on a copy of the index. */
const lockWaitMs = 4_000;
/** Kept snapshots tried, newest first, for an index to start again from. */
const rebuildCandidatesMax = 50;

/** Gives the function that captures once; callers see to it that captures do not overlap within this process. */
export function createCapture(deps: CaptureDeps): (request: CaptureRequest) => Promise<Captured> {
	const { repository, dir, env, keepalive, personIndex, finder } = deps;
	const { root, format } = repository;
	const survey = createSurvey(deps);
	const empty = emptyTree(format);
	/** The snapshot that the private HEAD names, as last read. */
	let last: Snapshot | undefined;
	/** `session snapshot`: whom this process has seen to be an owner of what. */
	const claimed = new Set<string>();

	async function capture(request: CaptureRequest): Promise<Captured> {
		// First of all: a git dir that was moved away must not be made again by us.
		await assertRootIsThere(undefined);
		mkdirSync(repository.privateDir, { recursive: true });
		const lock = join(repository.privateDir, "capture.lock");
		const askedAt = deps.now();
		const release = await acquireLock(lock, lockWaitMs);
		// By the clock that stamps the files, where it is behind ours: a server's, say.
		const startedAt = Math.min(askedAt, lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
		const copy = release === undefined ? await copyIndex(dir.gitDir) : undefined;
		let isLooked = false;
		try {
			// Only the holder of the lock may do this: nobody else works on this index now.
			if (copy === undefined) {
				rmSync(join(dir.gitDir, "index.lock"), { force: true });
				if (!dir.isWhole()) await startOver();
			}
			const captured = await captureOrRebuild(request, copy);
			isLooked = true;
			return captured;
		} finally {
			try {
				if (copy !== undefined) await rm(copy, { force: true });
				else finder.settle(startedAt, isLooked, () => ageIndex(dir.gitDir, startedAt, isLooked));
			} finally {
				await release?.();
			}
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

	/** Nothing was captured yet; or somebody removed the private dir or its index, which loses nothing. [R1] */
	async function startOver(): Promise<void> {
		await dir.repair();
		await keepIdentity(repository, deps.worktreeId);
		await rebuildIndex();
	}

	/** Starts again from this worktree's newest kept snapshot that is whole, so that nothing leaves the scope. */
	async function rebuildIndex(): Promise<void> {
		const head = dir.readHead();
		await dir.reset();
		personIndex.forget();
		last = undefined;
		const candidates = [
			...(head === undefined ? [] : [head]),
			...(await keepalive.newest(rebuildCandidatesMax).catch(() => [])),
		];
		for (const id of candidates) {
			try {
				const snapshot = await deps.readSnapshot(id);
				if (snapshot?.head?.worktree !== deps.worktreeId || !(await keepalive.isKept(id))) continue;
				await runIn(root, env)(["read-tree", snapshot.tree]);
				await dir.writeHead(id);
				return;
			} catch {
				// Something of it is gone: an older one may be whole; without any, all is hashed anew.
				await dir.reset();
			}
		}
		await dir.forgetHead();
	}

	async function assertRootIsThere(cause: unknown): Promise<void> {
		if ((await gitDirNamedBy(root)) === repository.gitDir) return;
		throw new RewindError(
			"root-vanished",
			"The working tree is not there any more, or its .git leads elsewhere",
			{ hint: "No point was taken; earlier points are kept", cause },
		);
	}

	async function captureOnce(request: CaptureRequest, copy: string | undefined): Promise<Captured> {
		let reached = false;
		try {
			const captured = await captureNow(request, copy);
			reached = copy === undefined;
			return captured;
		} finally {
			if (!reached) personIndex.forget();
		}
	}

	async function captureNow(request: CaptureRequest, copy: string | undefined): Promise<Captured> {
		const { signal } = request;
		const git = runIn(root, copy === undefined ? env : { ...env, GIT_INDEX_FILE: copy });
		const startedAt = deps.now();
		await readLast();
		const rules = await readRuleFiles(repository, dir.gitDir);
		const young = loadYoung(dir.gitDir);
		const [listing, news, position] = await Promise.all([
			finder.changes({ git, rules, ownsIndex: copy === undefined, signal }),
			personIndex.news(git),
			headPosition(repository, deps.person),
		]);
		const doubtful = new Set([
			// Memory knows all of the times, so what is young to git is in its listing, too.
			...(listing.by === "git" ? touchedYoung(young, root, new Set(listing.changed)) : []),
			...listing.unequal,
			...listing.missing,
		]);
		const also = request.also ?? [];
		const ownsIndex = copy === undefined;
		// Of one that nothing keeps any more, parts can be gone.
		const base = last !== undefined && (await keepalive.isKept(last.id)) ? last : undefined;
		const taken = await take(
			{ git, listing, news, last, also, again: doubtful, signal },
			base,
			ownsIndex,
		);
		const { tree, found, failed } = taken;
		// An unmounted or vanished working tree looks like one whose files were all deleted.
		if (tree === empty && last !== undefined && last.tree !== empty)
			await assertRootIsThere(undefined);
		const draft: SnapshotDraft = {
			tree,
			made: taken.made,
			head: {
				v: 1,
				worktree: deps.worktreeId,
				place: placeOf(repository),
				scope: deps.scope,
				takenAt: startedAt,
				...position,
			},
			coverage: coverageOf(found, listing.unreadable, failed, request.modesOf ?? []),
			rules,
			before: base,
			owner: request.owner,
		};
		const captured = await reuseOrWrite(draft, request, copy === undefined);
		if (copy !== undefined) return captured;
		finder.left(taken.behind, taken.stats);
		await saveYoung(dir.gitDir, youngOf(found.signatures, young, leftIndex(found), startedAt));
		return captured;
	}

	/** By edit where that can be, else by index. `base` is the last snapshot, where it is sure to be whole. */
	async function take(
		request: SurveyRequest,
		base: Snapshot | undefined,
		ownsIndex: boolean,
	): Promise<Taken> {
		const { git, listing, again, signal } = request;
		const byMemory = listing.by === "memory";
		// Memory has each file as it was captured, whatever the index has of it.
		const first = await survey(byMemory ? { ...request, again: new Set() } : request);
		const editor = deps.treeEditor;
		const edited =
			base !== undefined && ownsIndex
				? await takeByEdit(repository, editor, base, first)
				: undefined;
		if (edited !== undefined) return edited;
		const doubtful = new Set([...listing.changed, ...again]);
		const all = byMemory ? await survey({ ...request, again: doubtful }) : first;
		// With a copy of the index, the last snapshot may be another by now than the one that git compared with.
		const state = { last: base, isCurrent: ownsIndex };
		return takeByIndex(git, repository, editor, state, all, signal);
	}

	/** Another process may have captured since: the private HEAD says which snapshot the index stands for. */
	async function readLast(): Promise<void> {
		const head = dir.readHead();
		if (head === last?.id) return;
		last = head === undefined ? undefined : await deps.readSnapshot(head);
		if (last === undefined && head !== undefined)
			throw new RewindError("object-missing", `The last snapshot, ${shortId(head)}, is gone`);
	}

	function coverageOf(
		found: Classified,
		unreadable: readonly BytePath[],
		failed: readonly NotCovered[],
		modesOf: readonly BytePath[],
	): CoverageLists {
		const notCovered = new Map<string, NotCovered>();
		for (const path of personIndex.sparse())
			notCovered.set(path, { path: bytePathOf(path), reason: "sparse" });
		for (const path of unreadable)
			if (!isOwn(deps.own, path)) notCovered.set(path, { path, reason: "unreadable" });
		for (const item of [...found.notCovered, ...failed]) notCovered.set(item.path, item);
		const gone = deps.scope === "tracked" ? absentOf(found) : [];
		return {
			notCovered: [...notCovered.values()],
			...bitsNow(last?.coverage, found, failed, readBits(root, modesOf)),
			gone: new Set(gone),
		};
	}

	async function reuseOrWrite(
		draft: SnapshotDraft,
		request: CaptureRequest,
		ownsIndex: boolean,
	): Promise<Captured> {
		const { notCovered } = draft.coverage;
		const { before } = draft;
		if (before !== undefined && deps.snapshotWriter.equalsBefore(draft)) {
			await claim(before.id, request, draft);
			return { snapshot: before, reused: true, notCovered };
		}
		const snapshot = await deps.snapshotWriter.write(draft);
		claimed.add(claimKey(request.owner, snapshot.id));
		if (ownsIndex) {
			await dir.writeHead(snapshot.id);
			last = snapshot;
		}
		return { snapshot, reused: false, notCovered };
	}

	/** Owners are a set: a session that takes over a snapshot says so once, or a sweep of the other could drop it. */
	async function claim(id: ObjectId, request: CaptureRequest, draft: SnapshotDraft): Promise<void> {
		const key = claimKey(request.owner, id);
		if (claimed.has(key)) return;
		if (request.isClaimed?.(id) !== true)
			await keepalive.claim([id], request.owner, Math.floor(draft.head.takenAt / 1000));
		claimed.add(key);
	}

	return capture;
}

/** Staged as gone: not on the disk. */
const absentOf = (found: Classified): BytePath[] =>
	found.stage.filter((path) => !found.signatures.has(path));

/** Paths that a capture took off the index. */
const leftIndex = (found: Classified): ReadonlySet<BytePath> =>
	new Set([...found.drop, ...absentOf(found)]);

const claimKey = (owner: Owner, id: ObjectId): string => `${owner.sessionId} ${id}`;
