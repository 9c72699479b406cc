/** From words to an exit code: reads them, opens the workplace, runs the command, tells what came of it. */
import { describeError, isRewindError } from "../core/errors.ts";
import { type CommandLine, type CommandName, readArguments, wantsJson } from "./arguments.ts";
import { diff, show } from "./compare.ts";
import { doctor } from "./doctor.ts";
import { jsonText } from "./facts.ts";
import { helpFor, overview } from "./help.ts";
import { type CliDeps, type ExitCode, exitCodes, type Report } from "./io.ts";
import { list } from "./list.ts";
import { recover } from "./recover.ts";
import { restore, undo } from "./restore.ts";
import { stats } from "./stats.ts";
import { sweep } from "./sweep.ts";
import { openWorkplace, type Workplace } from "./workplace.ts";

type Command = (place: Workplace, asked: CommandLine, deps: CliDeps) => Promise<Report>;

const commands: Record<CommandName, Command> = {
	list,
	show: (place, asked, { terminal }) => show(place, asked, terminal),
	diff: (place, asked, { terminal }) => diff(place, asked, terminal),
	restore,
	undo,
	recover,
	stats,
	sweep,
	doctor,
};

/** Never throws. `argv` begins after the program's name. */
export async function runCli(argv: readonly string[], deps: CliDeps): Promise<ExitCode> {
	const { terminal } = deps;
	try {
		const asked = readArguments(argv);
		if (asked.kind === "version") terminal.out(`${deps.version}\n`);
		if (asked.kind === "help")
			terminal.out(asked.command === undefined ? overview : helpFor(asked.command));
		if (asked.kind !== "command") return exitCodes.done;
		const { exit, facts, text } = await runCommand(asked, deps);
		if (asked.json) terminal.out(jsonText(facts));
		else for (const part of [text].flat()) terminal.out(part);
		return exit;
	} catch (error) {
		if (wantsJson(argv)) terminal.out(jsonText({ error: errorFacts(error) }));
		else terminal.err(`pi-rewind: ${describeError(error)}\n`);
		return exitOf(error);
	}
}

async function runCommand(asked: CommandLine, deps: CliDeps): Promise<Report> {
	const place = await openWorkplace(deps, asked.session);
	try {
		return await commands[asked.command](place, asked, deps);
	} finally {
		await place.close();
	}
}

function errorFacts(error: unknown): object {
	if (!isRewindError(error)) return { code: "unexpected", message: describeError(error) };
	const { code, message, hint } = error;
	return { code, message, hint: hint ?? null };
}

function exitOf(error: unknown): ExitCode {
	if (!isRewindError(error)) return exitCodes.failed;
	if (error.code === "bad-usage") return exitCodes.usage;
	return error.kind === "refused" || error.kind === "user" ? exitCodes.refused : exitCodes.failed;
}
