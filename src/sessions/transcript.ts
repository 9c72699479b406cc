/**
 * Reads all entries of a session file, as far as a person needs them to recognise a point.
 *
 * Invariant: [R10] lines that are torn, unknown or too long are counted and skipped, as Pi skips them. [R13] only a
 * regular file is opened.
 */
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { NamedEntry, NamedMessage } from "../core/entries.ts";
import { textOf } from "../core/entries.ts";
import type { EntryId } from "../core/ids.ts";
import { isRecord, parseJson } from "./json.ts";

/** An entry of a session file. */
export interface TranscriptEntry extends NamedEntry {
	readonly id: EntryId;
	readonly parentId: EntryId | null;
	/** As it was written; empty where it does not say. */
	readonly timestamp: string;
	/** Of a custom entry. */
	readonly data?: unknown;
}

export interface Transcript {
	/** In the order of the file. */
	readonly entries: readonly TranscriptEntry[];
	/** Lines that could not be read. */
	readonly unreadable: number;
}

const chunkBytes = 1024 * 1024;
/** A line this long is skipped unread; Pi's own lines hold at most some images. */
const lineBytesMax = 64 * 1024 * 1024;
/** Characters of a message that are kept. */
const textMax = 400;
const newline = 0x0a;

/** Throws what the file system says. A last line without its newline counts, as it does for Pi. */
export async function readTranscript(file: string): Promise<Transcript> {
	const entries: TranscriptEntry[] = [];
	let unreadable = 0;
	const take = (line: Buffer | undefined): void => {
		if (line?.length === 0) return;
		const value = line === undefined ? undefined : parseJson(line.toString("utf8"));
		if (!isRecord(value)) unreadable += 1;
		else {
			const entry = entryOf(value);
			if (entry !== undefined) entries.push(entry);
		}
	};
	for await (const line of linesOf(file)) take(line);
	return { entries, unreadable };
}

/** The lines of a file, without their newlines; absent for one that is too long. */
async function* linesOf(file: string): AsyncGenerator<Buffer | undefined> {
	// Before opening: to open a device can have effects.
	if (!(await stat(file)).isFile()) return;
	const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		let held: Buffer[] = [];
		let heldBytes = 0;
		for (;;) {
			const buffer = Buffer.allocUnsafe(chunkBytes);
			const { bytesRead } = await handle.read(buffer, 0, chunkBytes, null);
			if (bytesRead === 0) break;
			const chunk = buffer.subarray(0, bytesRead);
			let start = 0;
			for (;;) {
				const end = chunk.indexOf(newline, start);
				if (end === -1) break;
				held.push(chunk.subarray(start, end));
				heldBytes += end - start;
				yield heldBytes > lineBytesMax ? undefined : Buffer.concat(held);
				held = [];
				heldBytes = 0;
				start = end + 1;
			}
			heldBytes += chunk.length - start;
			if (heldBytes > lineBytesMax) held = [];
			else held.push(chunk.subarray(start));
		}
		yield heldBytes > lineBytesMax ? undefined : Buffer.concat(held);
	} finally {
		await handle.close();
	}
}

/** Absent for the header, and for what has no id: entries of the first versions, which no record can name. */
function entryOf(value: Readonly<Record<string, unknown>>): TranscriptEntry | undefined {
	const { type, id, parentId, timestamp, customType, data, message } = value;
	if (type === "session" || typeof type !== "string" || typeof id !== "string") return undefined;
	const named = messageOf(message);
	return {
		type,
		id,
		parentId: typeof parentId === "string" ? parentId : null,
		timestamp: typeof timestamp === "string" ? timestamp : "",
		...(typeof customType === "string" ? { customType } : {}),
		...(type === "custom" && data !== undefined ? { data } : {}),
		...(named === undefined ? {} : { message: named }),
	};
}

/** Only the beginning of the text is kept: a session holds megabytes. */
function messageOf(value: unknown): NamedMessage | undefined {
	if (!isRecord(value)) return undefined;
	const { role, content, toolName, command } = value;
	if (typeof role !== "string") return undefined;
	const parts = Array.isArray(content) ? content.filter(isRecord) : content;
	const text = typeof parts === "string" || Array.isArray(parts) ? textOf(parts) : "";
	return {
		role,
		content: text.slice(0, textMax),
		...(typeof toolName === "string" ? { toolName } : {}),
		...(typeof command === "string" ? { command: command.slice(0, textMax) } : {}),
	};
}
