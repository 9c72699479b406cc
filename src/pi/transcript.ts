/**
 * One line in the transcript for each restore, drawn from its record.
 *
 * A notice shown while Pi navigates is wiped by the redraw; an entry is drawn again with the rest, also on resume.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { describeOutcome } from "../core/choices.ts";
import { customTypes, decodeRecord } from "../core/records.ts";

/** `offersUndo` says whether the settings of now let a person undo. */
export function registerTranscript(pi: ExtensionAPI, offersUndo: () => boolean): void {
	pi.registerEntryRenderer(customTypes.op, (entry, _options, theme) => {
		const record = decodeRecord(customTypes.op, entry.data);
		if (record?.kind !== "op" || record.restored === undefined) return undefined;
		const hint =
			record.restored.what === "undo" || !offersUndo() ? "" : " · /rewind undo takes it back";
		return new Text(
			theme.fg(
				"dim",
				`◆ ${describeOutcome(record.restored, record.undoAfter !== undefined)}${hint}`,
			),
			1,
			0,
		);
	});
}
