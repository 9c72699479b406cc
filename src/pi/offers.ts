/**
 * What is offered at an entry of the session that runs: its point and the last restore's undo, weighed at one moment.
 *
 * An entry without a point is an offer with a reason, which names the nearest point before it.
 */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { NavigationFacts } from "../core/choices.ts";
import { describeEntry, pointKind } from "../core/entries.ts";
import { resolvePoint } from "../core/lineage.ts";
import type { Settings } from "../core/settings.ts";
import { lookNow, momentOr, notOffered, weighPoint, weighUndo } from "../engine/offers.ts";
import type { Preview, Rewind } from "../engine/rewind.ts";
import { type LineageProblem, problemWords } from "../sessions/log.ts";
import type { Session } from "./session.ts";

export interface Offers {
	readonly facts: NavigationFacts;
	/** What would be done for each choice; absent where it is not offered. */
	readonly restore: Preview | undefined;
	readonly undo: Preview | undefined;
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
	const { owner } = session;
	const moment = await momentOr(() => lookNow(engine, owner, session.ledger().latest, signal));
	const restore =
		point === undefined
			? notOffered(await reasonWithoutPoint(target, session))
			: await weighPoint(point, moment, engine, owner);
	const undo =
		undoPoint === undefined ? undefined : await weighUndo(undoPoint, moment, engine, owner);
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

/** Says why an entry has no point, and which one near it has. */
async function reasonWithoutPoint(
	target: SessionEntry | undefined,
	session: Session,
): Promise<string> {
	if (target === undefined) return "no such entry";
	const { chain, problems } = await session.lineage();
	const why = whyWithout(target, problems[0]);
	// A file can hold a circle of parents. [R10]
	const seen = new Set<string>([target.id]);
	let at = session.entry(target.parentId ?? "");
	while (at !== undefined && !seen.has(at.id)) {
		seen.add(at.id);
		if (resolvePoint(at, chain) !== undefined) return `${why}; the nearest is ${describeEntry(at)}`;
		at = session.entry(at.parentId ?? "");
	}
	return why;
}

/** Why no record binds it. */
export function whyWithout(target: SessionEntry, problem: LineageProblem | undefined): string {
	if (pointKind(target) === "none") return "this kind of entry has no point of its own";
	if (problem === undefined) return "no point was taken there";
	// Its record stands in a file that could not be read: nobody can say that there is no point.
	return `a session before this one ${problemWords[problem.reason]}`;
}
