/** `recover`: names every restore that was cut off, and ends it the way that was asked for. [R9] */
import { describeOutcome } from "../core/choices.ts";
import { shortId, type SnapshotId } from "../core/ids.ts";
import type { Restored as RestoredNote } from "../core/records.ts";
import type { Interrupted } from "../engine/ports.ts";
import type { CommandLine } from "./arguments.ts";
import { keeperOf } from "./compare.ts";
import { pathFacts } from "./facts.ts";
import { type CliDeps, exitCodes, type Report } from "./io.ts";
import { record, refuseUnrecordable } from "./restore.ts";
import type { FoundSession } from "./sessions.ts";
import { localTime, plural } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** Without a way it only tells. Never decides on its own: both ways change files. */
export async function recover(
	place: Workplace,
	asked: CommandLine,
	{ terminal, now }: CliDeps,
): Promise<Report> {
	const interrupted = await place.rewind.interrupted();
	const facts = { interrupted: interrupted.map(interruptedFacts) };
	if (interrupted.length === 0)
		return { exit: exitCodes.done, facts, text: "No restore was interrupted here.\n" };
	const { recovery } = asked;
	if (recovery === undefined)
		return { exit: exitCodes.findings, facts, text: interrupted.map(interruptedText).join("\n") };
	const said: string[] = [];
	const outcomes: RestoredNote[] = [];
	for (const each of interrupted) {
		if (recovery === "forget") {
			await place.rewind.forget(each);
			said.push(`Forgotten; the files stay as they are. ${waysBack(each)}\n`);
			continue;
		}
		const found = await sessionOf(place, each);
		await refuseUnrecordable(place, found);
		const { note, undo } = await terminal.uninterrupted(() =>
			end(place, each, recovery, found, now()),
		);
		outcomes.push(note);
		const back =
			found === undefined
				? `No session records this. The files before: pi-rewind restore ${undo}\n`
				: "";
		said.push(`${describeOutcome(note)}\n${back}`);
	}
	return { exit: exitCodes.done, facts: { ...facts, recovery, outcomes }, text: said };
}

async function end(
	{ rewind }: Workplace,
	interrupted: Interrupted,
	how: "finish" | "roll-back",
	found: FoundSession | undefined,
	now: number,
): Promise<{ note: RestoredNote; undo: SnapshotId }> {
	const restored = await rewind.recover(interrupted, how, keeperOf(found));
	const note: RestoredNote = {
		what: "recovery",
		...restored.counts,
		skipped: restored.skips.length,
	};
	// What undo gives back is the state before the *interrupted* restore, which no record names yet.
	const undo = how === "finish" ? interrupted.journal.undo : restored.undo;
	await record(found, restored, note, now, undo);
	return { note, undo };
}

/** The session whose restore it was; absent when it is not among those of this folder. */
async function sessionOf(
	place: Workplace,
	{ journal }: Interrupted,
): Promise<FoundSession | undefined> {
	const { found } = await place.sessions();
	return found.find(({ session }) => session.sessionId === journal.sessionId);
}

export const interruptedFacts = ({ file, journal }: Interrupted): object => ({
	journal: file,
	session: journal.sessionId,
	startedAt: new Date(journal.startedAt).toISOString(),
	target: journal.target,
	undo: journal.undo,
	paths: journal.paths.map(pathFacts),
});

export function interruptedText(interrupted: Interrupted): string {
	const { journal } = interrupted;
	const what = `A restore of ${plural(journal.paths.length, "file")} to snapshot ${shortId(journal.target)}`;
	return `${what} was interrupted (${localTime(journal.startedAt)}): some of them may be restored and some not.
  pi-rewind recover --finish       restores the rest
  pi-rewind recover --roll-back    brings back the files from before it
  pi-rewind recover --forget       keeps the files as they are
${waysBack(interrupted)}\n`;
}

const waysBack = ({ journal }: Interrupted): string =>
	`The files before it are snapshot ${shortId(journal.undo)}.`;
