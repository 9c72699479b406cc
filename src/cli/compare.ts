/** `show` and `diff`: what a point holds, what differs from another one or from the files now. */
import { type FileChange, type FilePatch, type LineCounts, markOf } from "../core/changes.ts";
import { describeNotCovered } from "../core/choices.ts";
import type { Snapshot } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import { type Owner, unknownOwner } from "../core/retention.ts";
import { type BytePath, displayPath, isWithin, shortId } from "../core/ids.ts";
import { unavailableWords } from "../engine/offers.ts";
import type { CommandLine } from "./arguments.ts";
import { notCoveredFacts, pathFacts, snapshotFacts, targetFacts } from "./facts.ts";
import { exitCodes, type Report } from "./io.ts";
import { countMarks, marksText } from "./list.ts";
import { patchText } from "./patch.ts";
import { pathsOf } from "./paths.ts";
import { findTarget, type Target } from "./points.ts";
import { branchText, linesText, localTime, plainText, table } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** A difference, with what a person wants to know of it. */
interface Shown {
	readonly change: FileChange;
	/** Absent where the content is no text. */
	readonly lines: LineCounts | undefined;
	readonly patch: FilePatch | undefined;
}

/** Whether a person sees the answer, so that patches must not drive the terminal. */
export interface Watched {
	readonly isWatched: boolean;
}

/** What a point is, and what changed since the point before it. */
export async function show(place: Workplace, asked: CommandLine, view: Watched): Promise<Report> {
	const [word = ""] = asked.words;
	const target = await findTarget(place, word);
	const snapshot = await usable(place, target);
	const { found, entry } = target;
	const before =
		found === undefined || entry === undefined ? undefined : await found.snapshotAbove(entry);
	const from = before === undefined ? undefined : await place.rewind.store.resolve(before);
	const known = from === undefined || typeof from === "string" ? undefined : from;
	const shown = known === undefined ? undefined : await differences(place, known, snapshot, asked);
	const facts = {
		...targetFacts(target),
		...snapshotFacts(snapshot),
		notCovered: snapshot.coverage.notCovered.map(notCoveredFacts),
		before: known?.id ?? null,
		changes: shown?.map(changeFacts) ?? null,
	};
	const head = showHead(target, snapshot);
	const tail =
		shown === undefined
			? ["There is no point before it to compare with.\n"]
			: ["Since the point before it: ", ...shownText(shown, view)];
	return { exit: exitCodes.done, facts, text: [head, ...tail] };
}

/** What differs between a point and another one, or the files now. */
export async function diff(place: Workplace, asked: CommandLine, view: Watched): Promise<Report> {
	const [first = "", second] = asked.words;
	const target = await findTarget(place, first);
	const from = await usable(place, target);
	const other = second === undefined ? undefined : await findTarget(place, second);
	const to = other === undefined ? await filesNow(place, target) : await usable(place, other);
	const shown = await differences(place, from, to, asked);
	const facts = {
		from: targetFacts(target),
		to: other === undefined ? { files: "now", snapshot: to.id } : targetFacts(other),
		changes: shown.map(changeFacts),
	};
	const where = `From ${target.label} to ${other?.label ?? "the files now"}: `;
	// A patch alone can be piped into `git apply`.
	const isPatch = asked.patch && !view.isWatched;
	return {
		exit: exitCodes.done,
		facts,
		text: isPatch ? patches(shown, view) : [where, ...shownText(shown, view)],
	};
}

/** The snapshot of a target. Throws `point-unavailable` with the reason where it cannot be used. */
export async function usable(place: Workplace, target: Target): Promise<Snapshot> {
	const snapshot = await place.rewind.store.resolve(target.snapshot);
	if (typeof snapshot !== "string") return snapshot;
	throw new RewindError(
		"point-unavailable",
		`Cannot use ${target.label}: ${unavailableWords[snapshot]}`,
		{ hint: "pi-rewind list shows which points are there", data: { snapshot: target.snapshot } },
	);
}

/** Captured, as at any boundary: kept for the session that the point belongs to. */
async function filesNow(place: Workplace, { found }: Target): Promise<Snapshot> {
	return (await place.rewind.capture({ owner: ownerOf(found) })).snapshot;
}

/** For whom a restore's snapshots are kept: a session; without one nobody can be known to need them no more. [R8] */
export const keeperOf = (found: Target["found"]): Owner =>
	found === undefined ? unknownOwner : ownerOf(found);

/** For whom a look is kept: a session, or the command line for as long as it runs. */
const ownerOf = (found: Target["found"]) =>
	found === undefined
		? { sessionId: "pi-rewind" }
		: { sessionId: found.session.sessionId, sessionFile: found.session.file };

async function differences(
	place: Workplace,
	from: Snapshot,
	to: Snapshot,
	{ patch, paths }: CommandLine,
): Promise<Shown[]> {
	const { store } = place.rewind;
	const wanted = paths.length === 0 ? undefined : await pathsOf(place, paths);
	const isWanted = (path: BytePath | undefined): boolean =>
		path !== undefined && (wanted?.some((above) => isWithin(path, above)) ?? true);
	const changes = (await store.compare(from, to)).filter(
		({ path, renamedFrom }) => isWanted(path) || isWanted(renamedFrom),
	);
	const lines = changes.length === 0 ? undefined : await store.lineCounts(from, to);
	const shown: Shown[] = [];
	for (const change of changes)
		shown.push({
			change,
			lines: lines?.get(change.path),
			patch: patch ? await store.patch(change) : undefined,
		});
	return shown;
}

function changeFacts({ change, lines, patch }: Shown): object {
	const { path, renamedFrom, from, to } = change;
	return {
		mark: markOf(change),
		...pathFacts(path),
		...(renamedFrom === undefined ? {} : { renamedFrom: pathFacts(renamedFrom) }),
		lines: lines ?? null,
		fromMode: from?.mode.toString(8) ?? null,
		toMode: to?.mode.toString(8) ?? null,
		...(patch === undefined ? {} : { patch: patchFacts(patch) }),
	};
}

const patchFacts = (patch: FilePatch): object =>
	patch.kind === "text" ? { kind: "text", hunks: patch.hunks.toString("utf8") } : patch;

function showHead(target: Target, snapshot: Snapshot): string {
	const { entry, found } = target;
	const { head, coverage } = snapshot;
	const at = head?.head === undefined ? "" : ` @${shortId(head.head)}`;
	const rows = [
		...(entry === undefined ? [] : [["entry", plainText(entry.id)]]),
		["taken", localTime(head?.takenAt ?? Date.parse(entry?.timestamp ?? ""))],
		["snapshot", snapshot.id],
		...(head === undefined ? [] : [["branch", `${branchText(head.branch) || "detached"}${at}`]]),
		...(head?.scope === "tracked" ? [["covers", "tracked files only"]] : []),
		...(coverage.notCovered.length === 0
			? []
			: [["not covered", describeNotCovered(coverage.notCovered)]]),
		...(found === undefined ? [] : [["session", plainText(found.session.file)]]),
	];
	const [first = "", ...rest] = target.label;
	return `${first.toUpperCase()}${rest.join("")}\n${table(rows)}`;
}

/** The numbers, then a line for each path, then the patches where they are wanted. */
function shownText(shown: readonly Shown[], view: Watched): (string | Buffer)[] {
	if (shown.length === 0) return ["nothing differs.\n"];
	const counts = marksText(countMarks(shown.map(({ change }) => change)));
	return [`${counts}\n`, table(shown.map(changeRow)), ...patches(shown, view)];
}

function patches(shown: readonly Shown[], { isWatched }: Watched): Buffer[] {
	return shown.flatMap(({ change, patch }) =>
		patch === undefined ? [] : [patchText(change, patch, isWatched)],
	);
}

function changeRow({ change, lines }: Shown): string[] {
	const { path, renamedFrom, from, to } = change;
	const was = renamedFrom === undefined ? "" : `${displayPath(renamedFrom)} → `;
	const modes = from !== undefined && to !== undefined && from.mode !== to.mode;
	return [
		markOf(change),
		linesText(lines),
		`${was}${displayPath(path)}${modes ? ` (${from.mode.toString(8)} → ${to.mode.toString(8)})` : ""}`,
	];
}
