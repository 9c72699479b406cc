#!/usr/bin/env node
/**
 * The command line: puts the engine for repositories under the commands.
 *
 * The only place where the clock, the terminal and the process come in. Runs without Pi.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { createInterface } from "node:readline/promises";
import type { CliDeps, Terminal } from "./cli/io.ts";
import { runCli } from "./cli/run.ts";
import { createGitEngine } from "./git/open.ts";

const { stdin, stdout, stderr } = process;

/** Asks on stderr, so that answers can be piped. */
async function ask(question: string): Promise<string> {
	const lines = createInterface({ input: stdin, output: stderr });
	// The end of the input answers nothing, which is no; so does Ctrl-C.
	const closed = once(lines, "close").then(() => "");
	const answered = lines.question(question).catch(() => "");
	try {
		return await Promise.race([answered, closed]);
	} finally {
		lines.close();
	}
}

const terminal: Terminal = {
	out: (text) => void stdout.write(text),
	err: (text) => void stderr.write(text),
	isWatched: stdout.isTTY,
	ask: stdin.isTTY && stdout.isTTY ? ask : undefined,
	async uninterrupted(act) {
		const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
		const wait = (): void => undefined;
		for (const signal of signals) process.on(signal, wait);
		try {
			return await act();
		} finally {
			for (const signal of signals) process.off(signal, wait);
		}
	},
};

function version(): string {
	const about: unknown = JSON.parse(
		readFileSync(new URL("../package.json", import.meta.url), "utf8"),
	);
	return typeof about === "object" && about !== null && "version" in about
		? String(about.version)
		: "unknown";
}

// Whoever reads has seen enough: `pi-rewind list | head`.
stdout.on("error", () => undefined);

/** Where the shell stands; that folder can have been removed by now. */
function currentFolder(): string {
	try {
		return process.cwd();
	} catch {
		// Where it was is known to the shell; opening it tells what is wrong.
		return process.env["PWD"] ?? "/";
	}
}

const deps: CliDeps = {
	env: process.env,
	home: homedir(),
	cwd: currentFolder(),
	terminal,
	openEngine: createGitEngine(Date.now),
	now: Date.now,
	version: version(),
};
process.exitCode = await runCli(process.argv.slice(2), deps);
