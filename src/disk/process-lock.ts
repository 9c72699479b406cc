/**
 * A lock between processes: a file that names its holder, made with `O_EXCL`.
 *
 * Only its holder may touch what it guards (a stale `index.lock`, the private index). A holder that is gone - another
 * process number, or the same number started at another time - loses it.
 *
 * Limit: a holder on another host (a shared file system) cannot be asked whether it lives; its lock counts as held
 * until it is older than `foreignAgeMsMax`.
 */
import { randomBytes } from "node:crypto";
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";

export const foreignAgeMsMax = 10 * 60_000;

export interface ProcessIdentity {
	readonly pid: number;
	readonly host: string;
	/** Opaque: tells a process from a later one with the same number. Empty where the system does not say. */
	readonly processStart: string;
}

/** Field 22 of /proc/<pid>/stat: start time in clock ticks since boot. Empty without a /proc. */
async function processStart(pid: number): Promise<string> {
	const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
	return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

export const thisProcess = async (): Promise<ProcessIdentity> => ({
	pid: process.pid,
	host: hostname(),
	processStart: await (ownStart ??= processStart(process.pid)),
});
let ownStart: Promise<string> | undefined;

/** Whether that very process still runs; a process of another host counts as running. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
	if (identity.host !== hostname()) return true;
	try {
		process.kill(identity.pid, 0);
	} catch (error) {
		// EPERM: it runs, as somebody else.
		if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
	}
	const start = await processStart(identity.pid);
	return start === "" || identity.processStart === "" || start === identity.processStart;
}

/**
 * Tries for `waitMs`; gives the release, or absent when somebody else held it all that time.
 *
 * Synchronous where it is not waiting: each of these calls takes microseconds, and a trip through the thread pool, at
 * every capture, many times as long.
 */
export async function acquireLock(
	file: string,
	waitMs: number,
): Promise<(() => Promise<void>) | undefined> {
	const me = JSON.stringify(await thisProcess());
	const mine = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
	try {
		writeFileSync(mine, me);
		for (const end = performance.now() + waitMs; ;) {
			try {
				// A link appears with its content: nobody ever reads a lock that names no holder yet.
				linkSync(mine, file);
				return () => rm(file, { force: true });
			} catch {
				// Held; or links are not possible here, which the wait's end turns into "not acquired".
				await removeStale(file);
			}
			if (performance.now() >= end) return undefined;
			await new Promise((resolve) => setTimeout(resolve, 15 + Math.random() * 20));
		}
	} finally {
		rmSync(mine, { force: true });
	}
}

/** Accepted race: two waiters may both find it stale, and the slower remove the faster one's new lock. The guarded
 * work stays correct without the lock (git's own index.lock, compare-and-swap on the ref); it would be done twice. */
async function removeStale(file: string): Promise<void> {
	if ((await lookAtLock(file))?.isStale === true) await rm(file, { force: true });
}

/** A lock that is there: whom it names, and whether that process is gone. */
export interface LockState {
	readonly holder: ProcessIdentity | undefined;
	readonly isStale: boolean;
}

/** Absent when nobody holds the lock. */
export async function lookAtLock(file: string): Promise<LockState | undefined> {
	const text = await readFile(file, "utf8").catch(() => undefined);
	if (text === undefined) return undefined;
	const holder = decodeIdentity(text);
	const ageMs =
		Date.now() -
		(await stat(file).then(
			(s) => s.mtimeMs,
			() => Date.now(),
		));
	if (holder === undefined || !(await isAlive(holder))) return { holder, isStale: true };
	// Certain only where the process can be told from a later one with its number.
	const isCertain = holder.host === hostname() && holder.processStart !== "";
	return { holder, isStale: !isCertain && ageMs >= foreignAgeMsMax };
}

/** Absent for anything that is not an identity that this file wrote. */
export function decodeIdentity(text: string): ProcessIdentity | undefined {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value !== "object" || value === null) return undefined;
		if (!("pid" in value && "host" in value && "processStart" in value)) return undefined;
		const { pid, host, processStart: start } = value;
		if (typeof pid !== "number" || typeof host !== "string" || typeof start !== "string")
			return undefined;
		return Number.isInteger(pid) && pid > 0 ? { pid, host, processStart: start } : undefined;
	} catch {
		// Not JSON: torn, or somebody else's; the caller treats it as nobody's.
		return undefined;
	}
}
