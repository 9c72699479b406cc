/** Does a restore that was prepared and records it, in this order: files, record, end of the journal. [R9] */
import type { Restored as RestoredNote } from "../core/records.ts";
import { RewindError } from "../core/errors.ts";
import type { Prepared, Rewind } from "../engine/rewind.ts";
import type { Recorder } from "./recorder.ts";
import type { Session } from "./session.ts";

export async function restoreAndRecord(
	prepared: Prepared,
	label: string,
	engine: Rewind,
	deps: { readonly session: Session; readonly recorder: Recorder },
): Promise<RestoredNote> {
	const restored = await deps.recorder.restoringFiles(() =>
		engine.perform(prepared, deps.session.owner),
	);
	const { counts, skips, undo, undoAfter, current } = restored;
	const note: RestoredNote = { what: "restore", ...counts, skipped: skips.length, label };
	try {
		deps.session.appendOp({
			undo,
			restored: note,
			...(undoAfter === undefined ? {} : { undoAfter }),
			...(current === undefined ? {} : { current }),
		});
	} catch (cause) {
		throw new RewindError(
			"io-failed",
			"Files were restored, but the session file could not be written",
			{
				hint: "Start Pi again to roll back or to finish",
				cause,
			},
		);
	}
	await restored.complete();
	return note;
}
