/**
 * Runs git, and nothing else: raw bytes in and out, a closed stdin, a timeout, a bounded output, a process group.
 *
 * Invariants: [R13] the environment is built here from a list of what may pass; nothing that a repository, a hook or a
 * parent process left in GIT_* reaches git. Two environments exist: the *person's* (their global config counts:
 * `safe.directory`, `core.excludesFile`) and the *private* one (no config but ours).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { devNull } from "node:os";
import { RewindError } from "../core/errors.ts";

export interface GitRun {
	readonly args: readonly string[];
	readonly cwd: string;
	readonly env: NodeJS.ProcessEnv;
	readonly stdin?: Buffer | string;
	readonly signal?: AbortSignal | undefined;
	/** Milliseconds until the process group is killed; the default suits all but a first capture. */
	readonly timeoutMs?: number;
	/** Bytes of stdout beyond which the run fails. */
	readonly outputMax?: number;
	/** Characters of stderr that are kept, its end; where it is read for names, more, and `stderrCut` tells. */
	readonly stderrMax?: number;
	/** Exit codes that are answers, not failures; 0 always is. */
	readonly answers?: readonly number[];
}

export interface GitResult {
	readonly code: number;
	readonly stdout: Buffer;
	/** Last part of what git said, as bytes (latin1): names stand in it as they are. */
	readonly stderr: string;
	/** There was more. */
	readonly stderrCut: boolean;
}

const timeoutMsDefault = 120_000;
const outputMaxDefault = 1 << 30;
/** Warnings can be many; only the end is kept, the rest is drained. */
const stderrMaxDefault = 64 * 1024;
/** Where each warning names a path that is not covered. */
export const stderrMaxNamed = 64 * 1024 * 1024;

/** Variables of the person's that say where their own config is, or how far discovery may go. */
const passed = [
	"GIT_CONFIG_GLOBAL",
	"GIT_CONFIG_SYSTEM",
	"GIT_CONFIG_NOSYSTEM",
	"GIT_CEILING_DIRECTORIES",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM",
	"GIT_EXEC_PATH",
];

/** Settings for every call on the person's own git dir: no fsmonitor, no hook, no reflog. [R6] [R13] */
export const harmless: readonly string[] = [
	"-c",
	"core.fsmonitor=false",
	"-c",
	`core.hooksPath=${devNull}`,
	"-c",
	"core.logAllRefUpdates=false",
	"-c",
	"core.untrackedCache=keep",
];

function baseEnv(from: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const env: NodeJS.ProcessEnv = {};
	for (const [name, value] of Object.entries(from)) {
		if (/^(GIT_|SSH_ASKPASS$|LC_|LANGUAGE$|PAGER$|LESS$)/.test(name)) continue;
		env[name] = value;
	}
	return Object.assign(env, {
		// Stable words on stderr: discovery tells refusals apart by them.
		LC_ALL: "C",
		GIT_TERMINAL_PROMPT: "0",
		GIT_LITERAL_PATHSPECS: "1",
		GIT_NO_REPLACE_OBJECTS: "1",
		GIT_ATTR_NOSYSTEM: "1",
		// A partial clone would fetch what is missing: from the network, by a remote the repository names.
		GIT_NO_LAZY_FETCH: "1",
		GIT_ALLOW_PROTOCOL: "",
		// mallopt(3): glibc gives memory back to the system, and asks for it again, with each object that git writes.
		MALLOC_TRIM_THRESHOLD_: String(32 << 20),
		MALLOC_TOP_PAD_: String(1 << 20),
	});
}

/** For discovery and for the few calls on the person's git dir. */
export function personEnv(from: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
	const env = { ...baseEnv(from), GIT_OPTIONAL_LOCKS: "0" };
	for (const name of passed)
		if (from[name] !== undefined) Object.assign(env, { [name]: from[name] });
	return env;
}

/** For all work in a private git dir. */
export function privateEnv(
	dirs: { gitDir: string; workTree: string; objects: string; indexFile?: string },
	from: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
	return {
		...baseEnv(from),
		...(from["GIT_EXEC_PATH"] === undefined ? {} : { GIT_EXEC_PATH: from["GIT_EXEC_PATH"] }),
		GIT_CONFIG_GLOBAL: devNull,
		GIT_CONFIG_SYSTEM: devNull,
		GIT_CONFIG_NOSYSTEM: "1",
		GIT_DIR: dirs.gitDir,
		GIT_WORK_TREE: dirs.workTree,
		GIT_OBJECT_DIRECTORY: dirs.objects,
		...(dirs.indexFile === undefined ? {} : { GIT_INDEX_FILE: dirs.indexFile }),
	};
}

/**
 * Runs git to its end. Throws `git-failed` (a code that is no answer, an output over its bound), `git-timeout`,
 * `aborted`, or `io-failed` when git cannot be started at all.
 */
export async function runGit(run: GitRun): Promise<GitResult> {
	const { args, cwd, env, signal } = run;
	if (signal?.aborted) throw aborted(args);
	const child = spawn("git", [...args], {
		cwd,
		env,
		detached: true, // its own process group, so that its children die with it
		stdio: [run.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
	});
	let ended: "timeout" | "aborted" | "output" | undefined;
	const end = (why: NonNullable<typeof ended>): void => {
		ended ??= why;
		killGroup(child);
	};
	const timer = setTimeout(() => end("timeout"), run.timeoutMs ?? timeoutMsDefault);
	const onAbort = (): void => end("aborted");
	signal?.addEventListener("abort", onAbort, { once: true });
	try {
		const result = await collect(child, run, () => end("output"));
		if (ended === "aborted") throw aborted(args);
		if (ended === "timeout") {
			throw new RewindError("git-timeout", `git ${verb(args)} did not end in time`, {
				hint: "The file system may be slow or not answering",
				data: { args },
			});
		}
		if (ended === "output") throw failed(run, result, "its output is too large");
		if (result.code !== 0 && !(run.answers ?? []).includes(result.code)) {
			throw failed(run, result, firstLine(result.stderr) || `exit code ${result.code}`);
		}
		return result;
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", onAbort);
	}
}

function collect(child: ChildProcess, run: GitRun, onOverflow: () => void): Promise<GitResult> {
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let size = 0;
		let stderr = "";
		let stderrCut = false;
		const stderrMax = run.stderrMax ?? stderrMaxDefault;
		child.stdout?.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > (run.outputMax ?? outputMaxDefault)) onOverflow();
			else chunks.push(chunk);
		});
		child.stderr?.setEncoding("latin1").on("data", (text: string) => {
			stderr += text;
			if (stderr.length <= stderrMax) return;
			stderrCut = true;
			stderr = stderr.slice(-stderrMax);
		});
		child.once("error", (error: NodeJS.ErrnoException) => {
			reject(
				new RewindError("io-failed", `Cannot start git: ${error.message}`, {
					...(error.code === "ENOENT" ? { hint: "Install git, or put it on PATH" } : {}),
					data: { code: error.code },
					cause: error,
				}),
			);
		});
		child.once("close", (code, killedBy) => {
			resolve({
				code: code ?? (killedBy === null ? 1 : 137),
				stdout: Buffer.concat(chunks),
				stderr,
				stderrCut,
			});
		});
		if (run.stdin !== undefined && child.stdin !== null) {
			// git may end before it read everything; its exit code tells why.
			child.stdin.on("error", () => undefined);
			child.stdin.end(run.stdin);
		}
	});
}

/** Ends a process and what it started. */
export function killGroup(child: ChildProcess): void {
	if (child.pid === undefined) return;
	try {
		process.kill(-child.pid, "SIGKILL");
	} catch {
		// Gone already: that is what was wanted.
	}
}

const verb = (args: readonly string[]): string => {
	for (let i = 0; i < args.length; i++) {
		const word = args[i] ?? "";
		if (word === "-c" || word === "--git-dir" || word === "--work-tree") i++;
		else if (!word.startsWith("-")) return word;
	}
	return "";
};

const firstLine = (text: string): string =>
	text
		.split("\n")
		.find((line) => /^(fatal|error): /.test(line))
		?.replace(/^(fatal|error): /, "")
		.slice(0, 300) ??
	text.trim().split("\n")[0]?.slice(0, 300) ??
	"";

const aborted = (args: readonly string[]): RewindError =>
	new RewindError("aborted", `git ${verb(args)} was cancelled`, { data: { args } });

const failed = (run: GitRun, result: GitResult, why: string): RewindError =>
	new RewindError(
		/No space left on device|Disk quota exceeded/.test(result.stderr) ? "no-space" : "git-failed",
		`git ${verb(run.args)} failed: ${why}`,
		{ data: { args: run.args, code: result.code, stderr: result.stderr } },
	);

/** The NUL-terminated records of `-z` output, as byte strings. */
export function nulRecords(bytes: Buffer): string[] {
	const records = bytes.toString("latin1").split("\0");
	if (records.at(-1) === "") records.pop();
	return records;
}

/** One line of text output, without its newline. */
export const lineOf = (bytes: Buffer): string => bytes.toString("utf8").replace(/\n$/, "");
