/**
 * Presence in the private dir: one small file for each session that a process has open.
 *
 * A file whose process is gone, or that cannot be read, says nothing.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { OpenSession, Presence } from "../engine/presence.ts";
import { decodeIdentity, isAlive, thisProcess } from "./process-lock.ts";

const nameOfOurs = /^open-\d+-[0-9a-f]+\.json$/;

/** The presence of one working tree. */
export function createPresence(privateDir: string): Presence {
	async function all(): Promise<Said[]> {
		const names = await readdir(privateDir).catch(() => []);
		const ours = names.filter((name) => nameOfOurs.test(name));
		return Promise.all(ours.map((name) => readSaid(join(privateDir, name))));
	}

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
			return (await all()).flatMap(({ isGone, session }) =>
				isGone || session === undefined ? [] : [session],
			);
		},
	};
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
	const text = await readFile(file, "utf8").catch(() => "");
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
