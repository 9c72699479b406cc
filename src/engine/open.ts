/** How a rim gets an engine for a folder: `index.ts` wires it, nobody else knows which engine it is. */
import type { Care } from "./care.ts";
import type { Presence } from "./presence.ts";
import type { Rewind } from "./rewind.ts";

export interface OpenRequest {
	/** The session's folder. */
	readonly cwd: string;
	readonly includeUntracked: boolean;
	readonly maxFileBytes: number;
	/** Absolute paths of folders and files that are never captured or restored: Pi's own. */
	readonly ownPaths: readonly string[];
	/** Absolute folders whose `*.jsonl`, directly in them, are session files. */
	readonly sessionFolders: readonly string[];
}

export type Opened =
	| {
			readonly kind: "ready";
			readonly rewind: Rewind;
			readonly presence: Presence;
			readonly care: Care;
			/** Real path of the root. */
			readonly root: string;
			/** Whether the folder still belongs to what was opened; a `git init` or a removal can change that. */
			stillHere(): Promise<boolean>;
	  }
	| {
			readonly kind: "unavailable";
			/** A word for the status line. */
			readonly reason: string;
			/** For people: what is so, and what to do about it. */
			readonly message: string;
			/** Whether it is worth asking again at the next boundary (somebody may run `git init`). */
			readonly mayChange: boolean;
	  };

export type OpenEngine = (request: OpenRequest) => Promise<Opened>;
