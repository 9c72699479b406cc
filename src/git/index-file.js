/**
 * Reads the private index as git wrote it: what it knows of each covered file, and of each folder that it looked into
 * (the untracked cache).
 *
 * Formats: git's Documentation/gitformat-index.txt (version 2, the extension `UNTR`), EWAH bitmaps as in
 * gitformat-bitmap.txt. What is not exactly as expected gives nothing: then git itself is asked. Names are bytes, one
 * character each (latin1). Plain JavaScript for the reason in `look-worker.js`.
 */
import { createHash } from "node:crypto";

/**
 * What git found beside the covered files when it last looked.
 * @typedef {object} Looked
 * @property {string[]} folders that it looked into; `""` is the root. All in them is covered, untracked or ignored.
 * @property {Float64Array} stats `statFields` numbers for each folder.
 * @property {string[]} untracked Neither covered nor ignored; folders, which it did not look into, end in `/`.
 * @property {[folder: string, id: string][]} ignoreFiles What the .gitignore of a folder was then.
 * @property {string} infoExclude What it took for the rules outside the tree: ids, in hexadecimal.
 * @property {string} excludesFile
 * @property {string} ident The root that it was, and the system.
 */

/**
 * @typedef {object} IndexFile
 * @property {string[]} files
 * @property {Float64Array} stats `statFields` numbers for each file.
 * @property {Looked} looked
 */

/** Numbers that are kept of each path: ctime and mtime in milliseconds, inode, owner, group, size. */
export const statFields = 6;

const idLengths = { sha1: 20, sha256: 32 };
const statBytes = 36;
/** Stage, assume-valid and the extended flags: none of them is ever set by us. */
const oddFlags = 0xf000;
const nameLengthMask = 0x0fff;
const fileTypes = new Set([0o100644, 0o100755, 0o120000]);

/**
 * Absent when the file is not one that git would write here, or git did not look into every folder.
 * @param {Buffer} bytes
 * @param {"sha1" | "sha256"} format
 * @returns {IndexFile | undefined}
 */
export function parseIndex(bytes, format) {
	try {
		return readIndex(bytes, format);
	} catch (error) {
		// Cut off, or of another make. Who calls this asks git then, which says what is wrong with it.
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

/**
 * @param {Buffer} bytes
 * @param {"sha1" | "sha256"} format
 * @returns {IndexFile | undefined}
 */
function readIndex(bytes, format) {
	const idLength = idLengths[format];
	const end = bytes.length - idLength;
	if (bytes.toString("latin1", 0, 4) !== "DIRC" || bytes.readUInt32BE(4) !== 2) return undefined;
	const sum = createHash(format).update(bytes.subarray(0, end)).digest();
	if (!sum.equals(bytes.subarray(end))) return undefined;
	const count = bytes.readUInt32BE(8);
	/** @type {string[]} */
	const files = [];
	const stats = new Float64Array(count * statFields);
	let at = 12;
	for (let i = 0; i < count; i++) {
		const mode = bytes.readUInt32BE(at + 24);
		const flags = bytes.readUInt16BE(at + 40 + idLength);
		if ((flags & oddFlags) !== 0 || !fileTypes.has(mode)) return undefined;
		const start = at + 42 + idLength;
		const short = flags & nameLengthMask;
		const length = short < nameLengthMask ? short : bytes.indexOf(0, start) - start;
		files.push(bytes.toString("latin1", start, start + length));
		// The mode stands between the inode and the owner.
		putStats(stats, i, bytes, at, at + 28);
		// Padded with 1 to 8 zeros to a multiple of eight.
		at += (42 + idLength + length + 8) & ~7;
	}
	while (at < end) {
		const name = bytes.toString("latin1", at, at + 4);
		const size = bytes.readUInt32BE(at + 4);
		// Git itself stops at an extension that it does not know and whose name is not in capitals.
		if (!/^[A-Z]/.test(name) || at + 8 + size > end) return undefined;
		if (name === "UNTR") {
			const looked = readLooked(bytes.subarray(at + 8, at + 8 + size), idLength);
			return looked && { files, stats, looked };
		}
		at += 8 + size;
	}
	return undefined;
}

/**
 * From a stat record: ctime and mtime from `at`, and, after the device, the inode; owner, group, size from `rest`.
 * @param {Float64Array} into
 * @param {number} place
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} rest
 */
function putStats(into, place, bytes, at, rest) {
	const to = place * statFields;
	into[to] = msOf(bytes, at);
	into[to + 1] = msOf(bytes, at + 8);
	into[to + 2] = bytes.readUInt32BE(at + 20);
	into[to + 3] = bytes.readUInt32BE(rest);
	into[to + 4] = bytes.readUInt32BE(rest + 4);
	into[to + 5] = bytes.readUInt32BE(rest + 8);
}

/**
 * As Node computes `mtimeMs`, so that equal times are equal numbers (to a quarter of a microsecond).
 * @param {Buffer} bytes
 * @param {number} at
 */
const msOf = (bytes, at) => bytes.readUInt32BE(at) * 1_000 + bytes.readUInt32BE(at + 4) / 1_000_000;

/**
 * @param {Buffer} bytes
 * @param {number} idLength
 * @returns {Looked | undefined}
 */
function readLooked(bytes, idLength) {
	const reader = createReader(bytes);
	const [ident = ""] = reader.take(reader.varint()).toString("utf8").split("\0");
	reader.take(statBytes * 2 + 4);
	const id = () => reader.take(idLength).toString("hex");
	const infoExclude = id();
	const excludesFile = id();
	if (reader.text() !== ".gitignore") return undefined;
	const count = reader.varint();
	if (count === 0) return undefined;
	/** @type {Folder[]} */
	const all = [];
	readFolder(reader, "", all);
	if (all.length !== count) return undefined;
	const isValid = reader.bitmap();
	const isCheckOnly = reader.bitmap();
	const hasIgnoreFile = reader.bitmap();
	const stats = new Float64Array(count * statFields);
	for (const n of all.keys()) {
		// Not looked into to its end: what is in it is not known.
		if (!isValid.has(n)) return undefined;
		putStats(stats, n, reader.take(statBytes), 0, 24);
	}
	/** @type {[string, string][]} */
	const ignoreFiles = [];
	for (const [n, { path }] of all.entries())
		if (hasIgnoreFile.has(n)) ignoreFiles.push([path, id()]);
	return {
		folders: all.map(({ path }) => path),
		stats,
		// Of a folder that is only checked for being empty, the folder itself is named above.
		untracked: all.flatMap(({ path, untracked }, n) =>
			isCheckOnly.has(n) ? [] : untracked.map((name) => below(path, name)),
		),
		ignoreFiles,
		infoExclude,
		excludesFile,
		ident,
	};
}

/**
 * @param {string} folder
 * @param {string} name
 */
const below = (folder, name) => (folder === "" ? name : `${folder}/${name}`);

/** @typedef {{ path: string, untracked: string[] }} Folder */

/**
 * A folder, then the folders in it, depth first.
 * @param {Reader} reader
 * @param {string} parent
 * @param {Folder[]} into
 */
function readFolder(reader, parent, into) {
	const untrackedCount = reader.varint();
	const foldersCount = reader.varint();
	const path = below(parent, reader.text());
	const untracked = Array.from({ length: untrackedCount }, () => reader.text());
	into.push({ path, untracked });
	for (let i = 0; i < foldersCount; i++) readFolder(reader, path, into);
}

/** @typedef {ReturnType<typeof createReader>} Reader */

/** @param {Buffer} bytes */
function createReader(bytes) {
	let at = 0;
	/** @param {number} length */
	function take(length) {
		if (at + length > bytes.length) throw new RangeError("cut off");
		at += length;
		return bytes.subarray(at - length, at);
	}
	const byte = () => take(1).readUInt8(0);
	return {
		take,
		/** Up to a NUL. */
		text() {
			const nul = bytes.indexOf(0, at);
			if (nul < 0) throw new RangeError("cut off");
			const text = bytes.toString("latin1", at, nul);
			at = nul + 1;
			return text;
		},
		/** Git's offset encoding: each further byte adds one, so that there is one way to write a number. */
		varint() {
			let next = byte();
			let value = next & 127;
			while ((next & 128) !== 0) {
				next = byte();
				value = (value + 1) * 128 + (next & 127);
			}
			return value;
		},
		/** The numbers of the bits that are set. */
		bitmap() {
			take(4); // its size in bits
			const words = take(4).readUInt32BE(0);
			const bits = readEwah(take(words * 8));
			take(4); // where its last run stands
			return bits;
		},
	};
}

/**
 * Runs of equal words, each followed by words as they are.
 * @param {Buffer} words
 */
function readEwah(words) {
	/** @type {Set<number>} */
	const bits = new Set();
	let bit = 0;
	for (let at = 0; at < words.length;) {
		const run = words.readBigUInt64BE(at);
		at += 8;
		const equal = Number((run >> 1n) & 0xffff_ffffn) * 64;
		if ((run & 1n) === 1n) for (let i = 0; i < equal; i++) bits.add(bit + i);
		bit += equal;
		for (let literals = Number(run >> 33n); literals > 0; literals--) {
			const word = words.readBigUInt64BE(at);
			at += 8;
			for (let i = 0; i < 64; i++) if (((word >> BigInt(i)) & 1n) === 1n) bits.add(bit + i);
			bit += 64;
		}
	}
	return bits;
}
