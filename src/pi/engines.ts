/** The engine of a session's folder: opened once, and again when its repository came, went or changed. */
import { join, resolve } from "node:path";
import type { Settings } from "../core/settings.ts";
import type { OpenEngine, Opened } from "../engine/open.ts";
import type { Owner } from "../engine/ports.ts";
import type { Rewind } from "../engine/rewind.ts";

export interface Engines {
	/** Absent where there is none; `onOpened` was told why. */
	get(): Promise<Rewind | undefined>;
	close(): Promise<void>;
}

export interface EnginesOptions {
	/** The session's folder. */
	readonly cwd: string;
	/** Pi's folder of the person. */
	readonly agentDir: string;
	/** As Pi names it: empty for an ephemeral session, and possibly relative to the process's folder. */
	readonly sessionDir: string;
	readonly settings: Settings;
	/** Whose engine it is: whoever works on the session from outside is told that it is open. */
	readonly owner: Owner;
	onOpened(opened: Opened): void;
}

/** One per session. Opens nothing before it is asked. */
export function createEngines(openEngine: OpenEngine, options: EnginesOptions): Engines {
	const { cwd, agentDir, sessionDir, settings } = options;
	const { sessionFile } = options.owner;
	let current: Opened | undefined;
	let looking: Promise<Opened> | undefined;
	let isClosed = false;
	let leave: (() => Promise<void>) | undefined;

	async function open(): Promise<Opened> {
		const opened = await openEngine({
			cwd,
			includeUntracked: settings.includeUntracked,
			maxFileBytes: settings.maxFileMiB * 1024 * 1024,
			// A session that was named by its file can lie elsewhere than in Pi's folder for sessions.
			ownPaths: [
				agentDir,
				join(agentDir, "sessions"),
				...(sessionFile === undefined ? [] : [sessionFile]),
			],
			sessionFolders: sessionDir === "" ? [] : [resolve(sessionDir)],
		});
		options.onOpened(opened);
		// Nobody depends on it but a command line that would otherwise write into an open session.
		if (opened.kind === "ready")
			leave = await opened.presence.announce(options.owner).catch(() => undefined);
		return opened;
	}

	/** Cheap where nothing changed: a few looks at the disk, or where there is no repository, one question to git. */
	async function look(): Promise<Opened> {
		if (current?.kind === "ready" && (await current.stillHere())) return current;
		if (current?.kind === "unavailable" && !current.mayChange) return current;
		if (current?.kind === "ready") await end(current);
		return open();
	}

	async function end({ rewind }: Opened & { readonly kind: "ready" }): Promise<void> {
		// Where the private dir is gone, so is what was said in it.
		await leave?.().catch(() => undefined);
		leave = undefined;
		await rewind.close();
	}

	return {
		async get() {
			// Whoever comes late - a task of a session that was replaced - finds nothing to start again.
			if (isClosed) return undefined;
			looking ??= look().finally(() => {
				looking = undefined;
			});
			current = await looking;
			return current.kind === "ready" ? current.rewind : undefined;
		},
		async close() {
			isClosed = true;
			// Whoever asked for it was told of a failure to open.
			const last = await looking?.catch(() => undefined);
			const open = last ?? current;
			if (open?.kind === "ready") await end(open);
		},
	};
}
