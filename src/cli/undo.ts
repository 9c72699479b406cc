/** Finds the newest restore of the folder's sessions, over all of them, and the files before it. */
import { RewindError } from "../core/errors.ts";
import { type ResolvedUndo, resolveUndo } from "../core/lineage.ts";
import { decodeRecord } from "../core/records.ts";
import type { Target } from "./points.ts";
import type { FoundSession } from "./sessions.ts";
import type { Workplace } from "./workplace.ts";

/** Throws `no-such-point` where no session here has restored anything. */
export async function newestUndo(
	place: Workplace,
): Promise<{ target: Target; undone: ResolvedUndo }> {
	let newest: { found: FoundSession; at: number } | undefined;
	for (const found of (await place.sessions()).found) {
		const at = await lastRestoreAt(found);
		if (at !== undefined && (newest === undefined || at > newest.at)) newest = { found, at };
	}
	const undo = newest === undefined ? undefined : resolveUndo(await newest.found.chain());
	if (newest === undefined || undo === undefined)
		throw new RewindError(
			"no-such-point",
			"There is nothing to undo: no session here restored files",
			{
				hint: "pi-rewind list shows the points; --session FILE names a session elsewhere",
			},
		);
	const { found } = newest;
	const label = "before the last rewind";
	return { target: { found, snapshot: undo.snapshot, entry: undefined, label }, undone: undo };
}

/** When the session, or for one without a restore of its own its ancestors, last restored files; in ms since the epoch. */
async function lastRestoreAt(found: FoundSession): Promise<number | undefined> {
	const chain = await found.chain();
	if (resolveUndo(chain) === undefined) return undefined;
	const { entries } = await found.transcript();
	const last = entries.findLast(({ type, customType, data }) => {
		if (type !== "custom" || customType === undefined) return false;
		const record = decodeRecord(customType, data);
		return record?.kind === "op" && record.undo !== undefined;
	});
	// A fork whose undo is its parent's: any restore that is on record in the session itself is newer.
	return last === undefined ? 0 : Date.parse(last.timestamp) || 0;
}
