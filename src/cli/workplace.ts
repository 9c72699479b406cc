/**
 * Where a command works: the engine of the folder, opened as Pi would open it, and the sessions of the folder.
 */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { RewindError } from "../core/errors.ts";
import { decodeSettings, type Retention } from "../core/settings.ts";
import type { Opened } from "../engine/open.ts";
import type { OpenSession } from "../engine/presence.ts";
import {
	agentDirOf,
	configDirName,
	isProjectTrusted,
	sessionFoldersOf,
} from "../sessions/places.ts";
import { readSettingsLayers } from "../sessions/settings-files.ts";
import type { CliDeps } from "./io.ts";
import { findSessions, namedSession, realOr, type Sessions } from "./sessions.ts";

/** An engine that is ready, with what it knows. */
type Engine = Opened & { readonly kind: "ready" };

export interface Workplace extends Pick<Engine, "rewind" | "presence" | "care" | "root"> {
	/** Where the command was started; a real path. */
	readonly cwd: string;
	/** Pi's folder of the person. */
	readonly agentDir: string;
	/** What the settings let go. */
	readonly retention: Retention;
	/** Read once. */
	sessions(): Promise<Sessions>;
	/** Who has the session open; absent when nobody has. */
	openedBy(sessionFile: string): Promise<OpenSession | undefined>;
	close(): Promise<void>;
}

/** Opens the engine of the folder. Throws `no-engine` where there is none, with what to do. */
export async function openWorkplace(
	deps: CliDeps,
	session: string | undefined,
): Promise<Workplace> {
	const cwd = await realOr(deps.cwd);
	const agentDir = agentDirOf(deps);
	const { layers, issues: unusable } = await readSettingsLayers({
		agentDir,
		cwd,
		configDirName,
		projectTrusted: await isProjectTrusted(agentDir, cwd),
	});
	const { settings, issues } = decodeSettings(layers);
	for (const issue of [...unusable, ...issues]) deps.terminal.err(`${issue}\n`);
	const folders = await sessionFoldersOf(deps, cwd);
	const opened = await deps.openEngine({
		cwd,
		includeUntracked: settings.includeUntracked,
		maxFileBytes: settings.maxFileMiB * 1024 * 1024,
		ownPaths: [
			agentDir,
			join(agentDir, "sessions"),
			...(session === undefined ? [] : [resolve(deps.cwd, session)]),
		],
		sessionFolders: folders.map(({ folder }) => folder),
	});
	if (opened.kind === "unavailable") {
		const [message = opened.message, hint] = opened.message.split(" · ");
		throw new RewindError("no-engine", message, hint === undefined ? {} : { hint });
	}
	const { rewind, presence, care, root } = opened;
	let sessions: Promise<Sessions> | undefined;
	async function find(): Promise<Sessions> {
		if (session === undefined) return findSessions(deps, [...new Set([cwd, root])]);
		const info = await stat(resolve(deps.cwd, session)).catch(() => undefined);
		return namedSession(deps, session, info?.mtimeMs ?? 0);
	}
	return {
		rewind,
		presence,
		care,
		root,
		cwd,
		agentDir,
		retention: settings.retention,
		sessions: () => (sessions ??= find()),
		async openedBy(sessionFile) {
			for (const open of await presence.openAnywhere())
				if (open.sessionFile !== undefined && (await realOr(open.sessionFile)) === sessionFile)
					return open;
			return undefined;
		},
		close: () => rewind.close(),
	};
}
