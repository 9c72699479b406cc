/**
 * The verbs that the rims call, and the order of their effects. Decides nothing that `core/` can decide.
 *
 *   preview   capture ▸ diff ▸ rules ▸ look ▸ plan              what a restore would do; reads only
 *   prepare   stage every content                               finds what could fail; the tree is untouched
 *   perform   capture (the undo) ▸ journal ▸ do ▸ verify ▸ capture (current)
 *
 * Invariants: [R4] the undo is captured at the moment of doing, never when the question was asked; what changed
 * since then is left alone. [R9] the journal stands until the caller has recorded the outcome (`complete`).
 */
import type { Snapshot } from "../core/coverage.ts";
import { isRewindError, RewindError, throwIfAborted } from "../core/errors.ts";
import type { BytePath, ObjectId, SnapshotId } from "../core/ids.ts";
import { listNames } from "../core/choices.ts";
import {
	type Counts,
	countSteps,
	type Plan,
	planRestore,
	type Skip,
	type TreeChange,
	withoutPaths,
} from "../core/plan.ts";
import type {
	Captured,
	CaptureRequest,
	Interrupted,
	Owner,
	SnapshotStore,
	Stage,
	Worktree,
} from "./ports.ts";
import {
	claimRecorded,
	planSweep,
	sweep,
	type SweepOutcome,
	type SweepPlan,
	type SweepRequest,
} from "./sweep.ts";

/** What a restore to `target` would do, from the files as they were at `now`. */
export interface Preview {
	readonly target: Snapshot;
	readonly now: Snapshot;
	readonly plan: Plan;
	/** The paths that were asked for; everything when absent. */
	readonly only?: ReadonlySet<BytePath>;
	readonly contents?: Contents;
	readonly asShown: boolean;
}

/** By path, content that stands in for the target's, where only a part of a file goes back. Bits stay as they are. */
export type Contents = ReadonlyMap<BytePath, ObjectId>;

/** A preview whose content is ready on the disk. Used once: performed or discarded. */
export interface Prepared {
	readonly preview: Preview;
	readonly stage: Stage;
}

export interface Restored {
	/** The files as they were right before. */
	readonly undo: SnapshotId;
	/** The files as they are now; absent when they could not be captured afterwards. */
	readonly current: SnapshotId | undefined;
	/** Of a restore of chosen paths, the files as they are now: its undo touches only what differs from `undo`. */
	readonly undoAfter?: SnapshotId;
	/** What is on the disk now, verified. */
	readonly counts: Counts;
	/** Paths that differ from the target and were left alone. */
	readonly skips: readonly Skip[];
	/** To be called when the outcome is recorded. */
	complete(): Promise<void>;
}

export interface RestoreRequest {
	readonly target: Snapshot;
	readonly owner: Owner;
	/** The files now, when they were just captured: two previews of one moment share one capture. */
	readonly from?: Snapshot;
	/** Only these paths; everything when absent. */
	readonly only?: ReadonlySet<BytePath>;
	/** Of a path that is in the files and in the target. */
	readonly contents?: Contents;
	/**
	 * Refuse the whole restore when any of its paths changed since `from`; the person chose by what they saw. Without it
	 * such a path is left alone.
	 */
	readonly asShown?: boolean;
	/** Paths that an interrupted restore may have brought back although they are ignored now. */
	readonly also?: readonly BytePath[];
	readonly signal?: AbortSignal;
}

/** Up to where a restore can be cancelled: its first write. What is half done by then is not left half done. */
export interface PointOfNoReturn {
	readonly signal: AbortSignal;
	/** From now on `signal` is not listened to. */
	onReached(): void;
}

/** How a restore that was cut off is brought to an end. */
export type Recovery = "finish" | "roll-back";

export interface Rewind {
	readonly store: SnapshotStore;
	capture(request: CaptureRequest): Promise<Captured>;
	/** Throws `operation-in-progress` during a merge, rebase, …; a restore would mix with it. */
	preview(request: RestoreRequest): Promise<Preview>;
	/** Throws `aborted` when `signal` says so; nothing is left then. */
	prepare(preview: Preview, signal?: AbortSignal): Promise<Prepared>;
	/**
	 * Throws `files-changed` when the preview is to be done as shown or not at all, and `aborted`. Whatever it throws,
	 * `prepared` is used up.
	 */
	perform(prepared: Prepared, owner: Owner, until?: PointOfNoReturn): Promise<Restored>;
	discard(prepared: Prepared): Promise<void>;
	/** Every path that differs between two snapshots. */
	changedBetween(from: Snapshot, to: Snapshot): Promise<TreeChange[]>;
	interrupted(): Promise<Interrupted[]>;
	/** Restores begun on other hosts, which may still be at it. */
	elsewhere(): Promise<Interrupted[]>;
	recover(interrupted: Interrupted, how: Recovery, owner: Owner): Promise<Restored>;
	forget(interrupted: Interrupted): Promise<void>;
	/** Removes what processes that are gone left behind. */
	clearLeftovers(): Promise<void>;
	/** Keeps for an owner what its records name, where somebody keeps it. */
	claim(owner: Owner, recorded: ReadonlySet<SnapshotId>): Promise<void>;
	/** What a sweep would drop, and why each other stays. */
	planSweep(request: SweepRequest): Promise<SweepPlan>;
	sweep(request: SweepRequest): Promise<SweepOutcome>;
	close(): Promise<void>;
}

/** Puts the verbs on a store and a working tree. `now` gives milliseconds since the epoch. */
export function createRewind(store: SnapshotStore, worktree: Worktree, now: () => number): Rewind {
	async function refuseDuringOperation(): Promise<void> {
		const operation = await store.operationInProgress();
		if (operation === undefined) return;
		throw new RewindError("operation-in-progress", `A ${operation} is in progress`, {
			hint: `Finish or abort the ${operation} first; no files were changed`,
			data: { operation },
		});
	}

	async function captureFor({ owner, also, signal }: RestoreRequest): Promise<Snapshot> {
		const more = {
			...(also === undefined ? {} : { also }),
			...(signal === undefined ? {} : { signal }),
		};
		return (await store.capture({ owner, ...more })).snapshot;
	}

	async function preview(request: RestoreRequest): Promise<Preview> {
		await refuseDuringOperation();
		const { target, only, contents, asShown = false } = request;
		const from = request.from ?? (await captureFor(request));
		const changes = withContents(await store.changes(from, target), contents);
		const paths = changes.map(({ path }) => path);
		const gone = changes.filter(({ to }) => to === undefined).map(({ path }) => path);
		const ignoredThen = rulesDiffer(from, target, changes)
			? await store.ignoredUnder(target, gone)
			: new Set<BytePath>();
		const plan = planRestore({
			changes,
			now: from,
			target,
			ignoredThen,
			disk: await worktree.inspect(paths),
			...(only === undefined ? {} : { only }),
		});
		const part = {
			...(only === undefined ? {} : { only }),
			...(contents === undefined ? {} : { contents }),
		};
		return { target, now: from, plan, asShown, ...part };
	}

	async function perform(
		{ preview: { target, now: asked, plan, only, contents, asShown }, stage }: Prepared,
		owner: Owner,
		{
			until,
			formerPaths = [],
		}: { until?: PointOfNoReturn; formerPaths?: readonly BytePath[] } = {},
	): Promise<Restored> {
		const signal = until?.signal;
		let performed: Awaited<ReturnType<Worktree["perform"]>>;
		let before: Captured;
		let steps: Plan;
		try {
			await refuseDuringOperation();
			const modesOf = plan.steps.map(({ path }) => path);
			before = await store.capture({ owner, modesOf, ...(signal && { signal }) });
			const moved = await store.changes(asked, before.snapshot);
			const changed = new Set(moved.map(({ path }) => path));
			if (asShown) refuseChanged(plan, changed);
			steps = withoutPaths(plan, changed);
			throwIfAborted(signal);
			until?.onReached();
			performed = await worktree.perform(stage, steps.steps, {
				sessionId: owner.sessionId,
				target: target.id,
				undo: before.snapshot.id,
				paths: steps.steps.map(({ path }) => path),
				startedAt: now(),
				formerPaths,
				asShown,
				...(contents === undefined ? {} : { contents }),
			});
		} catch (error) {
			// What an interrupted restore kept aside stays: its journal names it. [R9]
			if (!isRewindError(error) || error.code !== "restore-interrupted") await stage.discard();
			throw error;
		}
		// The restore is done and verified; not being able to capture it again takes nothing of that back. [R12]
		const also = performed.done.filter(({ kind }) => kind === "write").map(({ path }) => path);
		const current = await store.capture({ owner, also }).then(
			({ snapshot }) => snapshot.id,
			() => undefined,
		);
		// Without that capture nobody can tell which paths they were: then an undo leaves all alone. [R5]
		const undoAfter = only === undefined ? undefined : (current ?? before.snapshot.id);
		return {
			undo: before.snapshot.id,
			current,
			...(undoAfter === undefined ? {} : { undoAfter }),
			counts: countSteps(performed.done),
			skips: [...steps.skips, ...performed.skips],
			complete: performed.complete,
		};
	}

	async function prepare(shown: Preview, signal?: AbortSignal): Promise<Prepared> {
		const stage = await worktree.stage(shown.plan.steps, store.readBlobs, signal);
		return { preview: shown, stage };
	}

	return {
		store,
		capture: store.capture,
		preview,
		prepare,
		perform: (prepared, owner, until) => perform(prepared, owner, until && { until }),
		discard: ({ stage }) => stage.discard(),
		changedBetween: store.changes,
		interrupted: worktree.interrupted,
		elsewhere: worktree.elsewhere,
		async recover(interrupted, how, owner) {
			const { journal } = interrupted;
			const target = await store.resolve(how === "finish" ? journal.target : journal.undo);
			if (typeof target === "string")
				throw new RewindError(
					"object-missing",
					`Cannot ${how === "finish" ? "finish" : "roll back"}: that snapshot is not there any more (${target})`,
					{
						hint: "The files are as the interrupted restore left them",
					},
				);
			const shown = await preview({
				target,
				owner,
				only: new Set(journal.paths),
				also: journal.paths,
				...(how === "finish" && journal.contents !== undefined
					? { contents: journal.contents }
					: {}),
			});
			const restored = await perform(await prepare(shown), owner, {
				formerPaths: journal.paths,
			});
			// What it was before is recorded by whoever ends it, and was kept for whoever began it.
			if (typeof (await store.resolve(journal.undo)) !== "string")
				await store.keeping.claim([journal.undo], owner);
			return {
				...restored,
				async complete() {
					await restored.complete();
					await worktree.forget(interrupted);
				},
			};
		},
		forget: worktree.forget,
		clearLeftovers: worktree.clearLeftovers,
		claim: (owner, recorded) => claimRecorded(store.keeping, owner, recorded),
		planSweep: (request) => planSweep(store.keeping, now, request),
		sweep: (request) => sweep(store.keeping, now, request),
		close: store.close,
	};
}

/** Only then can a path that is absent from the target have been there, ignored. */
function rulesDiffer(now: Snapshot, target: Snapshot, changes: readonly TreeChange[]): boolean {
	// A predecessor's snapshot does not say which rules were in force outside its tree: its own files decide.
	const outside =
		target.head !== undefined &&
		(now.rules.infoExclude !== target.rules.infoExclude ||
			now.rules.excludesFile !== target.rules.excludesFile);
	return (
		outside || changes.some(({ path }) => path === ".gitignore" || path.endsWith("/.gitignore"))
	);
}

/** Content that is given stands in for the target's; where the file holds it already there is nothing to do. */
function withContents(
	changes: readonly TreeChange[],
	contents: Contents | undefined,
): readonly TreeChange[] {
	if (contents === undefined) return changes;
	return changes.flatMap((change) => {
		const id = contents.get(change.path);
		if (id === undefined || change.from === undefined) return [change];
		return change.from.id === id ? [] : [{ ...change, to: { mode: change.from.mode, id } }];
	});
}

function refuseChanged({ steps, skips }: Plan, changed: ReadonlySet<BytePath>): void {
	const paths = [...steps, ...skips].map(({ path }) => path).filter((path) => changed.has(path));
	if (paths.length === 0) return;
	throw new RewindError("files-changed", `${listNames(paths)} changed in the meantime`, {
		hint: "No files were changed; look at the changes again",
		data: { paths },
	});
}
