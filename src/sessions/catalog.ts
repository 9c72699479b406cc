/**
 * Finds session files in folders, and reads of each the header line alone; what their records say is read for those
 * that somebody asks for.
 *
 * Invariants: [R8] a file or folder that may hide a session is named, never passed over. [R10] nothing hangs, nothing
 * throws for what a file holds. [R1] what is remembered only saves reading.
 */
import { constants, type Stats } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { readHeader, type SessionLog, type SessionRead } from "./log.ts";
import { isOfAnotherKind, type SessionHeader } from "./scan.ts";

/** A folder with session files. */
export interface SessionRoot {
	readonly folder: string;
	/** Whether they lie in folders of it, one for each working folder, as Pi's own `sessions` has them. */
	readonly nested: boolean;
}

export interface FoundSession extends SessionHeader {
	/** The real path. */
	readonly file: string;
	/** The session that it was forked from, as `canonicalFile` has it; absent without one. */
	readonly parentFile: string | undefined;
	/** When the file was last written, in ms since the epoch. */
	readonly writtenAt: number;
}

/** What could not be looked into. */
export interface CatalogProblem {
	readonly path: string;
	/** Completes "PATH …". */
	readonly why: string;
}

export interface Found {
	/** In no order. */
	readonly sessions: readonly FoundSession[];
	readonly problems: readonly CatalogProblem[];
}

/** What is at a path where a session was once. */
export interface SessionPlace {
	readonly file: string;
	/** `deleted`: its folder is there, can be read and holds other things, and the file is not in it. */
	readonly state: "there" | "deleted" | "unknown";
}

export interface Catalog {
	/** Every session in `roots`. A root that is not there has none. Throws only the reason of an aborted signal. */
	find(roots: readonly SessionRoot[], signal?: AbortSignal): Promise<Found>;
	/** Reads the records of sessions, in the order asked; what was read before is read on. */
	read(files: readonly string[], signal?: AbortSignal): Promise<SessionRead[]>;
	/** Looks whether files that were recorded once are there; by the path as it was recorded. */
	places(files: Iterable<string>): Promise<ReadonlyMap<string, SessionPlace>>;
}

/** Files looked at side by side: as many as Node has threads for it. */
const atOnce = 4;

/** Puts a catalog over a log, which remembers what it read of each file. */
export function createCatalog(log: SessionLog): Catalog {
	/** By real path. */
	const headers = new Map<string, { readonly stats: Stats; readonly found: FoundSession }>();

	async function look(path: string): Promise<FoundSession | CatalogProblem | undefined> {
		try {
			const file = await realpath(path);
			const stats = await stat(file);
			// A folder, a device: Pi takes none of them for a session.
			if (!stats.isFile()) return undefined;
			const known = headers.get(file);
			if (known !== undefined && isUnchanged(known.stats, stats)) return known.found;
			const header = await headerOf(file, stats.size);
			if (header === "another-kind") return undefined;
			if (header === undefined) return { path, why: "does not begin with a session header" };
			const parentFile = await parentOf(file, header);
			const found = { ...header, file, parentFile, writtenAt: stats.mtimeMs };
			headers.set(file, { stats, found });
			return found;
		} catch (error) {
			// Removed between the listing and the look, or a link that leads nowhere: there is no session.
			return codeOf(error) === "ENOENT" ? undefined : { path, why: unreadable(error) };
		}
	}

	return {
		async find(roots, signal) {
			const problems: CatalogProblem[] = [];
			const paths = await inParallel(await foldersOf(roots, problems), signal, async (folder) => {
				const names = await list(folder, problems);
				return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
			});
			const looked = await inParallel([...new Set(paths.flat())], signal, look);
			const sessions = new Map<string, FoundSession>();
			for (const each of looked) {
				if (each === undefined) continue;
				if ("why" in each) problems.push(each);
				else sessions.set(each.file, each);
			}
			return { sessions: [...sessions.values()], problems };
		},
		read: (files, signal) => inParallel(files, signal, (file) => log.readSession(file)),
		async places(files) {
			const byFolder = Map.groupBy(new Set(files), dirname);
			const groups = await inParallel([...byFolder], undefined, placesIn);
			return new Map(groups.flat());
		},
	};
}

/**
 * By the folder's listing: a look at a file alone can fail for other reasons than that it is not there. An empty folder
 * is as likely the place of a disk that is not mounted.
 */
async function placesIn([folder, files]: readonly [string, readonly string[]]): Promise<
	[string, SessionPlace][]
> {
	// Not mounted, removed as a whole, not ours to read: then nothing is known of the files.
	const names: readonly string[] = await readdir(folder).catch(() => []);
	return Promise.all(
		files.map(async (file): Promise<[string, SessionPlace]> => {
			const isThere = names.includes(basename(file));
			const state = isThere ? "there" : names.length > 0 ? "deleted" : "unknown";
			return [file, { file: await canonicalFile(file), state }];
		}),
	);
}

const isUnchanged = (a: Stats, b: Stats): boolean =>
	a.dev === b.dev && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;

async function headerOf(
	file: string,
	size: number,
): Promise<SessionHeader | "another-kind" | undefined> {
	// Not blocking: a FIFO that took the file's place meanwhile would wait for a writer.
	const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		const header = await readHeader(handle, size);
		if (header !== undefined) return header;
		return (await isOfAnotherKind(handle)) ? "another-kind" : undefined;
	} finally {
		await handle.close();
	}
}

/** Pi wrote the path as its process saw it, so relative to where that process ran. */
async function parentOf(file: string, header: SessionHeader): Promise<string | undefined> {
	const { parentSession, cwd } = header;
	if (parentSession === undefined || parentSession === "") return undefined;
	const folder = cwd !== undefined && isAbsolute(cwd) ? cwd : dirname(file);
	return canonicalFile(resolve(folder, parentSession));
}

/** The real path of a file, or where it would be: links are followed as far as there is something. */
export async function canonicalFile(file: string): Promise<string> {
	const real = await realpath(file).catch(() => undefined);
	if (real !== undefined) return real;
	const folder = await realpath(dirname(file)).catch(() => undefined);
	return folder === undefined ? resolve(file) : join(folder, basename(file));
}

async function foldersOf(
	roots: readonly SessionRoot[],
	problems: CatalogProblem[],
): Promise<string[]> {
	const folders = new Set<string>();
	for (const { folder, nested } of roots) {
		const root = await realpath(folder).catch(() => resolve(folder));
		folders.add(root);
		if (nested) for (const name of await list(root, problems)) folders.add(join(root, name));
	}
	return [...folders];
}

/** Names in a folder; none where there is no folder. */
async function list(folder: string, problems: CatalogProblem[]): Promise<string[]> {
	try {
		return await readdir(folder);
	} catch (error) {
		const code = codeOf(error);
		// Not there, or a file: then it holds no sessions.
		if (code !== "ENOENT" && code !== "ENOTDIR")
			problems.push({ path: folder, why: unreadable(error) });
		return [];
	}
}

/** Runs a task for each item, some at a time; results come in the order of the items. */
async function inParallel<T, R>(
	items: readonly T[],
	signal: AbortSignal | undefined,
	task: (item: T) => Promise<R>,
): Promise<R[]> {
	const results: R[] = [];
	const left = items.entries();
	await Promise.all(
		Array.from({ length: atOnce }, async () => {
			for (const [i, item] of left) {
				signal?.throwIfAborted();
				results[i] = await task(item);
			}
		}),
	);
	return results;
}

const codeOf = (error: unknown): unknown =>
	error instanceof Error && "code" in error ? error.code : undefined;

const unreadable = (error: unknown): string => `cannot be read (${String(codeOf(error) ?? error)})`;
