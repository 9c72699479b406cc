/** What the command line needs of the process that it runs in, and what every command gives back. */
import type { OpenEngine } from "../engine/open.ts";
import type { Surroundings } from "../sessions/places.ts";

export interface Terminal {
	/** Answers. Bytes go out as they are. */
	out(text: string | Buffer): void;
	/** Warnings and errors. */
	err(text: string): void;
	/** Whether a person looks at what goes out: then nothing in it may drive the terminal. [R13] */
	readonly isWatched: boolean;
	/** Asks a person one line; absent where nobody can be asked. */
	readonly ask: ((question: string) => Promise<string>) | undefined;
	/** Runs to its end what must not stop in the middle: Ctrl-C and a hang-up wait. */
	uninterrupted<T>(act: () => Promise<T>): Promise<T>;
}

export interface CliDeps extends Surroundings {
	readonly terminal: Terminal;
	readonly openEngine: OpenEngine;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
	readonly version: string;
}

/** Exit codes; part of the interface. */
export const exitCodes = {
	/** What was asked for is done, or there was nothing to do. */
	done: 0,
	/** It failed; the message says what is true of the files. */
	failed: 1,
	/** The words on the command line are wrong. */
	usage: 2,
	/** Refused, declined, or there is no such point: nothing was changed. */
	refused: 3,
	/** `doctor` found something that needs a person. */
	findings: 4,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What a command found or did: facts for `--json`, and the same for a person. */
export interface Report {
	readonly exit: ExitCode;
	readonly facts: object;
	readonly text: string | readonly (string | Buffer)[];
}
