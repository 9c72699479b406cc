/**
 * What can be done with the files at a point, and what it would cost: the facts behind every question.
 *
 * One look at the files serves all offers of a question: they start from the same moment. Nothing is changed here. A
 * point that cannot be used is an offer with a reason, never an error; so is a look that fails, since keeping the files
 * is still possible.
 */
import type { Offer, Position } from "../core/choices.ts";
import type { Snapshot } from "../core/coverage.ts";
import { describeError, isRewindError } from "../core/errors.ts";
import type { BytePath, SnapshotId } from "../core/ids.ts";
import type { ResolvedUndo } from "../core/lineage.ts";
import type { Owner, Unavailable } from "./ports.ts";
import type { Preview, RestoreRequest, Rewind } from "./rewind.ts";
import { pathsToUndo } from "./undo.ts";

/** An offer, and what would be done for it; absent where nothing is offered. */
export interface Weighed {
	readonly offer: Offer;
	readonly preview: Preview | undefined;
}

/** The files now, and what changed in them since the session's newest boundary. */
export interface Moment {
	readonly now: Snapshot;
	/** Absent when there is none, or it cannot be read any more. */
	readonly boundary?: Snapshot;
	readonly changed: readonly BytePath[];
}

/** Captures the files. `latest` is the newest boundary that the session's records name. */
export async function lookNow(
	engine: Rewind,
	owner: Owner,
	latest: SnapshotId | undefined,
	signal?: AbortSignal,
): Promise<Moment> {
	const captured = await engine.capture({ owner, ...(signal === undefined ? {} : { signal }) });
	const boundary = latest === undefined ? undefined : await engine.store.resolve(latest);
	const now = captured.snapshot;
	if (boundary === undefined || typeof boundary === "string") return { now, changed: [] };
	const changes = await engine.changedBetween(boundary, now);
	return { now, boundary, changed: changes.map(({ path }) => path) };
}

/** The moment, or the words why there is none. Throws `aborted` alone. */
export async function momentOr(look: () => Promise<Moment>): Promise<Moment | string> {
	try {
		return await look();
	} catch (error) {
		if (isAborted(error)) throw error;
		return describeError(error);
	}
}

/** Weighs the restore of a snapshot, or of a part of it. Throws `aborted` alone. */
export async function weighPoint(
	id: SnapshotId,
	moment: Moment | string,
	engine: Rewind,
	owner: Owner,
	part: Pick<RestoreRequest, "only" | "contents" | "asShown"> = {},
): Promise<Weighed> {
	if (typeof moment === "string") return notOffered(moment);
	const target = await engine.store.resolve(id);
	if (typeof target === "string") return notOffered(unavailableWords[target]);
	try {
		const preview = await engine.preview({ target, owner, from: moment.now, ...part });
		const planned = new Set(preview.plan.steps.map(({ path }) => path));
		return {
			preview,
			offer: {
				kind: "available",
				counts: preview.plan.counts,
				skips: preview.plan.skips,
				changedSince: moment.changed.filter((path) => planned.has(path)),
				...(await positions(target, moment.now, engine)),
				notCovered: moment.now.coverage.notCovered,
			},
		};
	} catch (error) {
		if (isAborted(error)) throw error;
		return notOffered(describeError(error));
	}
}

/** Weighs an undo; of a restore of chosen paths, only of those. Throws `aborted` alone. */
export async function weighUndo(
	{ snapshot, after }: Pick<ResolvedUndo, "snapshot" | "after">,
	moment: Moment | string,
	engine: Rewind,
	owner: Owner,
): Promise<Weighed> {
	if (after === undefined) return weighPoint(snapshot, moment, engine, owner);
	try {
		const before = await engine.store.resolve(snapshot);
		if (typeof before === "string") return notOffered(unavailableWords[before]);
		const only = await pathsToUndo(engine.store, before, after);
		if (typeof only === "string") return notOffered(unavailableWords[only]);
		const part = only === undefined ? {} : { only };
		return await weighPoint(snapshot, moment, engine, owner, part);
	} catch (error) {
		if (isAborted(error)) throw error;
		return notOffered(describeError(error));
	}
}

async function positions(
	target: Snapshot,
	now: Snapshot,
	engine: Rewind,
): Promise<{ taken: Position; standing: Position; commitsSince?: number }> {
	const standing: Position = now.head ?? {};
	// A predecessor's snapshot does not say where HEAD was: then nothing is said about it.
	const taken: Position = target.head ?? standing;
	if (taken.head === undefined || taken.head === standing.head) return { taken, standing };
	const commitsSince = await engine.store.commitsSince(taken.head);
	return { taken, standing, ...(commitsSince === undefined ? {} : { commitsSince }) };
}

const isAborted = (error: unknown): boolean => isRewindError(error) && error.code === "aborted";

export const notOffered = (reason: string): Weighed => ({
	offer: { kind: "unavailable", reason },
	preview: undefined,
});

/** Why a snapshot that a record names cannot be used. */
export const unavailableWords: Record<Unavailable, string> = {
	pruned: "its snapshot is not in the repository any more",
	"other-worktree": "its snapshot was taken in another working tree or repository",
	"not-a-snapshot": "the session names something that is no snapshot",
};
