/** What is decided for a move of the conversation, and how to tell that it arrived. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { pointKind } from "../core/entries.ts";
import type { Chain, ResolvedUndo } from "../core/lineage.ts";
import type { Prepared } from "../engine/rewind.ts";
import type { OpDraft, Session } from "./session.ts";

/** What to do with the files once the move is certain. */
export type Deed =
	| { readonly kind: "keep" }
	| {
			readonly kind: "restore";
			readonly what: "restore" | "undo";
			readonly prepared: Prepared;
			readonly label: string;
	  };

/** A deed, and the move that it was chosen for. */
export interface Decision {
	readonly deed: Deed;
	/** Where `/tree` will put the leaf, before entries that it appends; absent for a fork. */
	readonly landing: string | null | undefined;
}

/** What the child of a fork is to know. */
export interface Departure {
	/** What it is to record. */
	readonly draft: OpDraft;
	/** Its ancestors' records, for a child that no file tells of them. */
	readonly chain: Chain;
	/** What went wrong on the way, to be told once its screen stands. */
	readonly trouble?: string;
}

/** Whether `/tree` landed there: above the leaf stand only entries that it, or a handler of its, appended. */
export function isAt(
	leafId: string | null,
	landing: string | null,
	session: Pick<Session, "entry">,
): boolean {
	for (let at = leafId; at !== landing;) {
		const entry = at === null ? undefined : session.entry(at);
		if (entry === undefined || !appendedByMoves.has(entry.type)) return false;
		at = entry.parentId;
	}
	return true;
}

const appendedByMoves: ReadonlySet<string> = new Set(["branch_summary", "label", "custom"]);

/** Pi goes to the parent of what a person wrote, so that it can be written anew, and to anything else itself. */
export function landingOf(target: SessionEntry | undefined): string | null | undefined {
	if (target === undefined) return undefined;
	const isWritten = pointKind(target) === "user" || target.type === "custom_message";
	return isWritten ? target.parentId : target.id;
}

/** What an op says to pass an undo on. */
export const undoOf = (undo: ResolvedUndo | undefined): Pick<OpDraft, "undo" | "undoAfter"> =>
	undo === undefined
		? {}
		: { undo: undo.snapshot, ...(undo.after === undefined ? {} : { undoAfter: undo.after }) };
