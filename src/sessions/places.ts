/**
 * Where Pi keeps its files, found as Pi finds them: for a process that runs without Pi.
 *
 * Limit: a `--session-dir` that was given to Pi on its command line stands nowhere; the session file is named then.
 */
import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readSettingsFile } from "./settings-files.ts";

/** Pi's folder in a project. */
export const configDirName = ".pi";

/** What of a process's surroundings decides where Pi's files are. */
export interface Surroundings {
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The person's home folder. */
	readonly home: string;
	/** Where the process runs. */
	readonly cwd: string;
}

/** A folder with session files. */
export interface SessionFolder {
	readonly folder: string;
	/** Sessions of other folders are in it too: what counts is the folder that a session's header names. */
	readonly isShared: boolean;
}

/** Pi's folder of the person. */
export function agentDirOf({ env, home, cwd }: Surroundings): string {
	const named = env["PI_CODING_AGENT_DIR"];
	return named === undefined || named === ""
		? join(home, configDirName, "agent")
		: resolve(cwd, expandHome(named, home));
}

/** The folder that Pi makes for the sessions of `cwd` when nobody says otherwise. */
export const defaultSessionFolder = (agentDir: string, cwd: string): string =>
	join(agentDir, "sessions", `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);

/** Where Pi would put the sessions of `cwd`, and where it puts them by default, as they may have been before. */
export async function sessionFoldersOf(
	surroundings: Surroundings,
	cwd: string,
): Promise<SessionFolder[]> {
	const { env, home } = surroundings;
	const agentDir = agentDirOf(surroundings);
	const { sessionDir } = await readSettingsFile(join(agentDir, "settings.json"));
	// Pi heeds this one of a project's settings whether or not the project is trusted.
	const project = await readSettingsFile(join(cwd, configDirName, "settings.json"));
	const named = env["PI_CODING_AGENT_SESSION_DIR"] || project["sessionDir"] || sessionDir;
	const standard = { folder: defaultSessionFolder(agentDir, cwd), isShared: false };
	if (typeof named !== "string" || named === "") return [standard];
	return [{ folder: resolve(cwd, expandHome(named, home)), isShared: true }, standard];
}

function expandHome(path: string, home: string): string {
	if (path === "~") return home;
	return path.startsWith("~/") ? join(home, path.slice(2)) : path;
}

/** Whether the person trusts the project in `cwd`, as Pi would decide without asking them. */
export async function isProjectTrusted(agentDir: string, cwd: string): Promise<boolean> {
	const decisions = await readSettingsFile(join(agentDir, "trust.json"));
	for (let at = await realpath(cwd).catch(() => cwd); ; at = dirname(at)) {
		const decision = decisions[at];
		if (typeof decision === "boolean") return decision;
		if (at === dirname(at)) break;
	}
	const { defaultProjectTrust } = await readSettingsFile(join(agentDir, "settings.json"));
	return defaultProjectTrust === "always";
}
