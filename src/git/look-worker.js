/**
 * A thread that knows a private index, and looks which of its files are not as they were.
 *
 * Plain JavaScript, because a thread is started by Node itself: what translates TypeScript for the rest of us is not
 * there, and Node does not do it below `node_modules`.
 */
import { lstatSync, readFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { parseIndex, statFields } from "./index-file.js";

/**
 * Reads an index, of which this thread looks at one of so many shares. Answered by `Learned`, or by nothing where git has to
 * be asked.
 * @typedef {object} Learn
 * @property {string} indexFile
 * @property {"sha1" | "sha256"} format
 * @property {string} root
 * @property {number} share
 * @property {number} shares
 */

/**
 * @typedef {object} Learned
 * @property {string[]} untracked As in `Looked`.
 * @property {[folder: string, id: string][]} ignoreFiles Those that are not in the index: the others are files like any.
 * @property {string} infoExclude
 * @property {string} excludesFile
 */

/**
 * Asks first of the files, then, when every thread has looked at its files, of the folders: a file that is renamed in the
 * meantime is then in a folder that changed, and is not missed under both of its names. Answered by `Different`; by
 * nothing when git has to be asked: a folder may not be as it was, or more than `max` files may not. What changed at
 * `youngFrom` or later (milliseconds since the epoch) may not be what it was: then its times do not tell.
 * @typedef {{ at: "files" | "folders", youngFrom: number, max: number }} Look
 */

/**
 * The files that may not be as they were, and how many bytes they have in all.
 * @typedef {{ names: string[], bytes: number }} Different
 */

/**
 * Files are known to be otherwise now than in the index. Not answered.
 * @typedef {{ renewed: Known }} Renew
 */

/**
 * Names, and `statFields` numbers for each: no object for each path, which would take many times the memory.
 * @typedef {{ names: string[], stats: Float64Array }} Known
 */

/** @type {Known} */
const nothing = { names: [], stats: new Float64Array() };
let root = "";
let folders = nothing;
let files = nothing;

const ignoreFile = ".gitignore";

/**
 * @param {Learn} what
 * @returns {Learned | undefined}
 */
function learn({ indexFile, format, root: top, share, shares }) {
	root = top;
	folders = files = nothing;
	const bytes = readIfThere(indexFile);
	const index = bytes && parseIndex(bytes, format);
	// It has to be of this very place: elsewhere git does not keep what it knows of folders up to date.
	if (index === undefined || !index.looked.ident.startsWith(`Location ${root}, `)) return undefined;
	const { looked } = index;
	// Git has to have looked into every folder that has a covered file.
	const lookedInto = new Set(looked.folders);
	if (!index.files.every((name) => lookedInto.has(parentOf(name)))) return undefined;
	/**
	 * @param {string[]} names
	 * @param {Float64Array} stats
	 */
	const mine = (names, stats) => {
		const from = Math.floor((names.length * share) / shares);
		const to = Math.floor((names.length * (share + 1)) / shares);
		// Copies: the rest can go.
		return {
			names: names.slice(from, to),
			stats: stats.slice(from * statFields, to * statFields),
		};
	};
	folders = mine(looked.folders, looked.stats);
	files = mine(index.files, index.stats);
	const covered = new Set(index.files.filter(isIgnoreFile));
	return {
		untracked: looked.untracked,
		ignoreFiles: looked.ignoreFiles.filter(
			([folder]) => !covered.has(folder === "" ? ignoreFile : `${folder}/${ignoreFile}`),
		),
		infoExclude: looked.infoExclude,
		excludesFile: looked.excludesFile,
	};
}

/** @param {string} file */
function readIfThere(file) {
	try {
		return readFileSync(file);
	} catch {
		// Thrown away meanwhile, or not for us: git is asked, and the thread goes on with the next one.
		return undefined;
	}
}

/** @param {string} name */
const parentOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf("/")));

/** @param {string} name */
const isIgnoreFile = (name) => name === ignoreFile || name.endsWith(`/${ignoreFile}`);

const word = 2 ** 32;

/**
 * A name is bytes; only where all of them are ASCII is it the same as text.
 * @param {string} name
 */
const pathOf = (name) =>
	/^[\0-\x7f]*$/.test(name)
		? `${root}/${name}`
		: Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);

/**
 * What is there now; absent when nothing is.
 * @param {string} name
 */
function lstatNow(name) {
	try {
		return lstatSync(pathOf(name), { throwIfNoEntry: false });
	} catch {
		// A folder above it is none any more, or cannot be searched: it is not as it was.
		return undefined;
	}
}

/**
 * Whether all but the times are the same; git keeps 32 bits of each.
 * @param {import("node:fs").Stats} now
 * @param {Float64Array} stats
 * @param {number} at
 */
const isSameFile = (now, stats, at) =>
	now.ino % word === stats[at + 2] &&
	now.uid === stats[at + 3] &&
	now.gid === stats[at + 4] &&
	now.size % word === stats[at + 5];

/**
 * How coarse a file system's times may be: milliseconds, or, where this one has none, whole seconds (FAT: two).
 * @param {number} time
 */
const grainOf = (time) => (time % 1_000 === 0 ? 2_000 : 0);

/**
 * Whether what looks the same may have changed since, in the very tick of its times.
 * @param {import("node:fs").Stats} now
 * @param {number} youngFrom
 */
function isYoung({ ctimeMs, mtimeMs }, youngFrom) {
	if (ctimeMs >= youngFrom - grainOf(ctimeMs)) return true;
	// Where a file system has no time of change; a time that is yet to come was put there.
	return mtimeMs >= youngFrom - grainOf(mtimeMs) && mtimeMs <= Date.now();
}

/**
 * @param {Look} look
 * @returns {Different | undefined}
 */
function look({ at: what, youngFrom, max }) {
	/** @type {Different} */
	const different = { names: [], bytes: 0 };
	const { names, stats } = what === "files" ? files : folders;
	let at = 0;
	for (const name of names) {
		const now = lstatNow(name);
		const isSame =
			now !== undefined &&
			isSameFile(now, stats, at) &&
			now.ctimeMs === stats[at] &&
			now.mtimeMs === stats[at + 1];
		if (!isSame || isYoung(now, youngFrom)) {
			if (what === "folders" || different.names.length === max) return undefined;
			different.names.push(name);
			different.bytes += now?.size ?? 0;
		}
		at += statFields;
	}
	return different;
}

/** @param {Known} renewed */
function renew({ names, stats }) {
	for (const [n, name] of names.entries()) {
		const place = placeOf(name);
		if (files.names[place] !== name) continue;
		files.stats.set(stats.subarray(n * statFields, (n + 1) * statFields), place * statFields);
	}
}

/**
 * Where a file of this thread's is; an index is sorted by the bytes of the names.
 * @param {string} name
 */
function placeOf(name) {
	const { names } = files;
	let from = 0;
	let to = names.length;
	while (from < to) {
		const middle = (from + to) >> 1;
		if ((names[middle] ?? "") < name) from = middle + 1;
		else to = middle;
	}
	return from;
}

parentPort?.on(
	"message",
	(/** @type {{ id: number, question: Learn | Look | Renew }} */ message) => {
		const { id, question } = message;
		if ("renewed" in question) return renew(question.renewed);
		const answer = "youngFrom" in question ? look(question) : learn(question);
		parentPort?.postMessage({ id, answer });
	},
);
