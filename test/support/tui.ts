/**
 * Drives the real Pi in its terminal UI, as a person would: keys in, the screen's text out. In tmux, one server per Pi.
 *
 * Never sleeps for something that can be seen; what cannot be seen (a key that changes nothing) has a short pause.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment, LoggedEvent, PiOptions, Step } from "./pi.ts";
import { prepareLaunch, until } from "./pi.ts";
import { drawScreen, type GroundName } from "./screenshot.ts";

const timeoutMsDefault = 20_000;
const terminalMs = 60_000;
/** A row of a list that is further away than this is not reached. */
const pressesMax = 100;

export interface TuiOptions extends PiOptions {
	readonly columns?: number;
	readonly rows?: number;
}

/** A running Pi on a screen. `await using` or `kill()` ends it. */
export interface TuiPi extends AsyncDisposable {
	/** Presses keys by tmux's names: `Enter`, `Escape`, `Down`, `C-c`, `Space`. */
	readonly keys: (...names: readonly string[]) => void;
	readonly type: (text: string) => void;
	/** The screen's text, `rows` lines. */
	readonly screen: () => string;
	/** Waits until the screen matches. */
	readonly waitFor: (pattern: RegExp) => Promise<void>;
	readonly waitGone: (pattern: RegExp) => Promise<void>;
	/** Waits for anything else; fails with the screen. */
	readonly until: (holds: () => boolean | Promise<boolean>, what: string) => Promise<void>;
	/** Waits until the screen has not changed for a moment. */
	readonly calm: () => Promise<void>;
	/** Types a prompt, and waits until Pi is settled. */
	readonly prompt: (text: string, ...steps: readonly Step[]) => Promise<void>;
	readonly addSteps: (...steps: readonly Step[]) => void;
	/** What the next summary of a branch or a compaction comes to; gives whether it was asked for. */
	readonly nextSummary: (step: Step) => () => boolean;
	/** Types a command and presses Enter; `opened` is what must be seen then. */
	readonly slash: (command: string, opened?: RegExp) => Promise<void>;
	/** Moves the mark of the open list to the row that matches, without choosing it. */
	readonly moveTo: (row: RegExp) => Promise<void>;
	/** Moves there, and presses Enter. */
	readonly select: (row: RegExp) => Promise<void>;
	readonly resize: (columns: number, rows: number) => Promise<void>;
	/** Draws the screen: always an HTML file, and a PNG beside it where a Chromium is found; says which it made. */
	readonly picture: (pathWithoutExtension: string, ground?: GroundName) => string[];
	/** With the option `log`. */
	readonly events: () => LoggedEvent[];
	readonly alive: () => boolean;
	/** Leaves Pi as a person does, from an empty editor. */
	readonly stop: () => Promise<void>;
	/** kill -9 of Pi; the last screen stays. */
	readonly kill: () => Promise<void>;
}

/** Makes sure that there is a tmux, where that is in our power. */
export function ensureTmux(): void {
	if (hasTmux()) return;
	if (process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0) {
		const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
		const install = () => spawnSync("apt-get", ["install", "-y", "tmux"], { env }).status === 0;
		// A fresh container has no package lists yet.
		if (install() || (spawnSync("apt-get", ["update"], { env }).status === 0 && install())) return;
	}
	throw new Error("The tests of the terminal UI need tmux: install it (apt-get install tmux)");
}

const hasTmux = (): boolean => spawnSync("tmux", ["-V"]).status === 0;

const tmuxConfig = `set -g escape-time 0
set -g default-terminal tmux-256color
set -g remain-on-exit on
set -g history-limit 0
set -s extended-keys on
`;

/** Starts Pi on a screen, and waits until its footer names the model. */
export async function startTui(options: TuiOptions): Promise<TuiPi> {
	ensureTmux();
	const launch = prepareLaunch(options);
	const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
	const { screen, run, alive, kill, end } = openScreen(launch, options);
	const wait = (holds: () => boolean | Promise<boolean>, what: string): Promise<void> =>
		until(holds, what, timeoutMs, () => `the screen:\n${screen()}`);
	const look = looking(screen, wait);
	const press = pressing(run, screen, look);
	const killed = async (): Promise<void> => {
		kill();
		await wait(() => !alive(), "the end of Pi");
	};
	const pi: TuiPi = {
		...look,
		...press,
		screen,
		until: wait,
		alive,
		events: launch.events,
		addSteps: (...steps) => launch.addSteps(steps),
		nextSummary: launch.nextSummary,
		async prompt(text, ...steps) {
			launch.addSteps(steps);
			const before = launch.settledCount();
			press.type(text);
			press.keys("Enter");
			await wait(() => launch.settledCount() > before, "agent_settled");
			await look.calm();
		},
		async resize(columns, rows) {
			run("resize-window", "-x", String(columns), "-y", String(rows));
			await look.calm();
		},
		picture: (path, ground) => drawScreen(run("capture-pane", "-p", "-e"), path, ground),
		async stop() {
			// Ctrl+D leaves only from an empty editor, which the first Ctrl+C makes.
			press.keys("C-c");
			await look.calm();
			press.keys("C-d");
			await wait(() => !alive(), "the end of Pi");
		},
		kill: killed,
		async [Symbol.asyncDispose]() {
			// A Pi that is still dying could write into the folder that the world removes next.
			await killed().finally(end);
		},
	};
	try {
		await look.waitFor(/scripted/);
	} catch (error) {
		end();
		throw error;
	}
	return pi;
}

/** Any other program on a screen. `await using` ends it. */
export interface Terminal extends AsyncDisposable, Pick<TuiPi, "keys" | "type" | "waitFor"> {
	readonly screen: () => string;
	/** Waits for its end; gives its exit code. */
	readonly ended: () => Promise<number>;
}

/** Tells the exit code on the screen, and waits; tmux itself does not always say it. */
const telling = 'trap : INT; "$@"; echo "exit code $?"; read -r _';
const told = /exit code (\d+)/;

/** Starts a program on a screen. `dir` is a folder for tmux; a socket's path has at most 107 bytes. */
export function startTerminal(
	program: { readonly argv: readonly string[]; readonly env: Environment; readonly dir: string },
	place: { readonly cwd: string },
): Terminal {
	ensureTmux();
	const argv = ["sh", "-c", telling, "sh", ...program.argv];
	const { screen, run, end } = openScreen({ ...program, argv }, place);
	const wait = (holds: () => boolean | Promise<boolean>, what: string): Promise<void> =>
		until(holds, what, terminalMs, () => `the screen:\n${screen()}`);
	const { waitFor, calm } = looking(screen, wait);
	return {
		...pressing(run, screen, { waitFor, calm, waitGone: waitFor }),
		waitFor,
		screen,
		async ended() {
			await waitFor(told);
			return Number(told.exec(screen())?.[1]);
		},
		[Symbol.asyncDispose]: () => Promise.resolve(end()),
	};
}

// ---- tmux ----

interface Screen {
	readonly run: (...args: readonly string[]) => string;
	readonly screen: () => string;
	readonly alive: () => boolean;
	readonly kill: () => void;
	/** Kills Pi and the server. */
	readonly end: () => void;
}

function openScreen(
	launch: { readonly argv: readonly string[]; readonly env: Environment; readonly dir: string },
	options: Pick<TuiOptions, "cwd" | "columns" | "rows">,
): Screen {
	const { cwd, columns = 120, rows = 45 } = options;
	const socket = join(launch.dir, "tmux");
	const config = join(launch.dir, "tmux.conf");
	writeFileSync(config, tmuxConfig);
	const env = { ...launch.env, LANG: "C.UTF-8", LC_ALL: "C.UTF-8", TERM: "xterm-256color" };
	const run = (...args: readonly string[]): string =>
		execFileSync("tmux", ["-u", "-S", socket, ...args], {
			cwd,
			env,
			encoding: "utf8",
			stdio: "pipe",
		});
	const size = ["-x", String(columns), "-y", String(rows)];
	run("-f", config, "new-session", "-d", ...size, "--", ...launch.argv);
	const ask = (format: string): string => {
		const answer = spawnSync("tmux", ["-S", socket, "display-message", "-p", format], { env });
		// Empty when the server is gone.
		return answer.stdout.toString().trim();
	};
	const pid = Number(ask("#{pane_pid}"));
	const alive = (): boolean => ask("#{pane_dead}") === "0";
	const kill = (): void => {
		// Only then is it sure that the number is still Pi's.
		if (alive()) process.kill(pid, "SIGKILL");
	};
	const end = (): void => {
		process.off("exit", end);
		kill();
		spawnSync("tmux", ["-S", socket, "kill-server"], { env });
	};
	// Unlike a child of ours, the server would outlive us.
	process.on("exit", end);
	return { run, alive, kill, end, screen: () => run("capture-pane", "-p") };
}

// ---- Eyes and hands ----

type Eyes = Pick<TuiPi, "waitFor" | "waitGone" | "calm">;

function looking(screen: () => string, wait: TuiPi["until"]): Eyes {
	return {
		waitFor: (pattern) => wait(() => pattern.test(screen()), String(pattern)),
		waitGone: (pattern) => wait(() => !pattern.test(screen()), `the end of ${pattern}`),
		async calm() {
			let last = "";
			await wait(async () => {
				const now = screen();
				const same = now === last;
				last = now;
				if (!same) await sleep(120);
				return same;
			}, "a calm screen");
		},
	};
}

type Hands = Pick<TuiPi, "keys" | "type" | "slash" | "moveTo" | "select">;

/** The marks of Pi's lists: dialogs, the session tree, and the extension's own. */
const mark = /^\s*[│┃|]?\s*[→›❯▸>]\s/;

function pressing(run: Screen["run"], screen: () => string, look: Eyes): Hands {
	const keys: Hands["keys"] = (...names) => void run("send-keys", ...names);
	const type: Hands["type"] = (text) => void run("send-keys", "-l", "--", text);
	async function moveTo(row: RegExp): Promise<void> {
		await look.waitFor(new RegExp(row.source, row.flags.replace("g", "")));
		for (let press = 0; press < pressesMax; press++) {
			const lines = screen().split("\n");
			const marked = lines.findLastIndex((line) => mark.test(line));
			if (row.test(lines[marked] ?? "")) return;
			// Rows above the mark may be a transcript that says the same: the list's are at the end.
			const target = lines.findLastIndex((line) => row.test(line));
			keys(target > marked ? "Down" : "Up");
			await changed(screen, lines.join("\n"));
		}
		throw new Error(`no row of the list is ${row}; the screen:\n${screen()}`);
	}
	return {
		keys,
		type,
		moveTo,
		async select(row) {
			await moveTo(row);
			const before = screen();
			keys("Enter");
			await changed(screen, before);
		},
		async slash(command, opened) {
			type(command);
			// The list of commands must be there before Enter chooses from it.
			await look.calm();
			keys("Enter");
			if (opened !== undefined) await look.waitFor(opened);
		},
	};
}

/** Waits a moment for the screen to change; a key that changes nothing is no failure. */
async function changed(screen: () => string, before: string): Promise<void> {
	for (let look = 0; look < 20 && screen() === before; look++) await sleep(15);
}
