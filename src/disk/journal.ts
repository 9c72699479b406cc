/**
 * The journal of a restore: on disk before the first write, gone after the last record. [R9]
 *
 * One file per restore in the private dir, written whole under another name and renamed. A journal whose process is
 * gone names an interrupted restore; its target and its undo are snapshots, so both ways out are ordinary restores.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type BytePath, bytePathOf, decodeAnyObjectId, type ObjectId } from "../core/ids.ts";
import type { Interrupted, Journal, JournalDraft } from "../engine/ports.ts";
import { decodeIdentity, foreignAgeMsMax, isAlive, thisProcess } from "./process-lock.ts";

/** Gives the journal's file. */
export async function writeJournal(
	privateDir: string,
	draft: JournalDraft,
	stages: readonly string[],
): Promise<string> {
	const { formerPaths: _, asShown: __, contents, ...about } = draft;
	const journal = {
		v: 1,
		...(await thisProcess()),
		...about,
		stages,
		...(contents === undefined ? {} : { contents: [...contents] }),
	};
	const file = join(privateDir, `journal-${process.pid}-${randomBytes(4).toString("hex")}.json`);
	await writeFile(`${file}.tmp`, JSON.stringify(journal));
	await rename(`${file}.tmp`, file);
	return file;
}

export const isJournal = (name: string): boolean => /^journal-[\w-]+\.json$/.test(name);

/** All journals. One that cannot be read is left where it is: it names nothing. */
export async function readJournals(privateDir: string): Promise<Interrupted[]> {
	const names = await readdir(privateDir).catch(() => []);
	const found: Interrupted[] = [];
	for (const name of names.filter(isJournal).toSorted()) {
		const file = join(privateDir, name);
		const journal = await readJournal(file);
		if (journal !== "gone" && journal !== undefined)
			found.push({ file, journal, isForeign: journal.host !== hostname() });
	}
	return found;
}

/** Absent for a file that is no journal, or one that a newer version wrote; `gone` when its restore just ended. */
export async function readJournal(file: string): Promise<Journal | "gone" | undefined> {
	try {
		return decodeJournal(await readFile(file, "utf8"));
	} catch (error) {
		// Which of the two it is decides what the caller may take for granted.
		const isGone = error instanceof Error && "code" in error && error.code === "ENOENT";
		return isGone ? "gone" : undefined;
	}
}

/**
 * Journals of processes that are gone. Of another host (a container that was made anew) nobody can be asked: one that
 * is older than any restore takes is taken for gone.
 */
export async function readInterrupted(privateDir: string, now: number): Promise<Interrupted[]> {
	const found: Interrupted[] = [];
	for (const each of await readJournals(privateDir))
		if (isOld(each, now) || !(await isAlive(each.journal))) found.push(each);
	return found;
}

/** Journals of other hosts that are too young to be taken for gone. */
export async function readElsewhere(privateDir: string, now: number): Promise<Interrupted[]> {
	const all = await readJournals(privateDir);
	return all.filter((each) => each.isForeign && !isOld(each, now));
}

/** Where nobody can say whether the process lives. A time in the future is of another clock: it says nothing. */
function isOld({ journal, isForeign }: Interrupted, now: number): boolean {
	if (!isForeign && journal.processStart !== "") return false;
	return Math.abs(now - journal.startedAt) > foreignAgeMsMax;
}

export const removeJournal = (file: string): Promise<void> => rm(file, { force: true });

function decodeJournal(text: string): Journal | undefined {
	const identity = decodeIdentity(text);
	if (identity === undefined) return undefined;
	const value: unknown = JSON.parse(text);
	if (typeof value !== "object" || value === null) return undefined;
	const get = (key: string): unknown => Reflect.get(value, key);
	const target = decodeAnyObjectId(get("target"));
	const undo = decodeAnyObjectId(get("undo"));
	const sessionId = get("sessionId");
	const paths = get("paths");
	const stages = get("stages");
	const startedAt = get("startedAt");
	const contents = decodeContents(get("contents"));
	if (get("v") !== 1 || target === undefined || undo === undefined) return undefined;
	if (typeof sessionId !== "string" || typeof startedAt !== "number") return undefined;
	if (!Array.isArray(paths) || !Array.isArray(stages) || contents === undefined) return undefined;
	const texts = (list: readonly unknown[]): string[] =>
		list.filter((each) => typeof each === "string");
	return {
		v: 1,
		...identity,
		sessionId,
		target,
		undo,
		paths: texts(paths).map(bytePathOf),
		stages: texts(stages),
		startedAt,
		...(contents.size === 0 ? {} : { contents }),
	};
}

/** Absent when one of it cannot be read: without it more would go back than was chosen. */
function decodeContents(value: unknown): ReadonlyMap<BytePath, ObjectId> | undefined {
	const contents = new Map<BytePath, ObjectId>();
	if (value === undefined) return contents;
	if (!Array.isArray(value)) return undefined;
	for (const item of value) {
		const [path, text]: readonly unknown[] = Array.isArray(item) ? item : [];
		const id = decodeAnyObjectId(text);
		if (typeof path !== "string" || id === undefined) return undefined;
		contents.set(bytePathOf(path), id);
	}
	return contents;
}
