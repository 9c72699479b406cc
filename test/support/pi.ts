/**
 * How the real Pi is started: which version, with what environment, settings and script.
 *
 * Owns what the RPC and the TUI driver share. A Pi that is started here sees no network, no account, no HOME, git
 * config or agent dir but its own, and no GIT_* variable from outside.
 */
import { randomUUID } from "node:crypto";
import {
	appendFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DriveArguments, DriveResult, Step, StepFields } from "./scripted-model.ts";

export type { Step } from "./scripted-model.ts";

/** The oldest Pi we support and the newest we know; end-to-end tests run on each. */
export const piVersions = ["0.84.0", "1.6.0"] as const;
export type PiVersion = (typeof piVersions)[number];
export const newestPi: PiVersion = "1.6.0";

const projectRoot = fileURLToPath(new URL("../..", import.meta.url));
const modules = join(projectRoot, "node_modules");
const scriptedModel = fileURLToPath(new URL("scripted-model.ts", import.meta.url));

/** The extension under test. */
export const rewindExtension = join(projectRoot, "src/index.ts");

const commandLines: Record<PiVersion, string> = {
	"0.84.0": join(modules, "pi-0.84.0/dist/cli.js"),
	"1.6.0": join(modules, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
};

/** The node that runs Pi: the one that package.json pins, whatever runs the tests. */
const pinnedNode = join(modules, "node/bin/node");
const node = existsSync(pinnedNode) ? pinnedNode : process.execPath;

/** Steps of the scripted model; a plain string is an answer without tools. */
export const step = {
	write: (path: string, content: string): StepFields => tool("write", { path, content }),
	edit: (path: string, oldText: string, newText: string): StepFields =>
		tool("edit", { path, edits: [{ oldText, newText }] }),
	bash: (command: string): StepFields => tool("bash", { command }),
	/** One message that calls the tools of all `steps`, side by side. */
	together: (...steps: readonly StepFields[]): StepFields => ({
		tools: steps.flatMap(({ tools = [] }) => tools),
	}),
	/** Answers only when the run is aborted. */
	hang: (): StepFields => ({ hang: true }),
	/** The provider fails; Pi retries "529 overloaded" and gives up on most other messages. */
	fail: (message: string): StepFields => ({ error: message }),
	/** An answer that takes its time. */
	slowly: (delayMs: number, text: string): StepFields => ({ delayMs, text }),
	/** An answer that comes when that file, named by its absolute path, is there. */
	once: (file: string, text: string): StepFields => ({ awaits: file, text }),
};

const tool = (
	name: string,
	args: NonNullable<StepFields["tools"]>[number]["args"],
): StepFields => ({
	tools: [{ name, args }],
});

export type Environment = Readonly<Record<string, string>>;

/** An allowlist: whoever runs the tests may have API keys, GIT_* or PI_* set. */
const inherited = /^(PATH|LANG|LC_\w+|TZ|TERM|COLORTERM)$/;
/** What a person's terminal needs besides, to be drawn on rightly. */
const ofTerminal =
	/^(TERM_\w+|TMUX|TMUX_PANE|KITTY_\w+|WEZTERM_\w+|WT_SESSION|VTE_VERSION|SSH_TTY)$/;

const gitConfigDefault = `[user]
	name = Tester
	email = tester@example.com
[init]
	defaultBranch = main
[gc]
	auto = 0
`;

export interface IsolationOptions {
	/** Content of the person's ~/.gitconfig. */
	readonly gitConfig?: string;
	/** Also inherit what tells programs about the terminal. */
	readonly terminal?: boolean;
}

/**
 * Makes a HOME, an agent dir and a TMPDIR below the folder `at`; returns the environment that leads there.
 *
 * The git config is ~/.gitconfig rather than GIT_CONFIG_GLOBAL, for that is where a person's is, and the extension
 * scrubs GIT_* before it runs git.
 */
export function isolatedEnvironment(at: string, options: IsolationOptions = {}): Environment {
	const [home, agent, tmp] = [join(at, "home"), join(at, "agent"), join(at, "tmp")];
	for (const dir of [home, agent, tmp]) mkdirSync(dir, { recursive: true });
	writeFileSync(join(home, ".gitconfig"), options.gitConfig ?? gitConfigDefault);
	return {
		...inheritedEnvironment(options.terminal),
		HOME: home,
		TMPDIR: tmp,
		PI_CODING_AGENT_DIR: agent,
		PI_OFFLINE: "1",
		PI_SKIP_VERSION_CHECK: "1",
		PI_TELEMETRY: "0",
		GIT_CONFIG_NOSYSTEM: "1",
		GIT_TERMINAL_PROMPT: "0",
	};
}

function inheritedEnvironment(terminal = false): Record<string, string> {
	const kept: Record<string, string> = {};
	for (const [name, value] of Object.entries(process.env)) {
		if (value === undefined) continue;
		if (inherited.test(name) || (terminal && ofTerminal.test(name))) kept[name] = value;
	}
	return kept;
}

export interface PiOptions {
	readonly cwd: string;
	/** From isolatedEnvironment(), perhaps with more. */
	readonly env: Environment;
	/** Default: the newest. */
	readonly version?: PiVersion;
	/** Paths of extensions; default: the one under test. */
	readonly extensions?: readonly string[];
	/** Merged into the agent dir's settings.json, key by key. */
	readonly settings?: Readonly<Record<string, unknown>>;
	/** Further arguments, e.g. `["-c"]`, `["--session", path]`, `["--no-session"]`. */
	readonly args?: readonly string[];
	/** Log each event of Pi and each request to the model. */
	readonly log?: boolean;
	/** How long any one wait may take. */
	readonly timeoutMs?: number;
}

/**
 * Settings for tests: a compaction after one prompt is possible but never comes by itself, `/tree` asks nothing of its
 * own, a retry comes at once.
 */
const testSettings = {
	compaction: { enabled: false, keepRecentTokens: 1 },
	branchSummary: { skipPrompt: true },
	retry: { enabled: true, maxRetries: 2, baseDelayMs: 50 },
	defaultProjectTrust: "always",
	quietStartup: true,
};

/** argv of Pi with our extension and the scripted model, and nothing else that Pi might find on this machine. */
export function piArguments(version: PiVersion, extensions: readonly string[]): string[] {
	const cli = commandLines[version];
	if (!existsSync(cli)) throw new Error(`Pi ${version} is not installed (${cli}): run npm ci`);
	const nothingElse = ["-ne", "-ns", "-np", "-nc", "--no-themes"];
	// The model comes last, so that its log and its "settled" mark see what the extension did.
	const loaded = [...extensions, scriptedModel].flatMap((path) => ["-e", path]);
	return [node, cli, ...nothingElse, ...loaded, "--model", "scripted/scripted"];
}

/** One Pi process to be: its command line, and the folder through which driver and model talk. */
export interface PiLaunch {
	readonly argv: readonly string[];
	readonly env: Environment;
	readonly dir: string;
	/** Appends to the model's script. */
	readonly addSteps: (steps: readonly Step[]) => void;
	/** What the next summary that Pi asks for comes to; gives whether it was asked for. */
	readonly nextSummary: (step: Step) => () => boolean;
	/** How many steps the model has not taken. */
	readonly stepsLeft: () => number;
	/** How often Pi said `agent_settled`. */
	readonly settledCount: () => number;
	/** Waits for what the `/drive-…` command with that token came to; throws its error. */
	readonly driveResult: (token: string, timeoutMs: number) => Promise<unknown>;
	/** Events of Pi so far, with `log`. */
	readonly events: () => LoggedEvent[];
	/** Transcripts that the model was sent, with `log`. */
	readonly requests: () => unknown[];
}

export interface LoggedEvent {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** Prepares a Pi process: its settings, an empty script, its command line. Starts nothing. */
export function prepareLaunch(options: PiOptions, mode: readonly string[] = []): PiLaunch {
	const { env, version = newestPi, extensions = [rewindExtension], args = [] } = options;
	const agentDir = env["PI_CODING_AGENT_DIR"];
	if (agentDir === undefined) throw new Error("env is not from isolatedEnvironment()");
	writeSettings(join(agentDir, "settings.json"), { ...testSettings, ...options.settings });
	// Short: a socket's path has at most 107 bytes, and tmux's is in here.
	const dir = join(agentDir, "..", `pi-${randomUUID().slice(0, 6)}`);
	mkdirSync(dir);
	const script = join(dir, "script.jsonl");
	let added = 0;
	return {
		argv: [...piArguments(version, extensions), ...mode, ...args],
		env: { ...env, REWIND_SCRIPT_DIR: dir, ...(options.log ? { REWIND_SCRIPT_LOG: "1" } : {}) },
		dir,
		addSteps(steps) {
			added += steps.length;
			appendFileSync(script, steps.map((each) => `${JSON.stringify(each)}\n`).join(""));
		},
		nextSummary(step) {
			const file = join(dir, "summary.json");
			writeFileSync(file, JSON.stringify(step));
			return () => !existsSync(file);
		},
		stepsLeft: () => added - sizeOf(join(dir, "taken")),
		settledCount: () => sizeOf(join(dir, "settled")),
		driveResult: (token, timeoutMs) => awaitResult(join(dir, "result.json"), token, timeoutMs),
		events: () => readJsonLines(join(dir, "events.jsonl")),
		requests: () => readJsonLines(join(dir, "requests.jsonl")),
	};
}

/** Pi writes this file too, so what it and earlier launches put there stays. */
export function writeSettings(path: string, settings: Readonly<Record<string, unknown>>): void {
	const before: Record<string, unknown> = existsSync(path)
		? JSON.parse(readFileSync(path, "utf8"))
		: {};
	writeFileSync(path, JSON.stringify({ ...before, ...settings }, null, 2));
}

async function awaitResult(path: string, token: string, timeoutMs: number): Promise<unknown> {
	for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(15)) {
		const result = readResult(path);
		if (result?.token !== token) continue;
		if (result.error !== undefined) throw new Error(result.error);
		return result.value;
	}
	throw new Error(`no result of a /drive- command in ${timeoutMs} ms`);
}

function readResult(path: string): DriveResult | undefined {
	try {
		const result: DriveResult = JSON.parse(readFileSync(path, "utf8"));
		return result;
	} catch {
		// Not there yet, or half written: the next look will tell.
		return undefined;
	}
}

/** The prompt text of a `/drive-…` command, and the token that its result will carry. */
export function driveCommand(name: string, args: DriveArguments): { token: string; text: string } {
	const token = randomUUID();
	return { token, text: `/drive-${name} ${JSON.stringify({ ...args, token })}` };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function readJsonLines<T>(path: string): T[] {
	if (!existsSync(path)) return [];
	return readFileSync(path, "utf8")
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line));
}

/** Waits until `holds`; throws with `what` and the outcome of `context` when it does not come. */
export async function until(
	holds: () => boolean | Promise<boolean>,
	what: string,
	timeoutMs: number,
	context: () => string = () => "",
): Promise<void> {
	for (const end = Date.now() + timeoutMs; ; await sleep(30)) {
		if (await holds()) return;
		if (Date.now() >= end) throw new Error(`${what} did not come in ${timeoutMs} ms\n${context()}`);
	}
}
