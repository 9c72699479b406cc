/**
 * Appends an entry to a session file that no Pi has open, as Pi would: one line, child of the last entry.
 *
 * Invariants: only whole lines are added, to a file that ends with one, in one write that is on the disk when the call
 * returns; a file that was changed meanwhile gets none. Pi takes the last entry of the file for where the
 * conversation stands, so an entry that adds nothing to it moves nobody.
 */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, type FileHandle, open, stat } from "node:fs/promises";
import { RewindError } from "../core/errors.ts";
import type { EntryId } from "../core/ids.ts";
import { readTranscript } from "./transcript.ts";

const newline = 0x0a;

/** Throws `io-failed` where nothing could be appended: finds out before a restore what would fail after it. */
export async function checkAppendable(file: string): Promise<void> {
	try {
		await access(file, constants.R_OK | constants.W_OK);
		const handle = await open(file, "r");
		try {
			await endOf(handle, file);
		} finally {
			await handle.close();
		}
	} catch (error) {
		throw asFailure(file, error);
	}
}

/**
 * Appends; gives the id of the new entry. `now` in ms since the epoch. Throws `io-failed` or `no-space`; then
 * the file is as it was.
 */
export async function appendCustomEntry(
	file: string,
	entry: { readonly customType: string; readonly data: object },
	now: number,
): Promise<EntryId> {
	try {
		// Appending: what another process adds at this moment stays whole, whoever is first.
		const handle = await open(file, constants.O_RDWR | constants.O_APPEND);
		try {
			const size = await endOf(handle, file);
			const { entries } = await readTranscript(file);
			const taken = new Set(entries.map(({ id }) => id));
			const id = freshId(taken);
			const line = JSON.stringify({
				type: "custom",
				customType: entry.customType,
				data: entry.data,
				id,
				parentId: entries.at(-1)?.id ?? null,
				timestamp: new Date(now).toISOString(),
			});
			await appendLine(handle, file, size, Buffer.from(`${line}\n`));
			return id;
		} finally {
			await handle.close();
		}
	} catch (error) {
		throw asFailure(file, error);
	}
}

/** The file's size. A line that is not finished would be glued to ours. */
async function endOf(handle: FileHandle, file: string): Promise<number> {
	const { size } = await handle.stat();
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
	if (bytesRead === 1 && buffer[0] === newline) return size;
	throw new RewindError("io-failed", `The last line of ${file} is not finished`, {
		hint: "Open the session in Pi once, or name another one with --session",
	});
}

async function appendLine(
	handle: FileHandle,
	file: string,
	size: number,
	line: Buffer,
): Promise<void> {
	const [ours, theirs] = await Promise.all([handle.stat(), stat(file)]);
	if (ours.size !== size || ours.ino !== theirs.ino)
		throw new RewindError("io-failed", `${file} was changed by another process`, {
			hint: "Is the session open in Pi? Go back there with /tree",
		});
	const { bytesWritten } = await handle.write(line);
	if (bytesWritten === line.length) return handle.sync();
	// Half a line would take the next one with it.
	const isLast = (await handle.stat()).size === size + bytesWritten;
	if (isLast) await handle.truncate(size);
	throw new RewindError("no-space", `The disk took only a part of a line of ${file}`, {
		hint: "Free some space",
	});
}

/** Pi's ids are eight hexadecimal digits, unique within their file. */
function freshId(taken: ReadonlySet<EntryId>): EntryId {
	const short = randomUUID().slice(0, 8);
	return taken.has(short) ? randomUUID() : short;
}

const asFailure = (file: string, error: unknown): unknown =>
	error instanceof RewindError
		? error
		: new RewindError("io-failed", `The session file ${file} cannot be written`, {
				hint: "Mend its permissions or the disk, or name another one with --session",
				cause: error,
			});
