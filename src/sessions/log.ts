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
 * Limit: a file that is edited in place, in what was read already, is not read again while its end stays the same.
 */
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { ForkPending, Ledger } from "../core/ledger.ts";
import { emptyLedger } from "../core/ledger.ts";
import type { SessionLedger } from "../core/lineage.ts";
import { decodeHeader, foldLines, type ScanLimits, scanLines, type SessionHeader } from "./scan.ts";

/** Ancestors followed; a person forks tens of times. */
export const lineageDepthMax = 1_000;

/** Pi looks for the header in this many bytes. */
const headerBytesMax = 1024 * 1024;
const headerBytesUsual = 4 * 1024;
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

/** Completes "a session …". */
export const problemWords: Record<SessionProblemReason, string> = {
	missing: "is not there any more",
	unreadable: "cannot be read",
	"not-a-session": "is no session file",
	cycle: "names itself as its parent",
	"too-deep": "is too far back",
};

/** Why a session could not be read. A reason, not an error: what is below it still works. */
export interface LineageProblem {
	readonly file: string;
	readonly reason: SessionProblemReason;
}

/** A session as its file tells it. */
export interface SessionFile extends SessionLedger, SessionHeader {
	/** The real path. */
	readonly file: string;
	/** The last line is not whole. */
	readonly isTorn: boolean;
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

const defaultLimits: ScanLimits = { chunkBytes: 256 * 1024, lineBytesMax: 64 * 1024 * 1024 };

export function createSessionLog(limits: ScanLimits = defaultLimits): SessionLog {
	/** By real path. Values never change, so two reads at once can only repeat each other's work. */
	const remembered = new Map<string, Remembered>();

	async function readSession(file: string): Promise<SessionRead> {
		try {
			const real = await realpath(file);
			// Before opening: to open a device can have effects.
			const info = await stat(real);
			if (!info.isFile()) return problem(file, "not-a-session");
			const known = remembered.get(real);
			const isUnchanged = known !== undefined && isSame(info, known);
			const session = isUnchanged ? known.whole : await readFile(real);
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
			// The unfinished last line counts now, but is read again once it is finished.
			const session = { file: real, ledger: foldLines(ledger, scan.tail), isTorn: scan.isTorn };
			const whole = { ...start.header, ...session };
			const { size, mtimeMs } = info;
			remember(real, { ...start, size, mtimeMs, offset: scan.offset, check, ledger, whole });
			return whole;
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
	readonly size: number;
	readonly mtimeMs: number;
	/** What was given for it. */
	readonly whole: SessionFile;
}

/** What nothing was read of yet. */
type Beginning = Pick<Remembered, "header" | "dev" | "ino" | "offset" | "ledger">;

/** Nothing was written since, as far as the file's own times say; who puts them back is not our reader. */
const isSame = (info: Stats, known: Remembered): boolean =>
	info.dev === known.dev &&
	info.ino === known.ino &&
	info.size === known.size &&
	info.mtimeMs === known.mtimeMs;

/** Whether the file still begins with what was read of it: session files are appended to, or written anew. */
async function isPrefix(handle: FileHandle, info: Stats, known: Remembered): Promise<boolean> {
	if (info.dev !== known.dev || info.ino !== known.ino || info.size < known.offset) return false;
	return (await digestBefore(handle, known.offset)) === known.check;
}

/** Reads the header; absent when there is none, or its line is not finished yet. */
async function begin(
	handle: FileHandle,
	{ dev, ino, size }: Stats,
): Promise<Beginning | undefined> {
	const header = await readHeader(handle, size);
	return header === undefined ? undefined : { header, dev, ino, offset: 0, ledger: emptyLedger };
}

/** The header of an open file of `size` bytes; absent when there is none, or its line is not finished yet. */
export async function readHeader(
	handle: FileHandle,
	size: number,
): Promise<SessionHeader | undefined> {
	// Nearly always in the first bytes; only behind torn lines is it further on.
	for (const length of [headerBytesUsual, headerBytesMax]) {
		const bytes = await readAt(handle, 0, Math.min(size, length));
		const header = decodeHeader(bytes.toString("utf8", 0, bytes.lastIndexOf(newline) + 1));
		if (header !== undefined || bytes.length < length) return header;
	}
	return undefined;
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
