/**
 * Reads the records of sessions from their files: those that this session was forked from, and any other.
 *
 * Finds our lines by their bytes and parses only those; remembers how far it came, and next time reads only what was
 * appended. Writes nothing, and knows nothing of git.
 *
 * Invariants: [R10] a file that is missing, torn, hostile or endless is a problem with a name, never an exception or a
 * hang. [R13] only regular files are opened, and only those that begin like a session are read on. [R1] what is
 * remembered only saves reading.
 *
 * Limits: JSON may spell `customType` with escapes; Pi never does, and we do not look for it. A file that is edited in
 * place, in what was read already, is not read again while its end stays the same.
 */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { ForkPending, Ledger, LedgerEntry } from "../core/ledger.ts";
import { emptyLedger, foldInto, withRejected } from "../core/ledger.ts";
import type { SessionLedger } from "../core/lineage.ts";

/** Ancestors followed; a person forks tens of times. */
export const lineageDepthMax = 1_000;

/** Pi looks for the header in this many bytes. */
const headerBytesMax = 1024 * 1024;
/** Lines tried for a header; each that does not parse costs an exception. */
const headerLinesMax = 1_000;
/** Beyond this a file is no session that Pi could load. Keeps a sparse file from holding us up. */
const fileBytesMax = 4 * 1024 ** 3;
/** Bytes before the remembered offset that must still be the same. */
const checkBytes = 64;
/** Files remembered at a time; forgetting one costs a scan. */
const rememberedMax = 4_096;
const newline = 0x0a;

export type SessionProblemReason =
	| "missing"
	| "unreadable"
	/** A folder, a device, or a file that does not begin with a session header. */
	| "not-a-session"
	/** The file is among its own ancestors. */
	| "cycle"
	| "too-deep";

/** Why a session could not be read. A reason, not an error: what is below it still works. */
export interface LineageProblem {
	readonly file: string;
	readonly reason: SessionProblemReason;
}

/** A session as its file tells it. */
export interface SessionFile extends SessionLedger {
	/** The real path. */
	readonly file: string;
	/** The file that this session was forked from, as the header names it. */
	readonly parentSession: string | undefined;
	/** The folder that the session works in. */
	readonly cwd: string | undefined;
}

export type SessionRead =
	| { readonly kind: "session"; readonly session: SessionFile }
	| { readonly kind: "problem"; readonly problem: LineageProblem };

export interface Lineage {
	/** Nearest first. */
	readonly ancestors: readonly SessionFile[];
	/** Why the chain ends before a session without a parent; at most one. */
	readonly problems: readonly LineageProblem[];
}

export interface SessionLog {
	readSession(file: string): Promise<SessionRead>;
	/** Reads the ancestors of a session; a parent that is not absolute is relative to the folder `relativeTo`. */
	readLineage(
		parentSession: string | undefined,
		options: { readonly relativeTo: string },
	): Promise<Lineage>;
}

/** How much is read at a time; a parameter for tests. */
export interface ScanLimits {
	/** At most `lineBytesMax`. */
	readonly chunkBytes: number;
	/** A line this long is skipped unread, and counted as rejected. */
	readonly lineBytesMax: number;
}

const defaultLimits: ScanLimits = { chunkBytes: 1024 * 1024, lineBytesMax: 64 * 1024 * 1024 };

export function createSessionLog(limits: ScanLimits = defaultLimits): SessionLog {
	/** By real path. Values never change, so two reads at once can only repeat each other's work. */
	const remembered = new Map<string, Remembered>();

	async function readSession(file: string): Promise<SessionRead> {
		try {
			const real = await realpath(file);
			// Before opening: to open a device can have effects.
			if (!(await stat(real)).isFile()) return problem(file, "not-a-session");
			const session = await readFile(real);
			return session === undefined ? problem(file, "not-a-session") : { kind: "session", session };
		} catch (error) {
			return problem(file, reasonOf(error));
		}
	}

	async function readFile(real: string): Promise<SessionFile | undefined> {
		// Not blocking: a FIFO that took the file's place meanwhile would wait for a writer.
		const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK);
		try {
			const info = await handle.stat();
			if (!info.isFile() || info.size > fileBytesMax) return undefined;
			const known = remembered.get(real);
			const isKnown = known !== undefined && (await isPrefix(handle, info, known));
			const start = isKnown ? known : await begin(handle, info);
			if (start === undefined) return undefined;

			const scan = await scanLines(handle, start.offset, info.size, limits);
			const ledger = foldLines(start.ledger, scan.lines);
			const check = await digestBefore(handle, scan.offset);
			remember(real, { ...start, offset: scan.offset, check, ledger });
			// The unfinished last line counts now, but is read again once it is finished.
			return { ...start.header, file: real, ledger: foldLines(ledger, scan.tail) };
		} finally {
			await handle.close();
		}
	}

	function remember(real: string, state: Remembered): void {
		remembered.delete(real);
		remembered.set(real, state);
		const [oldest] = remembered.keys();
		if (remembered.size > rememberedMax && oldest !== undefined) remembered.delete(oldest);
	}

	async function readLineage(
		parentSession: string | undefined,
		{ relativeTo }: { readonly relativeTo: string },
	): Promise<Lineage> {
		const ancestors: SessionFile[] = [];
		const seen = new Set<string>();
		const end = (file: string, reason: SessionProblemReason): Lineage => ({
			ancestors,
			problems: [{ file, reason }],
		});

		let parent = parentSession;
		let folder = relativeTo;
		while (parent !== undefined && parent !== "") {
			const file = resolve(folder, parent);
			if (ancestors.length === lineageDepthMax) return end(file, "too-deep");
			const read = await readSession(file);
			if (read.kind === "problem") return { ancestors, problems: [read.problem] };
			const { session } = read;
			if (seen.has(session.file)) return end(file, "cycle");
			seen.add(session.file);
			ancestors.push(session);
			parent = session.parentSession;
			// Pi wrote the path as its process saw it, so relative to where that process ran.
			if (session.cwd !== undefined && isAbsolute(session.cwd)) folder = session.cwd;
		}
		return { ancestors, problems: [] };
	}

	return { readSession, readLineage };
}

/** The newest `rewind-fork-pending` of a session file; absent when there is none, or the file cannot be read. */
export async function readForkPending(
	file: string,
	log: SessionLog = createSessionLog(),
): Promise<ForkPending | undefined> {
	const read = await log.readSession(file);
	return read.kind === "session" ? read.session.ledger.forkPending : undefined;
}

const problem = (file: string, reason: SessionProblemReason): SessionRead => ({
	kind: "problem",
	problem: { file, reason },
});

function reasonOf(error: unknown): SessionProblemReason {
	const code = error instanceof Error && "code" in error ? error.code : undefined;
	// Without a code it is no failure of the file, but a bug of ours.
	if (typeof code !== "string") throw error;
	return code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unreadable";
}

// What is remembered

interface Remembered {
	readonly header: SessionHeader;
	readonly dev: number;
	readonly ino: number;
	/** After the last full line that was read. */
	readonly offset: number;
	/** Digest of the bytes just before `offset`. */
	readonly check: string;
	/** All full lines up to `offset`. */
	readonly ledger: Ledger;
}

/** Whether the file still begins with what was read of it: session files are appended to, or written anew. */
async function isPrefix(handle: FileHandle, info: Stats, known: Remembered): Promise<boolean> {
	if (info.dev !== known.dev || info.ino !== known.ino || info.size < known.offset) return false;
	return (await digestBefore(handle, known.offset)) === known.check;
}

/** Reads the header; absent when there is none, or its line is not finished yet. */
async function begin(
	handle: FileHandle,
	{ dev, ino, size }: Stats,
): Promise<Remembered | undefined> {
	const bytes = await readAt(handle, 0, Math.min(size, headerBytesMax));
	const header = decodeHeader(bytes.toString("utf8", 0, bytes.lastIndexOf(newline) + 1));
	if (header === undefined) return undefined;
	return { header, dev, ino, offset: 0, check: "", ledger: emptyLedger };
}

async function digestBefore(handle: FileHandle, offset: number): Promise<string> {
	const length = Math.min(offset, checkBytes);
	const bytes = await readAt(handle, offset - length, length);
	return createHash("sha1").update(bytes).digest("hex");
}

/** Fewer bytes than asked when the file ends before. */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const buffer = Buffer.alloc(length);
	let filled = 0;
	while (filled < length) {
		const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return buffer.subarray(0, filled);
}

// Scanning

interface Lines {
	/** Custom entries whose type begins with `rewind-`. */
	readonly entries: readonly LedgerEntry[];
	/** Lines that look like one of those and could not be parsed, or were too long to look at. */
	readonly rejected: number;
}

interface Scan {
	readonly lines: Lines;
	/** The last line, when no newline ends it yet. */
	readonly tail: Lines;
	/** After the last full line. */
	readonly offset: number;
}

const foldLines = (ledger: Ledger, { entries, rejected }: Lines): Ledger =>
	withRejected(foldInto(ledger, entries), rejected);

/**
 * Scans the bytes `from`…`to`, which must begin at a line. One buffer is used again and again; an unfinished line is
 * moved to its front, and the buffer grows only for a line that is longer than it.
 */
async function scanLines(
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
	return { lines: lines.collected, tail: tail.collected, offset };
}

function collector() {
	const entries: LedgerEntry[] = [];
	const collected = { entries, rejected: 0 };
	const reject = (): void => {
		collected.rejected += 1;
	};
	function collect(block: Buffer): void {
		for (const line of linesOfOurs(block)) {
			const entry = decodeLine(line);
			if (entry === "rejected") reject();
			else if (entry !== undefined) entries.push(entry);
		}
	}
	return { collected, collect, reject };
}

const needle = Buffer.from('"customType"');
/** What follows the needle in a line of ours; Pi writes no blanks, other tools write one. */
const typeOfOurs = /^[ \t]*:[ \t]*"rewind-/;
const typeBytesMax = 32;

/** Lines that hold `"customType":"rewind-`, with or without blanks around the colon. */
function* linesOfOurs(block: Buffer): Generator<string> {
	let from = 0;
	for (;;) {
		const hit = block.indexOf(needle, from);
		if (hit === -1) return;
		from = hit + needle.length;
		if (!typeOfOurs.test(block.toString("latin1", from, from + typeBytesMax))) continue;
		const end = block.indexOf(newline, from);
		const start = block.lastIndexOf(newline, hit) + 1;
		from = end === -1 ? block.length : end;
		yield block.toString("utf8", start, from);
	}
}

// Lines

type SessionHeader = Omit<SessionFile, "file" | "ledger">;

/** The first line that parses must be the header; torn lines before it are skipped, as Pi skips them. */
function decodeHeader(text: string): SessionHeader | undefined {
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

/** Absent for a line of another kind that only talks about ours: a message, a nested value. */
function decodeLine(line: string): LedgerEntry | "rejected" | undefined {
	const value = parseJson(line);
	if (value === undefined) return "rejected";
	if (!isRecord(value)) return undefined;
	const { type, id, timestamp, customType, data } = value;
	if (type !== "custom" || typeof customType !== "string") return undefined;
	if (!customType.startsWith("rewind-")) return undefined;
	if (typeof id !== "string") return "rejected";
	return { type, id, customType, data, ...(typeof timestamp === "string" ? { timestamp } : {}) };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		// Absence is the answer for text that is not JSON; the caller counts it where it matters. [R10]
		return undefined;
	}
}
