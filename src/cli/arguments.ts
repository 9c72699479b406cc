/**
 * The words on the command line: which command, with which options.
 *
 * Knows what each command takes, not what it does. Throws `bad-usage` for anything else, and says what is taken.
 */
import { parseArgs } from "node:util";
import { RewindError } from "../core/errors.ts";

export const commandNames = [
	"list",
	"show",
	"diff",
	"restore",
	"undo",
	"recover",
	"stats",
	"sweep",
	"doctor",
] as const;
export type CommandName = (typeof commandNames)[number];

/** All options of all commands; each command takes some. */
const options = {
	json: { type: "boolean" },
	session: { type: "string" },
	help: { type: "boolean", short: "h" },
	all: { type: "boolean", short: "a" },
	max: { type: "string", short: "n" },
	patch: { type: "boolean", short: "p" },
	path: { type: "string", multiple: true },
	"dry-run": { type: "boolean" },
	yes: { type: "boolean", short: "y" },
	finish: { type: "boolean" },
	"roll-back": { type: "boolean" },
	forget: { type: "boolean" },
	fix: { type: "boolean" },
} as const;
type OptionName = keyof typeof options;

interface Shape {
	readonly takes: readonly OptionName[];
	/** How many words may follow the command. */
	readonly words: readonly [least: number, most: number];
	/** The words, as help names them. */
	readonly usage: string;
}

export const shapes: Record<CommandName, Shape> = {
	list: { takes: ["all", "max"], words: [0, 0], usage: "list [--all] [--max N]" },
	show: { takes: ["patch", "path"], words: [1, 1], usage: "show POINT [--patch] [--path PATH…]" },
	diff: {
		takes: ["patch", "path"],
		words: [1, 2],
		usage: "diff POINT [POINT] [--patch] [--path PATH…]",
	},
	restore: {
		takes: ["dry-run", "yes"],
		words: [1, Number.POSITIVE_INFINITY],
		usage: "restore POINT [PATH…] [--dry-run] [--yes]",
	},
	undo: { takes: ["dry-run", "yes"], words: [0, 0], usage: "undo [--dry-run] [--yes]" },
	recover: {
		takes: ["finish", "roll-back", "forget"],
		words: [0, 0],
		usage: "recover [--finish | --roll-back | --forget]",
	},
	stats: { takes: [], words: [0, 0], usage: "stats" },
	sweep: { takes: ["dry-run"], words: [0, 0], usage: "sweep [--dry-run]" },
	doctor: { takes: ["fix"], words: [0, 0], usage: "doctor [--fix]" },
};

export interface CommandLine {
	readonly kind: "command";
	readonly command: CommandName;
	/** What follows the command. */
	readonly words: readonly string[];
	readonly json: boolean;
	/** A session file, as it was given. */
	readonly session?: string;
	readonly all: boolean;
	readonly max?: number;
	readonly patch: boolean;
	readonly paths: readonly string[];
	readonly dryRun: boolean;
	readonly yes: boolean;
	readonly recovery?: "finish" | "roll-back" | "forget";
	readonly fix: boolean;
}

export type Asked =
	| CommandLine
	| { readonly kind: "help"; readonly command?: CommandName }
	| { readonly kind: "version" };

/** Whether the words ask for JSON, also where they are wrong otherwise. */
export const wantsJson = (argv: readonly string[]): boolean => {
	const end = argv.indexOf("--");
	return argv.slice(0, end < 0 ? argv.length : end).includes("--json");
};

/** What is asked for. `argv` begins after the program's name. */
export function readArguments(argv: readonly string[]): Asked {
	const [first, ...rest] = argv;
	if (first === undefined || first === "--help" || first === "-h") return { kind: "help" };
	if (first === "--version") return { kind: "version" };
	if (first === "help") {
		const [about] = rest;
		return about === undefined
			? { kind: "help" }
			: { kind: "help", command: commandNamed(about, "pi-rewind help") };
	}
	return readCommand(commandNamed(first, "pi-rewind help"), rest);
}

function commandNamed(word: string, teacher: string): CommandName {
	const found = commandNames.find((name) => name === word);
	if (found !== undefined) return found;
	throw usageError(
		`There is no command ${quoted(word)}`,
		`Commands: ${commandNames.join(", ")} · ${teacher}`,
	);
}

function readCommand(command: CommandName, rest: readonly string[]): Asked {
	const { takes, words: bounds, usage } = shapes[command];
	const how = `pi-rewind ${usage} · pi-rewind help ${command}`;
	const { values, positionals } = parse(rest, how);
	if (values.help === true) return { kind: "help", command };
	for (const name of Object.keys(values))
		if (!["json", "session", ...takes].includes(name))
			throw usageError(`${command} takes no --${name}`, how);
	const [least, most] = bounds;
	if (positionals.length < least) throw usageError(`${command} needs a POINT`, how);
	const extra = positionals[most];
	if (extra !== undefined) throw usageError(`${command} takes no ${quoted(extra)}`, how);
	const ways = (["finish", "roll-back", "forget"] as const).filter((way) => values[way] === true);
	if (ways.length > 1) throw usageError(`Only one of --${ways.join(", --")}`, how);
	const [recovery] = ways;
	const max = values.max === undefined ? undefined : countOf(values.max, how);
	return {
		kind: "command",
		command,
		words: positionals,
		json: values.json === true,
		all: values.all === true,
		patch: values.patch === true,
		paths: values.path ?? [],
		dryRun: values["dry-run"] === true,
		yes: values.yes === true,
		fix: values.fix === true,
		...(values.session === undefined ? {} : { session: values.session }),
		...(max === undefined ? {} : { max }),
		...(recovery === undefined ? {} : { recovery }),
	};
}

function parse(rest: readonly string[], how: string) {
	try {
		return parseArgs({ args: [...rest], options, allowPositionals: true, strict: true });
	} catch (error) {
		// The parser's first sentence names the option; what it advises after that is of no use here.
		const said = error instanceof Error ? (error.message.split(/\.\s/)[0] ?? "") : String(error);
		throw usageError(said.replace(/\.$/, ""), how);
	}
}

function countOf(text: string, how: string): number {
	if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
	throw usageError(`--max needs a whole number above 0, not ${quoted(text)}`, how);
}

const quoted = (word: string): string => JSON.stringify(word.slice(0, 60));

const usageError = (message: string, hint: string): RewindError =>
	new RewindError("bad-usage", message, { hint });
