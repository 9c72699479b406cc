/**
 * What can be done with the files at an entry, and what it would cost: the facts behind every dialog.
 *
 * One capture per question: all its offers start from the same moment. Nothing is changed here. A point that cannot be
 * used is an offer with a reason, never an error; so is a capture that fails, since keeping the files is still possible.
 */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { NavigationFacts, Offer, Position } from "../core/choices.ts";
import type { Snapshot } from "../core/coverage.ts";
import { describeError, isRewindError } from "../core/errors.ts";
import type { BytePath, SnapshotId } from "../core/ids.ts";
import type { Settings } from "../core/settings.ts";
import type { Unavailable } from "../engine/ports.ts";
import type { Preview, Rewind } from "../engine/rewind.ts";
import { pathsToUndo } from "../engine/undo.ts";
import { describeEntry, pointKind } from "./entries.ts";
import type { Session } from "./session.ts";
import type { LineageProblem, SessionProblemReason } from "../sessions/log.ts";

export interface Offers {
	readonly facts: NavigationFacts;
	/** What would be done for each choice; absent where it is not offered. */
	readonly restore: Preview | undefined;
	readonly undo: Preview | undefined;
}

interface Weighed {
	readonly offer: Offer;
	readonly preview: Preview | undefined;
}

/** The files now, and what changed in them since the session's newest boundary. */
interface Moment {
	readonly now: Snapshot;
	readonly changed: readonly BytePath[];
}

/**
 * Weighs what can be done at `target`: restoring its point, and undoing the last restore. Throws `aborted` alone, when
 * `signal` says so.
 */
export async function offersAt(
	target: SessionEntry | undefined,
	engine: Rewind,
	session: Session,
	settings: Pick<Settings, "safetySnapshot">,
	signal: AbortSignal | undefined,
): Promise<Offers> {
	const words = target === undefined ? "that entry" : describeEntry(target);
	const point = target === undefined ? undefined : await session.point(target);
	const undoPoint = settings.safetySnapshot ? await session.undo() : undefined;
	const moment = await momentOr(() => lookNow(engine, session, signal));
	const weigh = (id: SnapshotId, undoAfter?: SnapshotId): Promise<Weighed> =>
		weighPoint({ id, undoAfter }, moment, engine, session);
	const restore =
		point === undefined
			? notOffered(await reasonWithoutPoint(target, session))
			: await weigh(point);
	const undo =
		undoPoint === undefined ? undefined : await weigh(undoPoint.snapshot, undoPoint.after);
	return {
		facts: {
			target: words,
			restore: restore.offer,
			running: false,
			...(undo === undefined ? {} : { undo: undo.offer }),
		},
		restore: restore.preview,
		undo: undo?.preview,
	};
}

/** While an agent runs nothing is weighed: the files are not to be touched. */
export const offersWhileRunning = (target: SessionEntry | undefined): Offers => ({
	facts: {
		target: target === undefined ? "that entry" : describeEntry(target),
		restore: { kind: "unavailable", reason: "an agent is running" },
		running: true,
	},
	restore: undefined,
	undo: undefined,
});

async function lookNow(
	engine: Rewind,
	{ owner, ledger }: Session,
	signal: AbortSignal | undefined,
): Promise<Moment> {
	const captured = await engine.capture({ owner, ...(signal === undefined ? {} : { signal }) });
	const { latest } = ledger();
	const boundary = latest === undefined ? undefined : await engine.store.resolve(latest);
	const now = captured.snapshot;
	if (boundary === undefined || typeof boundary === "string") return { now, changed: [] };
	const changes = await engine.changedBetween(boundary, now);
	return { now, changed: changes.map(({ path }) => path) };
}

/** The moment, or the words why there is none. */
async function momentOr(look: () => Promise<Moment>): Promise<Moment | string> {
	try {
		return await look();
	} catch (error) {
		if (isAborted(error)) throw error;
		return describeError(error);
	}
}

async function weighPoint(
	{ id, undoAfter }: { id: SnapshotId; undoAfter: SnapshotId | undefined },
	moment: Moment | string,
	engine: Rewind,
	{ owner }: Session,
): Promise<Weighed> {
	if (typeof moment === "string") return notOffered(moment);
	const target = await engine.store.resolve(id);
	if (typeof target === "string") return notOffered(unavailableWords[target]);
	try {
		const only = await pathsToUndo(engine.store, target, undoAfter);
		if (typeof only === "string") return notOffered(unavailableWords[only]);
		const part = only === undefined ? {} : { only };
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

/** Says why an entry has no point, and which one near it has. */
async function reasonWithoutPoint(
	target: SessionEntry | undefined,
	session: Session,
): Promise<string> {
	if (target === undefined) return "no such entry";
	const [problem] = (await session.lineage()).problems;
	const why = whyWithout(target, problem);
	// A file can hold a circle of parents. [R10]
	const seen = new Set<string>([target.id]);
	let at = session.entry(target.parentId ?? "");
	while (at !== undefined && !seen.has(at.id)) {
		seen.add(at.id);
		if ((await session.point(at)) !== undefined)
			return `${why}; the nearest is ${describeEntry(at)}`;
		at = session.entry(at.parentId ?? "");
	}
	return why;
}

function whyWithout(target: SessionEntry, problem: LineageProblem | undefined): string {
	if (pointKind(target) === "none") return "this kind of entry has no point of its own";
	if (problem === undefined) return "no point was taken there";
	// Its record stands in a file that could not be read: nobody can say that there is no point.
	return `a session before this one ${problemWords[problem.reason]}`;
}

const problemWords: Record<SessionProblemReason, string> = {
	missing: "is not there any more",
	unreadable: "cannot be read",
	"not-a-session": "is no session file",
	cycle: "names itself as its parent",
	"too-deep": "is too far back",
};

const isAborted = (error: unknown): boolean => isRewindError(error) && error.code === "aborted";

const notOffered = (reason: string): Weighed => ({
	offer: { kind: "unavailable", reason },
	preview: undefined,
});

const unavailableWords: Record<Unavailable, string> = {
	pruned: "its snapshot is not in the repository any more",
	"other-worktree": "its snapshot was taken in another working tree or repository",
	"not-a-snapshot": "the session names something that is no snapshot",
};
