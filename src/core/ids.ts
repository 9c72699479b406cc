/**
 * Typed names for the things that are easy to confuse: object ids, entry ids, byte paths.
 *
 * The only file that uses `as`: text from outside becomes an id here or not at all. [R13]
 */

declare const brand: unique symbol;
type Branded<T, B extends string> = T & { readonly [brand]: B };

/** Full hexadecimal object id: 40 digits in a SHA-1 repository, 64 in a SHA-256 one. */
export type ObjectId = Branded<string, "ObjectId">;
/** Id of a commit that is, or claims to be, a snapshot. */
export type SnapshotId = ObjectId;
/** Id of a session entry: unique within one session file only. */
export type EntryId = string;
/**
 * A path relative to the root, `/`-separated, as a *byte string*: every char is one byte (latin1). [R14]
 * Names on disk need not be UTF-8, so paths are never decoded but for showing them.
 */
export type BytePath = Branded<string, "BytePath">;

/** The object format of a repository, as `git rev-parse --show-object-format` names it. */
export type ObjectFormat = "sha1" | "sha256";

const hexLength: Record<ObjectFormat, number> = { sha1: 40, sha256: 64 };

/** Decodes a full object id of `format`; absent for anything else: options, ref names, short ids. [R13] */
export function decodeObjectId(value: unknown, format: ObjectFormat): ObjectId | undefined {
	if (typeof value !== "string" || value.length !== hexLength[format]) return undefined;
	return /^[0-9a-f]+$/.test(value) ? (value as ObjectId) : undefined;
}

/** Decodes a full object id of either format, for records read before the repository is known. */
export function decodeAnyObjectId(value: unknown): ObjectId | undefined {
	return decodeObjectId(value, "sha1") ?? decodeObjectId(value, "sha256");
}

/** An id that git itself, or our own hashing, just produced. Throws on anything else: that is a bug. */
export function trustedObjectId(value: string): ObjectId {
	const id = decodeAnyObjectId(value);
	if (id === undefined) throw new Error(`BUG: not an object id: ${JSON.stringify(value)}`);
	return id;
}

/** Short form for people: 12 digits. */
export const shortId = (id: ObjectId): string => id.slice(0, 12);

/** Bytes of a relative path, as read from git or the disk. */
export const bytePath = (bytes: Uint8Array): BytePath =>
	Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1") as BytePath;

/** A path that is a byte string already (a slice or a join of one). */
export const bytePathOf = (text: string): BytePath => text as BytePath;

/** A path typed by a person or by Pi, as UTF-8 bytes. */
export const bytePathFromText = (text: string): BytePath =>
	Buffer.from(text, "utf8").toString("latin1") as BytePath;

/** The bytes of a byte path, for git and for the file system. */
export const pathBytes = (path: BytePath): Buffer => Buffer.from(path, "latin1");

/**
 * A path as people see it: UTF-8 where it is valid, else escaped; control characters always escaped, so a
 * file name can neither break a line nor drive the terminal.
 */
export function displayPath(path: BytePath): string {
	const bytes = pathBytes(path);
	const text = bytes.toString("utf8");
	const valid = Buffer.from(text, "utf8").equals(bytes);
	return (valid ? text : path).replace(
		valid ? /[\p{Cc}\p{Cf}\u2028\u2029\\]/gu : /[^\x20-\x7e]|\\/g,
		(char) => (char === "\\" ? "\\\\" : escapeChar(char)),
	);
}

function escapeChar(char: string): string {
	if (char === "\n") return "\\n";
	if (char === "\t") return "\\t";
	const code = char.codePointAt(0) ?? 0;
	return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** The folder of a path, or `""` at the root. */
export const parentPath = (path: BytePath): BytePath =>
	path.slice(0, Math.max(0, path.lastIndexOf("/"))) as BytePath;

/** All folders above a path, nearest first, without the root. */
export function parentPaths(path: BytePath): BytePath[] {
	const parents: BytePath[] = [];
	for (let parent = parentPath(path); parent !== ""; parent = parentPath(parent))
		parents.push(parent);
	return parents;
}

/** Whether `path` is `prefix` or lies below it. */
export const isWithin = (path: string, prefix: string): boolean =>
	prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
