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
 * nothing when git has to be asked: a folder is not as it was, more than `max` files are not, something that is as it was
 * changed at `youngFrom` or later (milliseconds since the epoch: then its times do not tell), or git would take a file
 * that differs for the same.
 * @typedef {{ at: "files" | "folders", youngFrom: number, max: number }} Look
 */

/**
 * The files whose stat data differ, and how many bytes they have in all.
 * @typedef {{ names: string[], bytes: number }} Different
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
	const index = parseIndex(readFileSync(indexFile), format);
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
 * What is there now, as numbers in the order of `statFields`; git keeps 32 bits of each.
 * @param {string} name
 */
function statsNow(name) {
	try {
		const now = lstatSync(pathOf(name), { throwIfNoEntry: false });
		if (now === undefined) return undefined;
		return [now.ctimeMs, now.mtimeMs, now.ino % word, now.uid, now.gid, now.size % word];
	} catch {
		// A folder above it is none any more, or cannot be searched: it is not as it was.
		return undefined;
	}
}

/**
 * How coarse a file system's times may be: milliseconds, or, where this one has none, whole seconds (FAT: two).
 * @param {number} time
 */
const grainOf = (time) => (time % 1_000 === 0 ? 2_000 : 0);

/**
 * Whether what looks the same may have changed since, in the very tick of its times.
 * @param {Float64Array} stats
 * @param {number} youngFrom
 */
function isYoung([ctime = 0, mtime = 0], youngFrom) {
	if (ctime >= youngFrom - grainOf(ctime)) return true;
	// Where a file system has no time of change; a time that is yet to come was put there.
	return mtime >= youngFrom - grainOf(mtime) && mtime <= Date.now();
}

/**
 * @param {Look} look
 * @returns {Different | undefined}
 */
function look({ at, youngFrom, max }) {
	/** @type {Different} */
	const different = { names: [], bytes: 0 };
	const { names, stats } = at === "files" ? files : folders;
	for (const [place, name] of names.entries()) {
		const then = stats.subarray(place * statFields, (place + 1) * statFields);
		const now = statsNow(name);
		if (now?.every((number, i) => number === then[i]) === true) {
			if (isYoung(then, youngFrom)) return undefined;
			continue;
		}
		if (at === "folders" || different.names.length === max) return undefined;
		if (now !== undefined && looksSameToGit(now, then)) return undefined;
		different.names.push(name);
		different.bytes += now?.[5] ?? 0;
	}
	return different;
}

/**
 * Git 2.39 compares whole seconds: told to stage such a file, it would not. Who captures knows it by other means.
 * @param {number[]} now
 * @param {Float64Array} then
 */
const looksSameToGit = (now, then) =>
	now.every((number, i) => {
		const before = then[i] ?? 0;
		return i < 2 ? Math.floor(number / 1_000) === Math.floor(before / 1_000) : number === before;
	});

parentPort?.on("message", (/** @type {{ id: number, question: Learn | Look }} */ message) => {
	const { id, question } = message;
	const answer = "youngFrom" in question ? look(question) : learn(question);
	parentPort?.postMessage({ id, answer });
});
