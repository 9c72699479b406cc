/**
 * Remembers files that could still change unseen when they were captured.
 *
 * git compares whole seconds (2.39): a file whose second of change was not over when it was hashed can get other
 * content of the same size in that very second, its old mtime put back (`cp -p`, `touch -r`), and look the same. Such
 * files are compared to the nanosecond at the next capture, by whichever process makes it.
 *
 * Of folders git remembers the second, too, and does not look into them again while it is the same. It looks again where
 * the index is not younger than that second; so the index is made as old as the look (`ageIndex`).
 */
import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type BytePath, bytePathOf } from "../core/ids.ts";
import { lstatBig, type StatSignature, signatureOf } from "./classify.ts";
import { absolutePath } from "../disk/files.ts";
import { readText, writeIfDifferent } from "./private-dir.ts";

export interface Young {
	readonly signature: StatSignature;
	/** Second since the epoch in which the inode last changed. */
	readonly changedSecond: number;
}

/** File systems may stamp a little behind the clock. */
const clockSlackSeconds = 1;

/** Empty when there is no file, or it is torn: then git alone judges. */
export function loadYoung(gitDir: string): Map<BytePath, Young> {
	const young = new Map<BytePath, Young>();
	const fields = readText(join(gitDir, "young"), "latin1").split("\0");
	// A torn file ends early: the rest is then judged by git alone, as it is without this file.
	for (let i = 0; i + 2 < fields.length; i += 3) {
		const [path = "", signature = "", second = ""] = fields.slice(i, i + 3);
		young.set(bytePathOf(path), { signature, changedSecond: Number(second) });
	}
	return young;
}

export async function saveYoung(
	gitDir: string,
	young: ReadonlyMap<BytePath, Young>,
): Promise<void> {
	const text = [...young]
		.map(([path, y]) => `${path}\0${y.signature}\0${y.changedSecond}\0`)
		.join("");
	await writeIfDifferent(join(gitDir, "young"), Buffer.from(text, "latin1"));
}

/**
 * Of what was just staged and of what was young before, what still is, for a capture begun at `startedAt` (ms). What
 * left the index is out: a file that comes later under its name may be an ignored one.
 */
export function youngOf(
	staged: ReadonlyMap<BytePath, Young>,
	before: ReadonlyMap<BytePath, Young>,
	left: ReadonlySet<BytePath>,
	startedAt: number,
): Map<BytePath, Young> {
	const from = Math.floor(startedAt / 1000) - clockSlackSeconds;
	const stayed = [...before].filter(([path]) => !left.has(path));
	return new Map([...stayed, ...staged].filter(([, { changedSecond }]) => changedSecond >= from));
}

/** Young files that are not what they were, though git did not say so. */
export function touchedYoung(
	young: ReadonlyMap<BytePath, Young>,
	root: string,
	alreadyListed: ReadonlySet<BytePath>,
): Set<BytePath> {
	const touched = new Set<BytePath>();
	for (const [path, { signature }] of young) {
		if (alreadyListed.has(path)) continue;
		let stats: ReturnType<typeof lstatBig>;
		try {
			stats = lstatBig(absolutePath(root, path));
		} catch {
			// A parent is no folder any more, or cannot be searched: git's own listing says what is so.
			continue;
		}
		if (stats !== undefined && signatureOf(stats) !== signature) touched.add(path);
	}
	return touched;
}

/**
 * Makes the index as old as the look at the files, begun at `startedAt` (ms), that led to it: what came into a folder
 * between the look and the writing of the index, within one second, would not be seen at any later capture. Where the
 * look was cut off (`isLooked` is false) it only gets older: what it stood for before was not looked at again.
 */
export function ageIndex(gitDir: string, startedAt: number, isLooked: boolean): void {
	const file = join(gitDir, "index");
	const second = Math.floor(startedAt / 1000) - clockSlackSeconds;
	try {
		if (isLooked || statSync(file).mtimeMs > second * 1000) utimesSync(file, second, second);
	} catch {
		// No index: the next capture starts with none.
	}
}
