/**
 * Which sessions are open in a running Pi, so that another process does not write into their files.
 *
 * Limit: only a Pi that has loaded rewind, and has opened this working tree's engine, says so.
 */
import type { Owner } from "./ports.ts";

/** A session, and the process that has it open. */
export interface OpenSession extends Owner {
	readonly pid: number;
	readonly host: string;
	/** Whether that process runs on another host, where nobody can ask whether it lives. */
	readonly isElsewhere: boolean;
	/** What says so: to be removed by hand where the process is known to be gone. */
	readonly file: string;
}

export interface Presence {
	/** Says that this process has the session open, until it is told otherwise or is gone. */
	announce(owner: Owner): Promise<() => Promise<void>>;
	/** What processes that still run have open in this working tree. */
	openSessions(): Promise<OpenSession[]>;
	/** Those in linked working trees of the repository, too: a session can be open in another one than it was made in. */
	openAnywhere(): Promise<OpenSession[]>;
}
