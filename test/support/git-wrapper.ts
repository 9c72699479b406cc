/** A git that does something of its own before it is git: written-down calls, calls that take their time. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes it in a folder below `at`; gives the PATH on which it comes first. `script` is a shell's, with git's arguments. */
export function wrapGit(at: string, script: string): string {
	const path = process.env["PATH"] ?? "";
	const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
	const bin = join(at, "wrapped-bin");
	mkdirSync(bin);
	writeFileSync(join(bin, "git"), `#!/bin/sh\n${script}\nexec '${real}' "$@"\n`, { mode: 0o755 });
	return `${bin}:${path}`;
}

export interface WatchedGit {
	readonly path: string;
	/** The calls since it was last asked, one text each. */
	calls(): string[];
}

/** A git that writes down how it was called. */
export function watchGit(at: string): WatchedGit {
	const log = join(at, "git-calls");
	const path = wrapGit(at, `echo "$*" >> '${log}'`);
	const clear = (): void => writeFileSync(log, "");
	clear();
	return {
		path,
		calls() {
			const text = readFileSync(log, "utf8");
			clear();
			return text.split("\n").filter(Boolean);
		},
	};
}
