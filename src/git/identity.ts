/**
 * The name of a working tree: a random id that moves with it (`mv`, `git worktree move`), kept in its private dir.
 *
 * Invariant: [R1] losing the private dir loses nothing: the id is found again in the newest snapshot that was taken at
 * the same place of the repository.
 *
 * Limit: a linked worktree that was removed and made again under the same name takes over the old one's points.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Snapshot } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import type { ObjectId } from "../core/ids.ts";
import type { Keepalive } from "./keepalive.ts";
import { writeIfDifferent } from "./private-dir.ts";
import type { Repository } from "./repository.ts";

/** How many kept snapshots are looked at for an id that was lost. */
const lookBackMax = 200;
const triesMax = 50;

/** The git dir of this working tree, relative to the common dir. */
export const placeOf = ({ commonDir, gitDir }: Repository): string =>
	relative(commonDir, gitDir) || ".";

/** Reads the id, finds it again, or makes one; whichever process comes first makes it for all. */
export async function worktreeIdentity(
	repository: Repository,
	keepalive: Keepalive,
	read: (id: ObjectId) => Promise<Snapshot | undefined>,
): Promise<string> {
	await mkdir(repository.privateDir, { recursive: true });
	const file = join(repository.privateDir, "worktree-id");
	let found: string | undefined;
	for (let tries = 0; tries < triesMax; tries++) {
		const known = await readId(file);
		if (known !== undefined) return known;
		found ??= (await lastIdAt(placeOf(repository), keepalive, read)) ?? randomUUID();
		try {
			const handle = await open(file, "wx");
			await handle.writeFile(`${found}\n`);
			await handle.close();
		} catch {
			// Another process makes it at this moment; or a torn one was left, which is replaced here.
			await new Promise((resolve) => setTimeout(resolve, 20));
			if (tries === triesMax / 2) await rm(file, { force: true });
		}
	}
	throw new RewindError("io-failed", "Cannot make the id of this working tree", {
		hint: "Is the git dir writable?",
		data: { file },
	});
}

/** Writes the id back where it was lost while it is known. */
export const keepIdentity = async (repository: Repository, id: string): Promise<void> => {
	await writeIfDifferent(join(repository.privateDir, "worktree-id"), `${id}\n`);
};

async function readId(file: string): Promise<string | undefined> {
	const text = await readFile(file, "utf8").catch(() => "");
	return /^[0-9a-f-]{36}$/.test(text.trim()) ? text.trim() : undefined;
}

async function lastIdAt(
	place: string,
	keepalive: Keepalive,
	read: (id: ObjectId) => Promise<Snapshot | undefined>,
): Promise<string | undefined> {
	for (const id of await keepalive.newest(lookBackMax)) {
		const snapshot = await read(id);
		if (snapshot?.head?.place === place) return snapshot.head.worktree;
	}
	return undefined;
}
