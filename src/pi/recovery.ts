/**
 * A restore that was cut off: names it and offers both ways out, or leaves it. [R9]
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { describeOutcome } from "../core/choices.ts";
import { describeError } from "../core/errors.ts";
import { bytePathFromText, displayPath, shortId } from "../core/ids.ts";
import type { Restored as RestoredNote } from "../core/records.ts";
import type { Interrupted, Journal } from "../engine/ports.ts";
import type { Recovery, Rewind } from "../engine/rewind.ts";
import type { Notify } from "./notices.ts";
import type { Recorder } from "./recorder.ts";
import type { Session } from "./session.ts";

const ways: readonly (readonly [label: string, how: Recovery | "leave" | "forget"])[] = [
	["Leave the files as they are (ask again at the next start)", "leave"],
	["Finish the restore", "finish"],
	["Roll back to the files before it", "roll-back"],
	["Keep the files as they are and do not ask again", "forget"],
];

export interface RecoveryDeps {
	readonly engine: Rewind;
	readonly session: Session;
	readonly recorder: Recorder;
	/** An agent is at work, or the session is over: the files are not to be touched. */
	isBusy(): boolean;
	readonly signal: AbortSignal;
}

/** Asks about every restore that was cut off in this working tree. Leaving it is the safe answer, and asked again. */
export async function offerRecovery(
	deps: RecoveryDeps,
	ctx: ExtensionContext,
	notify: Notify,
): Promise<void> {
	const { engine, signal } = deps;
	for (const begun of await engine.elsewhere()) notify(ctx, describeElsewhere(begun), "warning");
	for (const interrupted of await engine.interrupted()) {
		const said = describeInterrupted(interrupted);
		if (!ctx.hasUI) {
			const what = "Nothing was rolled back; start Pi interactively to finish it or to roll back.";
			notify(ctx, `${said} ${what}`, "warning");
			continue;
		}
		const labels = ways.map(([label]) => label);
		const picked = await ctx.ui.select(said, labels, { signal });
		const how = ways.find(([label]) => label === picked)?.[1] ?? "leave";
		if (how === "leave") continue;
		try {
			if (how === "forget") await engine.forget(interrupted);
			else if (deps.isBusy())
				notify(
					ctx,
					"An agent is running: start Pi again to end the interrupted restore",
					"warning",
				);
			else await recover(deps, interrupted, how, ctx, notify);
		} catch (error) {
			notify(ctx, `The interrupted restore could not be ended: ${describeError(error)}`, "error");
		}
	}
}

function describeElsewhere({ journal }: Interrupted): string {
	return `A restore of ${countFiles(journal)}, begun on another machine (${nameOf(journal)}), may be under way here: it is left alone. If that machine is gone, start Pi again in 10 minutes`;
}

function describeInterrupted({ journal, isForeign }: Interrupted): string {
	const where = isForeign ? `, begun on another machine (${nameOf(journal)}),` : "";
	return `A restore of ${countFiles(journal)} to snapshot ${shortId(journal.target)}${where} was interrupted: some of them may be restored and some not.`;
}

const countFiles = ({ paths }: Journal): string =>
	paths.length === 1 ? "1 file" : `${paths.length} files`;

const hostLengthMax = 60;

/** A journal is a file that anyone may have written: its words are drawn like a file's name. */
const nameOf = ({ host }: Journal): string =>
	displayPath(bytePathFromText(host)).slice(0, hostLengthMax);

async function recover(
	{ engine, session, recorder }: RecoveryDeps,
	interrupted: Interrupted,
	how: Recovery,
	ctx: ExtensionContext,
	notify: Notify,
): Promise<void> {
	const restored = await recorder.restoringFiles(() =>
		engine.recover(interrupted, how, session.owner),
	);
	const note: RestoredNote = {
		what: "recovery",
		...restored.counts,
		skipped: restored.skips.length,
	};
	// What undo gives back is the state before the *interrupted* restore, which no record names yet.
	const undo = how === "finish" ? interrupted.journal.undo : restored.undo;
	session.appendOp({
		undo,
		restored: note,
		...(restored.current === undefined ? {} : { current: restored.current }),
		...(restored.undoAfter === undefined ? {} : { undoAfter: restored.undoAfter }),
	});
	await restored.complete();
	notify(ctx, describeOutcome(note), "info");
}
