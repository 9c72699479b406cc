/**
 * What a sweep must know of the sessions: which there are, how they are related, and what those say that count.
 *
 * Invariant: [R8] what could not be looked into is in the answer, as such.
 */
import { dirname } from "node:path";
import type { Ledger } from "../core/ledger.ts";
import {
	type Owner,
	type RetentionPolicy,
	type SeenSession,
	type SessionSources,
	sessionsToRead,
} from "../core/retention.ts";
import { type Catalog, canonicalFile, type SessionRoot } from "./catalog.ts";

/** A session that is known from memory: what it knows of itself is newer than its file, and it may have none yet. */
export interface OwnSession {
	readonly sessionId: string;
	readonly sessionFile?: string | undefined;
	/** Absolute. */
	readonly parentFile?: string | undefined;
	readonly ledger: Ledger;
}

export interface SourcesRequest {
	/** Folders to look into, besides those of the recorded owners. */
	readonly roots: readonly SessionRoot[];
	readonly scanMode: RetentionPolicy["scanMode"];
	/** Id of the session whose lineage counts. */
	readonly current: string | undefined;
	/** Those that run here, and those that they alone remember. */
	readonly own?: readonly OwnSession[];
	/** Of all snapshots that are kept. */
	readonly owners: readonly Owner[];
	readonly signal?: AbortSignal | undefined;
}

/** Reads headers of all, records of those that count. Throws only the reason of an aborted signal. */
export async function readSources(
	catalog: Catalog,
	{ roots, scanMode, current, own = [], owners, signal }: SourcesRequest,
): Promise<SessionSources> {
	const files = new Set(owners.flatMap(({ sessionFile }) => sessionFile ?? []));
	const recorded = [...new Set([...files].map((file) => dirname(file)))];
	const found = await catalog.find(
		[...roots, ...recorded.map((folder) => ({ folder, nested: false }))],
		signal,
	);
	const places = await catalog.places(files);
	const mine = await Promise.all(own.map(seenOf));
	const others = found.sessions
		.filter(({ file }) => mine.every((session) => session.file !== file))
		.map(({ sessionId, file, parentFile }): SeenSession & { readonly file: string } => ({
			sessionId,
			file,
			parentFile,
			isTorn: false,
		}));
	const sessions = [...mine, ...others];
	const wanted = sessionsToRead({ scanMode }, current, owners, { sessions, places });
	const counting = others.filter((session) => wanted.has(session));
	const reads = await catalog.read(
		counting.map(({ file }) => file),
		signal,
	);
	const read = new Map<SeenSession, SeenSession>();
	for (const [i, session] of counting.entries()) {
		const answer = reads[i];
		if (answer?.kind !== "session") continue;
		const { ledger, isTorn } = answer.session;
		read.set(session, { ...session, ledger, isTorn });
	}
	return {
		sessions: sessions.map((session) => read.get(session) ?? session),
		hidden: found.problems,
		places,
	};
}

async function seenOf({
	sessionId,
	sessionFile,
	parentFile,
	ledger,
}: OwnSession): Promise<SeenSession> {
	return {
		sessionId,
		file: sessionFile === undefined ? undefined : await canonicalFile(sessionFile),
		parentFile: parentFile === undefined ? undefined : await canonicalFile(parentFile),
		ledger,
		isTorn: false,
	};
}
