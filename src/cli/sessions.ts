/**
 * The sessions of a folder and their points, the session used last first.
 *
 * Reads the records of every session, which is cheap, and the messages only of those that are shown or asked for.
 */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { RewindError } from "../core/errors.ts";
import { type Chain, resolvePoint } from "../core/lineage.ts";
import type { SnapshotId } from "../core/ids.ts";
import {
	createSessionLog,
	type Lineage,
	type LineageProblem,
	problemWords,
	type SessionFile,
} from "../sessions/log.ts";
import { type SessionCandidate, sessionFilesIn, sessionFoldersOf } from "../sessions/places.ts";
import type { Surroundings } from "../sessions/places.ts";
import { readTranscript, type Transcript, type TranscriptEntry } from "../sessions/transcript.ts";

/** A session that was found, read as far as anybody asked. */
export interface FoundSession {
	readonly session: SessionFile;
	/** When its file was last written, in ms since the epoch. */
	readonly modifiedAt: number;
	lineage(): Promise<Lineage>;
	/** This session and its ancestors. */
	chain(): Promise<Chain>;
	transcript(): Promise<Transcript>;
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
	/** Files that look like sessions and could not be read. */
	readonly problems: readonly LineageProblem[];
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
	const unique = [...new Map(places.map((place) => [place.folder, place])).values()];
	const candidates = (await Promise.all(unique.map(sessionFilesIn))).flat();
	const belongs = (session: SessionFile): boolean =>
		session.cwd !== undefined && folders.includes(session.cwd);
	const sessions = await readAll(candidates, (candidate, session) =>
		candidate.isShared ? belongs(session) : true,
	);
	return { ...sessions, folders: unique.map(({ folder }) => folder) };
}

/** The one session in a file that was named. Throws `bad-usage` where there is none. */
export async function namedSession(
	surroundings: Surroundings,
	named: string,
	modifiedAt: number,
): Promise<Sessions> {
	const file = resolve(surroundings.cwd, named);
	const candidate = { file, modifiedAt, folder: "", isShared: false };
	const { found, problems } = await readAll([candidate], () => true);
	const [problem] = problems;
	if (problem !== undefined)
		throw new RewindError("bad-usage", `The session ${file} ${problemWords[problem.reason]}`, {
			hint: "pi-rewind list names the sessions of this folder",
		});
	return { found, problems: [], folders: [] };
}

async function readAll(
	candidates: readonly SessionCandidate[],
	accepts: (candidate: SessionCandidate, session: SessionFile) => boolean,
): Promise<Pick<Sessions, "found" | "problems">> {
	const log = createSessionLog();
	const sessions: { session: SessionFile; modifiedAt: number }[] = [];
	const problems: LineageProblem[] = [];
	const seen = new Set<string>();
	for (const candidate of candidates.toSorted((a, b) => b.modifiedAt - a.modifiedAt)) {
		const read = await log.readSession(candidate.file);
		if (read.kind === "problem") problems.push(read.problem);
		else if (!seen.has(read.session.file) && accepts(candidate, read.session)) {
			seen.add(read.session.file);
			sessions.push({ session: read.session, modifiedAt: candidate.modifiedAt });
		}
	}
	const readLineage = (session: SessionFile): Promise<Lineage> =>
		log.readLineage(session.parentSession, { relativeTo: session.cwd ?? "/" });
	const found = sessions.map(({ session, modifiedAt }) =>
		foundSession(session, modifiedAt, readLineage, seen),
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
	const found: FoundSession = {
		session,
		modifiedAt,
		lineage: () => (lineage ??= readLineage(session)),
		chain: async () => [session, ...(await found.lineage()).ancestors],
		transcript: () => (transcript ??= readTranscript(session.file)),
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
