/**
 * Presence in the private dir: one small file for each session that a process has open.
 *
 * A file whose process is gone says nothing; one that cannot be read could be anybody's, for as long as one of another
 * host. A session that is not written yet, or never will be, is known to a sweep by its file alone. [R8]
 *
 * Limit: a process on another host cannot be asked; for a sweep its file counts for `elsewhereMsMax`.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { OpenSession, Presence } from "../engine/presence.ts";
import { decodeIdentity, isAlive, thisProcess } from "./process-lock.ts";

const nameOfOurs = /^open-\d+-[0-9a-f]+\.json$/;
const elsewhereMsMax = 30 * 24 * 60 * 60 * 1000;

/** The presence of one working tree; `privateDirs` gives those of all that the repository has. */
export function createPresence(
	privateDir: string,
	privateDirs: () => Promise<readonly string[]>,
): Presence {
	const all = (): Promise<Said[]> => readAll(privateDir);

	return {
		async announce({ sessionId, sessionFile }) {
			for (const { file, isGone } of await all()) if (isGone) await rm(file, { force: true });
			const file = join(privateDir, `open-${process.pid}-${randomBytes(4).toString("hex")}.json`);
			const about = { v: 1, ...(await thisProcess()), sessionId, sessionFile };
			await writeFile(`${file}.tmp`, JSON.stringify(about));
			await rename(`${file}.tmp`, file);
			return () => rm(file, { force: true });
		},
		async openSessions() {
			return openOf(await all());
		},
		async openAnywhere() {
			return openOf((await Promise.all((await privateDirs()).map(readAll))).flat());
		},
	};
}

const openOf = (said: readonly Said[]): OpenSession[] =>
	said.flatMap(({ isGone, session }) => (isGone || session === undefined ? [] : [session]));

/** Sessions that run in a working tree, and files that do not say whose they are. `now` is in ms since the epoch. */
export async function runningIn(
	privateDir: string,
	now: number,
): Promise<{ readonly running: readonly string[]; readonly unreadable: readonly string[] }> {
	const running: string[] = [];
	const unreadable: string[] = [];
	for (const { file, isGone, session } of await readAll(privateDir)) {
		if (isGone) continue;
		if (session === undefined) {
			if (await isFresh(file, now)) unreadable.push(file);
		} else if (!session.isElsewhere || (await isFresh(file, now))) running.push(session.sessionId);
	}
	return { running, unreadable };
}

const isFresh = (file: string, now: number): Promise<boolean> =>
	stat(file).then(
		({ mtimeMs }) => now - mtimeMs < elsewhereMsMax,
		() => false,
	);

async function readAll(privateDir: string): Promise<Said[]> {
	const names = await readdir(privateDir).catch(() => []);
	const ours = names.filter((name) => nameOfOurs.test(name));
	return Promise.all(ours.map((name) => readSaid(join(privateDir, name))));
}

/** What one file says. */
interface Said {
	readonly file: string;
	/** Its process does not run any more. */
	readonly isGone: boolean;
	/** Absent when the file cannot be read. */
	readonly session?: OpenSession;
}

async function readSaid(file: string): Promise<Said> {
	let text: string;
	try {
		text = await readFile(file, "utf8");
	} catch (error) {
		// Its session ended between the listing and the look; any other failure leaves open what it would have said.
		return { file, isGone: error instanceof Error && "code" in error && error.code === "ENOENT" };
	}
	const identity = decodeIdentity(text);
	if (identity === undefined) return { file, isGone: false };
	const isGone = !(await isAlive(identity));
	const value: unknown = JSON.parse(text);
	if (typeof value !== "object" || value === null || !("sessionId" in value))
		return { file, isGone };
	const { sessionId } = value;
	const sessionFile = "sessionFile" in value ? value.sessionFile : undefined;
	if (typeof sessionId !== "string") return { file, isGone };
	const { pid, host } = identity;
	const isElsewhere = host !== hostname();
	const where = typeof sessionFile === "string" ? { sessionFile } : {};
	return { file, isGone, session: { sessionId, ...where, pid, host, isElsewhere, file } };
}
