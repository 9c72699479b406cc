/**
 * The few things done to the working tree's files, each safe on its own.
 *
 * Paths are byte strings below a root [R14]. No symbolic link is ever followed: parents are looked at one by one,
 * right before each act. [R5]
 *
 * Accepted: a parent can be swapped for a link between the look and the act; Node has no openat.
 */
import { createHash } from "node:crypto";
import {
	type BigIntStats,
	closeSync,
	type Dirent,
	fstatSync,
	lstatSync,
	openSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	readSync,
	constants,
} from "node:fs";
import {
	type BytePath,
	bytePathOf,
	type ObjectFormat,
	parentPaths,
	pathBytes,
} from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";

export const absolutePath = (root: string, path: BytePath): Buffer =>
	path === "" ? Buffer.from(root) : Buffer.concat([Buffer.from(`${root}/`), pathBytes(path)]);

/** Absent when nothing is there, also where a parent is no folder; other failures are thrown. */
export function lstatAt(root: string, path: BytePath): BigIntStats | undefined {
	try {
		return lstatSync(absolutePath(root, path), { bigint: true, throwIfNoEntry: false });
	} catch (error) {
		const code = errorCode(error);
		if (code === "ENOTDIR" || code === "ELOOP") return undefined;
		throw error;
	}
}

export const errorCode = (error: unknown): string | undefined =>
	error instanceof Error && "code" in error && typeof error.code === "string"
		? error.code
		: undefined;

/** The parent nearest to the root that is not a real folder; absent when all are. */
export function blockingParent(root: string, path: BytePath): BytePath | undefined {
	for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
		const parent = bytePathOf(path.slice(0, at));
		if (lstatAt(root, parent)?.isDirectory() !== true) return parent;
	}
	return undefined;
}

/** What is in a folder; absent where we may not look. */
export function entriesOf(root: string, folder: BytePath): Dirent<Buffer>[] | undefined {
	try {
		return readdirSync(absolutePath(root, folder), { withFileTypes: true, encoding: "buffer" });
	} catch (error) {
		if (errorCode(error) === "EACCES") return undefined;
		throw error;
	}
}

/** Whether a folder - a real one, not a link to one - is another repository's working tree. */
export function holdsRepository(root: string, folder: BytePath): boolean {
	if (folder === "") return false;
	try {
		if (lstatAt(root, folder)?.isDirectory() !== true) return false;
		return lstatAt(root, bytePathOf(`${folder}/.git`)) !== undefined;
	} catch (error) {
		// Where we may not look, nothing is going to be touched either.
		if (errorCode(error) === "EACCES") return false;
		throw error;
	}
}

/** The folder nearest to the root, of a path's parents or the path itself, that is another repository. */
export const repositoryAround = (root: string, path: BytePath): BytePath | undefined =>
	[...parentPaths(path).toReversed(), path].find((folder) => holdsRepository(root, folder));

const chunkBytes = 1 << 20;

/** The blob id of a file's or link's content as it is on the disk; absent when it is neither, or gone. */
export function blobIdAt(root: string, path: BytePath, format: ObjectFormat): string | undefined {
	const stats = lstatAt(root, path);
	if (stats === undefined) return undefined;
	const file = absolutePath(root, path);
	if (stats.isSymbolicLink()) {
		const target = readlinkSync(file, { encoding: "buffer" });
		return createHash(format).update(`blob ${target.length}\0`).update(target).digest("hex");
	}
	if (!stats.isFile()) return undefined;
	// O_NOFOLLOW and O_NONBLOCK: neither a link nor a FIFO that came in between is opened or waited for.
	const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const hash = createHash(format).update(`blob ${stats.size}\0`);
		const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Number(stats.size) + 1));
		for (let n = readSync(fd, chunk); n > 0; n = readSync(fd, chunk))
			hash.update(chunk.subarray(0, n));
		return hash.digest("hex");
	} finally {
		closeSync(fd);
	}
}

/**
 * The content of a plain file or a link of up to `bytesMax`, and the state that it had before and after it was read;
 * absent when it is neither, is larger, cannot be read, or changed meanwhile.
 */
export function readSettled(
	root: string,
	path: BytePath,
	bytesMax: number,
): { readonly content: Buffer; readonly stats: BigIntStats } | undefined {
	try {
		const before = lstatAt(root, path);
		if (before === undefined || before.size > BigInt(bytesMax)) return undefined;
		const file = absolutePath(root, path);
		const content = before.isSymbolicLink()
			? readlinkSync(file, { encoding: "buffer" })
			: readPlain(file, before);
		const after = lstatAt(root, path);
		const isSettled =
			content !== undefined &&
			after?.ino === before.ino &&
			after.ctimeNs === before.ctimeNs &&
			after.mtimeNs === before.mtimeNs &&
			before.size === BigInt(content.length);
		return isSettled ? { content, stats: before } : undefined;
	} catch {
		// Whoever asks has another way, which says what is wrong.
		return undefined;
	}
}

/** Absent when it is not the file that `stats` are of. */
function readPlain(file: Buffer, stats: BigIntStats): Buffer | undefined {
	if (!stats.isFile()) return undefined;
	// As in `blobIdAt`.
	const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
	const fd = openSync(file, flags);
	try {
		const now = fstatSync(fd, { bigint: true });
		return now.ino === stats.ino && now.size === stats.size ? readFileSync(fd) : undefined;
	} finally {
		closeSync(fd);
	}
}

/** Whether the disk holds exactly this entry: type, content, executable bit. */
export function isEntryAt(
	root: string,
	path: BytePath,
	entry: TreeEntry,
	format: ObjectFormat,
	fileMode: boolean,
): boolean {
	const stats = lstatAt(root, path);
	if (stats === undefined) return false;
	if (stats.isSymbolicLink() !== (entry.mode === fileModes.link)) return false;
	if (!stats.isSymbolicLink()) {
		if (!stats.isFile()) return false;
		const executable = (Number(stats.mode) & 0o100) !== 0;
		if (fileMode && executable !== (entry.mode === fileModes.executable)) return false;
	}
	return blobIdAt(root, path, format) === entry.id;
}

/** Lets others run when enough time went by since they last could. */
export function createBreather(everyMs = 25): () => Promise<void> {
	let last = performance.now();
	return async () => {
		if (performance.now() - last < everyMs) return;
		await new Promise((resolve) => setImmediate(resolve));
		last = performance.now();
	};
}
