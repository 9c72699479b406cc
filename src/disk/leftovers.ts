/**
 * Removes what processes that are gone left in the private dir: stages, scratch folders, copies, temporary files.
 *
 * Every such name holds the number of its process, but not its host: what is young may be of a process on another one
 * (a container in the same folder), and stays. What a journal names stays, too. [R9]
 *
 * Limit: a stage on a device mounted deeper in the working tree is found only through its journal.
 */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readJournals } from "./journal.ts";
import { foreignAgeMsMax, isAlive, thisProcess } from "./process-lock.ts";
import { stagePrefix } from "./stage.ts";

/** The number, and for a stage the start time, of the process that made it. */
const ownNames: readonly RegExp[] = [
	/^stage-(\d+)-(\d+)-[0-9a-f]+$/,
	/^scratch-(\d+)-[0-9a-f]+$/,
	/^index\.(\d+)(?:\.lock)?$/,
	/^capture\.lock\.(\d+)\.[0-9a-f]+$/,
	/^[\w-]+(?:\.\w+)?\.(\d+)\.[0-9a-f]+\.tmp$/,
	/^(?:journal|open)-(\d+)-[0-9a-f]+\.json\.tmp$/,
];
const ownNamesInRoot: readonly RegExp[] = [
	new RegExp(`^\\${stagePrefix}(\\d+)-(\\d+)-[0-9a-f]+$`),
	new RegExp(`^\\${stagePrefix}(\\d+)-new-\\d+$`),
];

/** Absolute paths of what can go; `now` in milliseconds since the epoch. */
export async function findLeftovers(
	root: string,
	privateDir: string,
	now: number,
): Promise<string[]> {
	const named = new Set((await readJournals(privateDir)).flatMap(({ journal }) => journal.stages));
	const { host } = await thisProcess();
	const found: string[] = [];
	for (const [folder, patterns] of [
		[privateDir, ownNames],
		[join(privateDir, "all"), ownNames],
		[join(privateDir, "tracked"), ownNames],
		[root, ownNamesInRoot],
	] as const) {
		for (const name of await readdir(folder).catch(() => [])) {
			const [, pid, start] = patterns.map((pattern) => pattern.exec(name)).find(Boolean) ?? [];
			if (pid === undefined || named.has(join(folder, name))) continue;
			const processStart = start === undefined || start === "0" ? "" : start;
			if (await isAlive({ pid: Number(pid), host, processStart })) continue;
			const changed = await lstat(join(folder, name)).catch(() => undefined);
			if (changed === undefined || now - changed.mtimeMs < foreignAgeMsMax) continue;
			found.push(join(folder, name));
		}
	}
	return found;
}

export async function clearLeftovers(root: string, privateDir: string, now: number): Promise<void> {
	for (const path of await findLeftovers(root, privateDir, now))
		await rm(path, { recursive: true, force: true });
}
