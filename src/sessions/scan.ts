/**
 * Finds our lines, and labels, in the bytes of a session file, and parses only those.
 *
 * Invariant: [R10] torn, glued and over-long lines are counted, never an exception; memory stays bounded.
 *
 * Limit: JSON may spell `customType` with escapes; Pi never does, and we do not look for it.
 */
import type { FileHandle } from "node:fs/promises";
import type { Ledger, LedgerEntry } from "../core/ledger.ts";
import { foldInto, withRejected } from "../core/ledger.ts";
import { isRecord, parseJson } from "./json.ts";

/** Lines tried for a header; each that does not parse costs an exception. */
const headerLinesMax = 1_000;
const newline = 0x0a;

/** How much is read at a time; a parameter for tests. */
export interface ScanLimits {
	/** At most `lineBytesMax`. */
	readonly chunkBytes: number;
	/** A line this long is skipped unread, and counted as rejected. */
	readonly lineBytesMax: number;
}

export interface Lines {
	/** Custom entries whose type begins with `rewind-`, and labels. */
	readonly entries: readonly LedgerEntry[];
	/** Lines that look like one of those and could not be parsed, or were too long to look at. */
	readonly rejected: number;
}

export interface Scan {
	readonly lines: Lines;
	/** The last line, when no newline ends it yet. */
	readonly tail: Lines;
	/** That line is not whole: it is being written, or its writer died. */
	readonly isTorn: boolean;
	/** After the last full line. */
	readonly offset: number;
}

export const foldLines = (ledger: Ledger, { entries, rejected }: Lines): Ledger =>
	withRejected(foldInto(ledger, entries), rejected);

/**
 * Scans the bytes `from`…`to`, which must begin at a line. One buffer is used again and again; an unfinished line is
 * moved to its front, and the buffer grows only for a line that is longer than it.
 */
export async function scanLines(
	handle: FileHandle,
	from: number,
	to: number,
	limits: ScanLimits,
): Promise<Scan> {
	const lines = collector();
	let buffer = Buffer.allocUnsafe(Math.min(limits.chunkBytes, limits.lineBytesMax));
	let position = from;
	let offset = from;
	/** Bytes of the unfinished line at the front of the buffer. */
	let held = 0;
	/** Whether the unfinished line is too long already. */
	let isSkipping = false;

	while (position < to) {
		const room = Math.min(buffer.length - held, to - position);
		const { bytesRead } = await handle.read(buffer, held, room, position);
		// The file shrank meanwhile; what was read of it stands.
		if (bytesRead === 0) break;
		position += bytesRead;
		const filled = held + bytesRead;
		let lineStart = 0;
		if (isSkipping) {
			const end = buffer.subarray(0, filled).indexOf(newline);
			if (end === -1) continue;
			lines.reject();
			isSkipping = false;
			lineStart = end + 1;
		}
		const block = buffer.subarray(lineStart, filled);
		const end = block.lastIndexOf(newline) + 1;
		lines.collect(block.subarray(0, end));
		held = block.length - end;
		offset = position - held;
		buffer.copyWithin(0, lineStart + end, filled);

		if (held < buffer.length) continue;
		if (held < limits.lineBytesMax) {
			const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, limits.lineBytesMax));
			buffer.copy(larger);
			buffer = larger;
		} else {
			held = 0;
			isSkipping = true;
		}
	}

	const tail = collector();
	if (isSkipping) tail.reject();
	else tail.collect(buffer.subarray(0, held));
	const isTorn =
		isSkipping || (held > 0 && parseJson(buffer.toString("utf8", 0, held)) === undefined);
	return { lines: lines.collected, tail: tail.collected, isTorn, offset };
}

function collector() {
	const entries: LedgerEntry[] = [];
	const collected = { entries, rejected: 0 };
	const reject = (): void => {
		collected.rejected += 1;
	};
	function collect(block: Buffer): void {
		// Records and labels do not depend on each other, so one kind may come after the other.
		for (const needle of needles)
			for (const line of linesWith(needle, block)) {
				const entry = decodeLine(line);
				if (entry === "rejected") reject();
				else if (entry?.type === needle.type) entries.push(entry);
			}
	}
	return { collected, collect, reject };
}

/** What a line of ours holds, and what must stand around it. Pi writes no blanks there, other tools write one. */
interface Needle {
	readonly type: string;
	readonly bytes: Buffer;
	readonly before: RegExp;
	readonly after: RegExp;
}

const needles: readonly Needle[] = [
	{
		type: "custom",
		// From its rarest letter on: finding the first byte of a needle is what takes the time.
		bytes: Buffer.from('Type"'),
		before: /"custom$/,
		after: /^[ \t]*:[ \t]*"rewind-/,
	},
	{ type: "label", bytes: Buffer.from('"label"'), before: /"type"[ \t]*:[ \t]*$/, after: /^/ },
];
const lookBytes = 32;

/** Lines that may be ours: they hold a needle where it belongs. */
function* linesWith({ bytes, before, after }: Needle, block: Buffer): Generator<string> {
	let from = 0;
	for (;;) {
		const hit = block.indexOf(bytes, from);
		if (hit === -1) return;
		from = hit + bytes.length;
		if (!before.test(block.toString("latin1", Math.max(0, hit - lookBytes), hit))) continue;
		if (!after.test(block.toString("latin1", from, from + lookBytes))) continue;
		const end = block.indexOf(newline, from);
		const start = block.lastIndexOf(newline, hit) + 1;
		from = end === -1 ? block.length : end;
		yield block.toString("utf8", start, from);
	}
}

/** The first line of a session file. */
export interface SessionHeader {
	readonly sessionId: string;
	/** When it was written, in ms since the epoch; NaN when it does not say. */
	readonly startedAt: number;
	/** The file that this session was forked from, as it was written. */
	readonly parentSession: string | undefined;
	/** The folder that the session works in. */
	readonly cwd: string | undefined;
}

/** The first line that parses must be the header; torn lines before it are skipped, as Pi skips them. */
export function decodeHeader(text: string): SessionHeader | undefined {
	for (const line of text.split("\n", headerLinesMax)) {
		const value = parseJson(line);
		if (value === undefined) continue;
		if (!isRecord(value) || value["type"] !== "session") return undefined;
		const { id, timestamp, parentSession, cwd } = value;
		if (typeof id !== "string") return undefined;
		return {
			sessionId: id,
			startedAt: typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN,
			parentSession: typeof parentSession === "string" ? parentSession : undefined,
			cwd: typeof cwd === "string" ? cwd : undefined,
		};
	}
	return undefined;
}

const otherKindBytes = 64 * 1024;

/**
 * Whether a file without a header is surely no session: its first line is whole, and no entry of Pi's. One that lost its
 * header begins with an entry, or with half a line.
 */
export async function isOfAnotherKind(handle: FileHandle): Promise<boolean> {
	const { bytesRead, buffer } = await handle.read(
		Buffer.alloc(otherKindBytes),
		0,
		otherKindBytes,
		0,
	);
	const [line = "", ...rest] = buffer.toString("utf8", 0, bytesRead).split("\n", 2);
	const value = rest.length === 0 ? undefined : parseJson(line);
	if (value === undefined) return false;
	if (!isRecord(value)) return true;
	const { type } = value;
	return !(typeof type === "string" && (type === "session" || "id" in value));
}

/** Absent for a line of another kind that only talks about ours: a message, a nested value. */
function decodeLine(line: string): LedgerEntry | "rejected" | undefined {
	const value = parseJson(line);
	if (value === undefined) return "rejected";
	if (!isRecord(value)) return undefined;
	const { type, id, timestamp, customType, data, targetId, label } = value;
	if (type === "label") return typeof id === "string" ? { type, id, targetId, label } : "rejected";
	if (type !== "custom" || typeof customType !== "string") return undefined;
	if (!customType.startsWith("rewind-")) return undefined;
	if (typeof id !== "string") return "rejected";
	return { type, id, customType, data, ...(typeof timestamp === "string" ? { timestamp } : {}) };
}
