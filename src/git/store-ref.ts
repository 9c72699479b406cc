/**
 * Reads and moves the one ref that keeps snapshots reachable, `refs/pi-rewind/store`.
 *
 * Invariants: [R3] it moves only from the value that was read. [R6] no reflog, no hook.
 */
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isRewindError, RewindError } from "../core/errors.ts";
import { decodeObjectId, type ObjectId } from "../core/ids.ts";
import { runIn } from "./listing.ts";
import { zeroId } from "./objects.ts";
import type { Repository } from "./repository.ts";
import { harmless, lineOf, personEnv } from "./run.ts";

export const storeRef = "refs/pi-rewind/store";

/** Lost swaps are retried with a growing, random pause: eight busy processes settle in well under this. */
const triesMax = 40;
/** git holds a ref's lock for milliseconds; one this old belongs to a process that died. */
const staleLockMs = 10_000;

export interface StoreRef {
	/** Where the ref is now: other processes move it too, so it is read at every call. Absent when nothing is kept. */
	read(): Promise<ObjectId | undefined>;
	/** Moves the ref; false when somebody else moved it, or holds its lock. Without `next`, it goes. */
	swap(next: ObjectId | undefined, old: ObjectId | undefined): Promise<boolean>;
	/** Tries until `attempt` gives something, with a pause after each loss. Throws `keepalive-contended`. */
	untilSwapped<T>(attempt: () => Promise<T | undefined>): Promise<T>;
}

export function createStoreRef(repository: Repository): StoreRef {
	const git = runIn(repository.root, personEnv(), ["--git-dir", repository.gitDir, ...harmless]);

	/** A loose ref needs no process to read; anything else is asked of git. */
	async function read(): Promise<ObjectId | undefined> {
		if (repository.refsAreFiles) {
			const text = await readFile(join(repository.commonDir, storeRef), "latin1").catch(() => "");
			const loose = decodeObjectId(text.trim(), repository.format);
			if (loose !== undefined) return loose;
		}
		const args = ["rev-parse", "--verify", "--quiet", storeRef];
		const { code, stdout } = await git(args, { answers: [1] });
		return code === 0 ? decodeObjectId(lineOf(stdout), repository.format) : undefined;
	}

	async function swap(next: ObjectId | undefined, old: ObjectId | undefined): Promise<boolean> {
		if (next === undefined) {
			if (old === undefined) return true;
			const args = ["update-ref", "--no-deref", "-d", storeRef, old];
			return (await git(args, { answers: [1, 128] })).code === 0;
		}
		try {
			await git(["update-ref", "--no-deref", storeRef, next, old ?? zeroId(repository.format)]);
			return true;
		} catch (error) {
			if (!isRewindError(error) || error.code !== "git-failed") throw error;
			const said = String(error.data["stderr"]);
			// Of `next`, too, which was pruned as long as nothing reached it: who tries again writes it again.
			if (
				!/cannot lock ref|Unable to create|reference already exists|nonexistent object/.test(said)
			)
				throw error;
			await removeStaleLock();
			return false;
		}
	}

	async function removeStaleLock(): Promise<void> {
		if (!repository.refsAreFiles) return;
		const lock = `${join(repository.commonDir, storeRef)}.lock`;
		const ageMs = await stat(lock).then(
			(s) => Date.now() - s.mtimeMs,
			() => 0,
		);
		if (ageMs > staleLockMs) await rm(lock, { force: true });
	}

	return {
		read,
		swap,
		async untilSwapped(attempt) {
			for (let tries = 0; tries < triesMax; tries++) {
				const done = await attempt();
				if (done !== undefined) return done;
				await new Promise((next) => setTimeout(next, Math.random() * 10 * Math.min(tries + 1, 10)));
			}
			throw new RewindError(
				"keepalive-contended",
				`${storeRef} could not be moved: other processes keep moving it`,
				{ hint: "This point was not recorded; the next one tries again" },
			);
		},
	};
}
