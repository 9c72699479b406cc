/**
 * The sessions of a folder and their points, the session used last first.
 *
 * Reads the records of every session, which is cheap, and the messages only of those that are shown or asked for.
 */
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { RewindError } from "../core/errors.ts";
import { type Chain, resolvePoint } from "../core/lineage.ts";
import type { EntryId, SnapshotId } from "../core/ids.ts";
import { type CatalogProblem, createCatalog } from "../sessions/catalog.ts";
import {
	createSessionLog,
	type Lineage,
	problemWords,
	type SessionFile,
	type SessionLog,
} from "../sessions/log.ts";
import { sessionFoldersOf, type Surroundings } from "../sessions/places.ts";
import { readTranscript, type Transcript, type TranscriptEntry } from "../sessions/transcript.ts";
import { plainText } from "./text.ts";

/** A session that was found, read as far as anybody asked. */
export interface FoundSession {
	readonly session: SessionFile;
	/** When its file was last written, in ms since the epoch. */
	readonly modifiedAt: number;
	lineage(): Promise<Lineage>;
	/** This session and its ancestors. */
	chain(): Promise<Chain>;
	transcript(): Promise<Transcript>;
	/** The snapshot of the nearest entry above that has a point; absent where none has. */
	snapshotAbove(entry: TranscriptEntry): Promise<SnapshotId | undefined>;
	/** Entries of its own that have a point, newest first; copies of an ancestor's that was found are its own there. */
	points(): Promise<readonly Point[]>;
}

/** An entry that can be gone back to. */
export interface Point {
	readonly found: FoundSession;
	readonly entry: TranscriptEntry;
	readonly snapshot: SnapshotId;
}

export interface Sessions {
	/** The one used last first. */
	readonly found: readonly FoundSession[];
	/** What looks like a session and could not be read. */
	readonly problems: readonly CatalogProblem[];
	/** Where was looked; empty when a file was named. */
	readonly folders: readonly string[];
}

/** The sessions of `folders`: those that Pi ran in there. */
export async function findSessions(
	surroundings: Surroundings,
	folders: readonly string[],
): Promise<Sessions> {
	const places = (
		await Promise.all(folders.map((folder) => sessionFoldersOf(surroundings, folder)))
	).flat();
	const isShared = new Map(places.map(({ folder, isShared }) => [folder, isShared]));
	const roots = [...isShared.keys()];
	const log = createSessionLog();
	const catalog = createCatalog(log);
	const { sessions, problems } = await catalog.find(
		roots.map((folder) => ({ folder, nested: false })),
	);
	const shared = await Promise.all(roots.filter((folder) => isShared.get(folder)).map(realOr));
	const wanted = sessions.filter(
		({ file, cwd }) =>
			!shared.includes(dirname(file)) || (cwd !== undefined && folders.includes(cwd)),
	);
	const read = await readFound(log, wanted);
	return { found: read.found, problems: [...problems, ...read.problems], folders: roots };
}

/** The one session in a file that was named. Throws `bad-usage` where there is none. */
export async function namedSession(
	surroundings: Surroundings,
	named: string,
	writtenAt: number,
): Promise<Sessions> {
	const file = resolve(surroundings.cwd, named);
	const { found, problems } = await readFound(createSessionLog(), [{ file, writtenAt }]);
	const [problem] = problems;
	if (problem !== undefined)
		throw new RewindError("bad-usage", `The session ${plainText(file)} ${problem.why}`, {
			hint: "pi-rewind list names the sessions of this folder",
		});
	return { found, problems: [], folders: [] };
}

async function readFound(
	log: SessionLog,
	wanted: readonly { readonly file: string; readonly writtenAt: number }[],
): Promise<Pick<Sessions, "found" | "problems">> {
	const newestFirst = wanted.toSorted((a, b) => b.writtenAt - a.writtenAt);
	const reads = await createCatalog(log).read(newestFirst.map(({ file }) => file));
	const problems: CatalogProblem[] = [];
	const sessions: { session: SessionFile; modifiedAt: number }[] = [];
	for (const [i, read] of reads.entries())
		if (read.kind === "session")
			sessions.push({ session: read.session, modifiedAt: newestFirst[i]?.writtenAt ?? Number.NaN });
		else problems.push({ path: read.problem.file, why: problemWords[read.problem.reason] });
	const known = new Set(sessions.map(({ session }) => session.file));
	const readLineage = (session: SessionFile): Promise<Lineage> =>
		log.readLineage(session.parentSession, { relativeTo: session.cwd ?? "/" });
	const found = sessions.map(({ session, modifiedAt }) =>
		foundSession(session, modifiedAt, readLineage, known),
	);
	return { found, problems };
}

function foundSession(
	session: SessionFile,
	modifiedAt: number,
	readLineage: (session: SessionFile) => Promise<Lineage>,
	known: ReadonlySet<string>,
): FoundSession {
	let lineage: Promise<Lineage> | undefined;
	let transcript: Promise<Transcript> | undefined;
	let byId: Promise<ReadonlyMap<EntryId, TranscriptEntry>> | undefined;
	const found: FoundSession = {
		session,
		modifiedAt,
		lineage: () => (lineage ??= readLineage(session)),
		chain: async () => [session, ...(await found.lineage()).ancestors],
		transcript: () => (transcript ??= readTranscript(session.file)),
		async snapshotAbove(entry) {
			byId ??= found
				.transcript()
				.then(({ entries }) => new Map(entries.map((each) => [each.id, each])));
			const [chain, known] = await Promise.all([found.chain(), byId]);
			// A file can hold a circle of parents. [R10]
			const seen = new Set([entry.id]);
			let at = known.get(entry.parentId ?? "");
			while (at !== undefined && !seen.has(at.id)) {
				seen.add(at.id);
				const snapshot = resolvePoint(at, chain)?.snapshot;
				if (snapshot !== undefined) return snapshot;
				at = known.get(at.parentId ?? "");
			}
			return undefined;
		},
		async points() {
			const chain = await found.chain();
			const parent = chain[1]?.file;
			// What was copied from a session that is listed itself is shown there.
			const isCopied = (entry: TranscriptEntry): boolean =>
				parent !== undefined &&
				known.has(parent) &&
				Date.parse(entry.timestamp) <= session.startedAt;
			const points: Point[] = [];
			for (const entry of (await found.transcript()).entries) {
				const snapshot = resolvePoint(entry, chain)?.snapshot;
				if (snapshot !== undefined && !isCopied(entry)) points.push({ found, entry, snapshot });
			}
			return points.toReversed();
		},
	};
	return found;
}

/** The real path, or the path where there is none. */
export const realOr = (path: string): Promise<string> => realpath(path).catch(() => path);
