/**
 * `restore` and `undo`: plan, show, ask, do, record.
 *
 * Invariants: [R4] nothing changes before somebody said yes to the plan that is carried out. [R9] what would keep the
 * outcome from being recorded is looked for first; the journal stands until it is recorded.
 */
import { describeCounts, describeOutcome, describeSkips, warningsOf } from "../core/choices.ts";
import type { RestoreOffer } from "../core/choices.ts";
import { describeError, RewindError } from "../core/errors.ts";
import { type BytePath, displayPath, isWithin, shortId } from "../core/ids.ts";
import type { Step } from "../core/plan.ts";
import { customTypes, encodeOp, type Restored as RestoredNote } from "../core/records.ts";
import { lookNow, type Moment, type Weighed, weighPoint, weighUndo } from "../engine/offers.ts";
import type { Owner } from "../engine/ports.ts";
import type { OpenSession } from "../engine/presence.ts";
import type { Preview, Restored } from "../engine/rewind.ts";
import { appendCustomEntry, checkAppendable } from "../sessions/append.ts";
import type { CommandLine } from "./arguments.ts";
import { keeperOf } from "./compare.ts";
import { notCoveredFacts, pathFacts, skipFacts, targetFacts } from "./facts.ts";
import { type CliDeps, exitCodes, type Report, type Terminal } from "./io.ts";
import { pathsOf } from "./paths.ts";
import { findTarget, type Target } from "./points.ts";
import type { FoundSession } from "./sessions.ts";
import { plainText, table } from "./text.ts";
import { newestUndo } from "./undo.ts";
import type { Workplace } from "./workplace.ts";

/** Puts the files, or those below the given paths, back to a point. */
export async function restore(
	place: Workplace,
	asked: CommandLine,
	deps: CliDeps,
): Promise<Report> {
	const [word = "", ...paths] = asked.words;
	const target = await findTarget(place, word);
	const only = paths.length === 0 ? undefined : await pathsOf(place, paths);
	const weigh: Weigh = async (moment, owner) => {
		const part = only === undefined ? undefined : await partOf(place, target, moment.now, only);
		const chosen = part === undefined ? {} : { only: part };
		return weighPoint(target.snapshot, moment, place.rewind, owner, chosen);
	};
	return goTo(place, { target, what: "restore", weigh }, asked, deps);
}

/** Puts the files, or those that it touched, back to what they were before the newest restore. */
export async function undo(place: Workplace, asked: CommandLine, deps: CliDeps): Promise<Report> {
	const { target, undone } = await newestUndo(place);
	const weigh: Weigh = (moment, owner) => weighUndo(undone, moment, place.rewind, owner);
	return goTo(place, { target, what: "undo", weigh }, asked, deps);
}

type Weigh = (moment: Moment, owner: Owner) => Promise<Weighed>;

/** Where the files are to go. */
interface Wish {
	readonly target: Target;
	readonly what: "restore" | "undo";
	readonly weigh: Weigh;
}

async function goTo(
	place: Workplace,
	wish: Wish,
	asked: CommandLine,
	{ terminal, now }: CliDeps,
): Promise<Report> {
	const { target } = wish;
	if (!asked.dryRun) {
		await refuseWhileInterrupted(place);
		await refuseUnrecordable(place, target.found);
	}
	const { offer, preview } = await weighed(place, wish);
	const open = await place.presence.openSessions();
	const shown = planText(wish, offer, preview, open);
	const facts = { ...targetFacts(target), ...planFacts(offer, preview) };
	if (preview.plan.steps.length === 0 || asked.dryRun)
		return { exit: exitCodes.done, facts: { ...facts, done: false }, text: shown };
	if (!asked.yes) await confirm(shown, asked, terminal);
	// Somebody may have opened the session while the question stood.
	await refuseWhileInterrupted(place);
	await refuseUnrecordable(place, target.found);
	const done = await terminal.uninterrupted(() => perform(place, wish, preview, now()));
	return {
		exit: exitCodes.done,
		facts: { ...facts, done: true, ...outcomeFacts(done) },
		text: `${asked.yes ? `${shown}\n` : ""}${outcomeText(done)}`,
	};
}

/** Throws `not-confirmed` unless a person says yes to what is shown. */
async function confirm(shown: string, { json }: CommandLine, terminal: Terminal): Promise<void> {
	if (terminal.ask === undefined || json)
		throw new RewindError("not-confirmed", "Nothing was changed: nobody can be asked here", {
			hint: "Look at the plan with --dry-run, then say --yes",
		});
	terminal.out(shown);
	const answer = await terminal.ask("Change these files? [y/N] ");
	if (!/^y(es)?$/i.test(answer.trim()))
		throw new RewindError("not-confirmed", "Nothing was changed");
}

async function weighed(
	{ rewind }: Workplace,
	{ target, weigh }: Wish,
): Promise<{ offer: RestoreOffer; preview: Preview }> {
	const owner = keeperOf(target.found);
	const moment = await lookNow(rewind, owner, target.found?.session.ledger.latest);
	const { offer, preview } = await weigh(moment, owner);
	if (offer.kind === "available" && preview !== undefined) return { offer, preview };
	const reason = offer.kind === "unavailable" ? offer.reason : "it cannot be weighed";
	throw new RewindError("point-unavailable", `Files cannot be restored there: ${reason}`, {
		hint: "No files were changed",
	});
}

/** The paths that differ, of those that were asked for. */
async function partOf(
	{ rewind }: Workplace,
	target: Target,
	now: Preview["now"],
	only: readonly BytePath[],
): Promise<ReadonlySet<BytePath> | undefined> {
	const snapshot = await rewind.store.resolve(target.snapshot);
	// Why it is of no use is said where it is weighed.
	if (typeof snapshot === "string") return undefined;
	const differing = await rewind.changedBetween(now, snapshot);
	return new Set(
		differing.map(({ path }) => path).filter((path) => only.some((above) => isWithin(path, above))),
	);
}

/** What was done, and what is on record about it. */
interface Done {
	readonly restored: Restored;
	readonly note: RestoredNote;
	/** The new entry of the session; absent where no session is concerned. */
	readonly recorded: { readonly session: FoundSession; readonly entry: string } | undefined;
}

async function perform(
	{ rewind }: Workplace,
	{ target: { found, label }, what }: Wish,
	preview: Preview,
	now: number,
): Promise<Done> {
	const restored = await rewind.perform(await rewind.prepare(preview), keeperOf(found));
	const note = { what, label, ...restored.counts, skipped: restored.skips.length };
	return { restored, note, recorded: await record(found, restored, note, now) };
}

/** Appends the outcome to the session, then lets the journal go. [R9] */
export async function record(
	found: FoundSession | undefined,
	restored: Restored,
	note: RestoredNote,
	now: number,
	undo = restored.undo,
): Promise<Done["recorded"]> {
	if (found === undefined) {
		// Nothing can be recorded: the way back is told instead.
		await restored.complete();
		return undefined;
	}
	const { current, undoAfter } = restored;
	const data = encodeOp({
		undo,
		restored: note,
		...(current === undefined ? {} : { current }),
		...(undoAfter === undefined ? {} : { undoAfter }),
	});
	let entry: string;
	try {
		entry = await appendCustomEntry(found.session.file, { customType: customTypes.op, data }, now);
	} catch (cause) {
		throw new RewindError(
			"io-failed",
			`Files were restored, but that could not be recorded: ${describeError(cause)}`,
			{
				hint: `pi-rewind recover tells the way back; the files before are snapshot ${shortId(undo)}`,
				cause,
			},
		);
	}
	await restored.complete();
	return { session: found, entry };
}

/** Two restores that both were not ended could not be told apart any more. */
export async function refuseWhileInterrupted({ rewind }: Workplace): Promise<void> {
	const [first] = await rewind.interrupted();
	if (first === undefined) return;
	throw new RewindError("recovery-due", "A restore was interrupted and waits to be ended", {
		hint: "pi-rewind recover says how; no files were changed",
	});
}

/** Throws where the outcome could not be recorded: the session is open in Pi, or its file cannot be written. */
export async function refuseUnrecordable(
	place: Workplace,
	found: FoundSession | undefined,
): Promise<void> {
	if (found === undefined) return;
	const { file } = found.session;
	const open = await place.openedBy(file);
	if (open === undefined) return checkAppendable(file);
	const where = open.isElsewhere
		? `process ${open.pid} on ${plainText(open.host)}`
		: `process ${open.pid}`;
	throw new RewindError(
		"session-open",
		`The session ${plainText(file)} is open in Pi (${where}), which would not learn of it; no files were changed`,
		{
			hint: open.isElsewhere
				? `Go back there with /tree, or close it; if it is gone for sure, remove ${plainText(open.file)}`
				: "Go back there with /tree, or close it and say this again",
		},
	);
}

// ---- Words ----

const stepMark = (step: Step): string => {
	if (step.kind === "delete") return "D";
	return step.kind === "write" && step.from === undefined ? "A" : "M";
};

const stepWords: Readonly<Record<string, string>> = {
	A: "comes back",
	D: "is deleted",
	M: "changes",
};

function planText(
	{ what, target: { label } }: Wish,
	offer: RestoreOffer,
	{ plan }: Preview,
	open: readonly OpenSession[],
): string {
	const rows = plan.steps
		.toSorted((a, b) => (a.path < b.path ? -1 : 1))
		.map((step) => [stepMark(step), displayPath(step.path), stepWords[stepMark(step)] ?? ""]);
	const lines = [
		...warningsOf(offer),
		...open.map(
			({ pid }) => `Pi is open here (process ${pid}); its agent would see the files change.`,
		),
	];
	const verb = what === "undo" ? "Undo: the files as they were" : "Restore the files to";
	return `${verb} ${label} (${describeCounts(offer.counts)})\n${table(rows)}${lines.map((line) => `${line}\n`).join("")}`;
}

const planFacts = (offer: RestoreOffer, { plan }: Preview): object => ({
	counts: plan.counts,
	steps: plan.steps.map((step) => ({ mark: stepMark(step), ...pathFacts(step.path) })),
	skips: plan.skips.map(skipFacts),
	changedSince: offer.changedSince.map(pathFacts),
	notCovered: offer.notCovered.map(notCoveredFacts),
});

const outcomeFacts = ({ restored, note, recorded }: Done): object => ({
	outcome: note,
	skips: restored.skips.map(skipFacts),
	undo: restored.undo,
	current: restored.current ?? null,
	recordedIn: recorded?.session.session.file ?? null,
	recordedAs: recorded?.entry ?? null,
});

function outcomeText({ restored, note, recorded }: Done): string {
	const left = restored.skips.length === 0 ? "" : `Left alone: ${describeSkips(restored.skips)}\n`;
	const back =
		recorded === undefined
			? `No session records this. The files before: pi-rewind restore ${restored.undo}\n`
			: "Undo it with: pi-rewind undo, or in Pi with /tree.\n";
	return `${describeOutcome(note)}\n${left}${back}`;
}
