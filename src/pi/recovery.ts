/**
 * A restore that was cut off: names it and offers both ways out, or leaves it. [R9]
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { describeOutcome } from "../core/choices.ts";
import { describeError } from "../core/errors.ts";
import { shortId } from "../core/ids.ts";
import type { Restored as RestoredNote } from "../core/records.ts";
import type { Interrupted } from "../engine/ports.ts";
import type { Recovery, Rewind } from "../engine/rewind.ts";
import type { Notify } from "./notices.ts";
import type { Session } from "./session.ts";

const ways: readonly (readonly [label: string, how: Recovery | "leave"])[] = [
	["Leave the files as they are (ask again at the next start)", "leave"],
	["Finish the restore", "finish"],
	["Roll back to the files before it", "roll-back"],
];

export async function offerRecovery(
	engine: Rewind,
	session: Session,
	ctx: ExtensionContext,
	notify: Notify,
): Promise<void> {
	for (const interrupted of await engine.interrupted()) {
		const said = describeInterrupted(interrupted);
		if (!ctx.hasUI) {
			notify(
				ctx,
				`${said} Nothing was rolled back; start Pi interactively to finish it or to roll back.`,
				"warning",
			);
			continue;
		}
		const picked = await ctx.ui.select(
			said,
			ways.map(([label]) => label),
		);
		const how = ways.find(([label]) => label === picked)?.[1] ?? "leave";
		if (how === "leave") continue;
		try {
			await recover(engine, session, interrupted, how, ctx, notify);
		} catch (error) {
			notify(ctx, `The interrupted restore could not be ended: ${describeError(error)}`, "error");
		}
	}
}

function describeInterrupted({ journal }: Interrupted): string {
	const files = journal.paths.length === 1 ? "1 file" : `${journal.paths.length} files`;
	return `A restore of ${files} to snapshot ${shortId(journal.target)} was interrupted: some of them may be restored and some not.`;
}

async function recover(
	engine: Rewind,
	session: Session,
	interrupted: Interrupted,
	how: Recovery,
	ctx: ExtensionContext,
	notify: Notify,
): Promise<void> {
	const restored = await engine.recover(interrupted, how, session.owner);
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
	});
	await restored.complete();
	notify(ctx, describeOutcome(note), "info");
}
