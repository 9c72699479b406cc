/** Two snapshots compared for people: renames are paired, lines counted, content shown. A restore never looks here. */
import type { BytePath } from "./ids.ts";
import type { TreeEntry } from "./plan.ts";

/** One path that differs; a rename is one change. */
export interface FileChange {
	/** Where it is in the later snapshot; where it was, when it is gone. */
	readonly path: BytePath;
	/** Where it was before, when the same content, or much of it, is at `path` now. */
	readonly renamedFrom?: BytePath;
	readonly from?: TreeEntry;
	readonly to?: TreeEntry;
}

export interface LineCounts {
	readonly added: number;
	readonly removed: number;
}

/** How one file differs. */
export type FilePatch =
	/** Unified hunks, byte for byte, from the first `@@` on; empty when only the mode, the type or the name differs. */
	| { readonly kind: "text"; readonly hunks: Buffer }
	| {
			/** Not text, or too much to show. */
			readonly kind: "binary" | "oversized";
			/** Bytes; absent where the file is not there. */
			readonly fromSize: number | undefined;
			readonly toSize: number | undefined;
	  };

/** M, A, D or R, as git marks them. */
export type ChangeMark = "M" | "A" | "D" | "R";

export function markOf({ renamedFrom, from, to }: FileChange): ChangeMark {
	if (renamedFrom !== undefined) return "R";
	if (from === undefined) return "A";
	return to === undefined ? "D" : "M";
}
