/**
 * What the working trees of a repository hold: the snapshots that their private HEADs and the journals of restores name,
 * and the sessions that run there.
 *
 * Invariant: [R8] looks into every private dir, of linked worktrees too; what cannot be read is named.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeObjectId, type SnapshotId } from "../core/ids.ts";
import type { Hidden, Pin } from "../core/retention.ts";
import { isJournal, readJournal } from "../disk/journal.ts";
import { runningIn } from "../disk/presence.ts";
import type { Held } from "../engine/ports.ts";
import type { Scope } from "./private-dir.ts";
import type { Repository } from "./repository.ts";

const scopes: readonly Scope[] = ["all", "tracked"];

/** `now` is in ms since the epoch. */
export async function readHeld(repository: Repository, now: number): Promise<Held> {
	const { commonDir, format } = repository;
	const pins = new Map<SnapshotId, Pin>();
	const running = new Set<string>();
	const hidden: Hidden[] = [];

	/** Names in a folder; none where there is none. */
	async function list(folder: string): Promise<readonly string[]> {
		try {
			return await readdir(folder);
		} catch (error) {
			// What is not there, or is no folder, holds nothing; all else is named.
			if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") hide(folder, error);
			return [];
		}
	}

	function hide(path: string, error: unknown): void {
		hidden.push({ path, why: `cannot be read (${String(codeOf(error) ?? error)})` });
	}

	async function readHead(file: string): Promise<void> {
		try {
			const text = (await readFile(file, "utf8")).trim();
			const id = decodeObjectId(text, format);
			if (id !== undefined) pins.set(id, "head");
			// Unborn: nothing was captured yet.
			else if (!text.startsWith("ref: ")) hidden.push({ path: file, why: "names no snapshot" });
		} catch (error) {
			// Nothing was captured in this scope yet; all else is named.
			if (codeOf(error) !== "ENOENT") hide(file, error);
		}
	}

	async function readRestore(file: string): Promise<void> {
		const journal = await readJournal(file);
		if (journal === "gone") return;
		if (journal === undefined) hidden.push({ path: file, why: "is no journal that can be read" });
		else for (const id of [journal.target, journal.undo]) pins.set(id, "restore");
	}

	const linked = join(commonDir, "worktrees");
	const gitDirs = [commonDir, ...(await list(linked)).map((name) => join(linked, name))];
	for (const gitDir of gitDirs) {
		const privateDir = join(gitDir, "pi-rewind");
		const names = await list(privateDir);
		for (const scope of scopes.filter((each) => names.includes(each)))
			await readHead(join(privateDir, scope, "HEAD"));
		for (const name of names.filter(isJournal)) await readRestore(join(privateDir, name));
		const present = await runningIn(privateDir, now);
		for (const id of present.running) running.add(id);
		for (const path of present.unreadable) hidden.push({ path, why: "does not say which session" });
	}
	return { pins, running, hidden };
}

/** Of every working tree that the repository has, whether or not there is one; a folder that cannot be read has none. */
export async function privateDirsOf({ commonDir }: Repository): Promise<readonly string[]> {
	const linked = join(commonDir, "worktrees");
	const names = await readdir(linked).catch(() => []);
	return [commonDir, ...names.map((name) => join(linked, name))].map((gitDir) =>
		join(gitDir, "pi-rewind"),
	);
}

const codeOf = (error: unknown): unknown =>
	error instanceof Error && "code" in error ? error.code : undefined;
