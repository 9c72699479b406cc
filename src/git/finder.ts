/**
 * Finds what changed since the last capture: in-process where what git last knew and the disk's own times are enough,
 * else by asking git.
 *
 *   after a capture   private index ▸ what git knew of files and folders, kept in threads
 *   at the next one   the very same index? ▸ same rules? ▸ every folder as it was? ▸ which files are not
 *
 * Anything unusual means git: an index that somebody else wrote, a folder that changed or may have, rules that changed.
 * git's answer is the reference; this is only ever a part of it.
 *
 * Invariant: [R1] what is remembered here is a shortcut, never the truth: it is forgotten with the process.
 */
import {
	type BigIntStats,
	closeSync,
	constants,
	fstatSync,
	openSync,
	readFileSync,
	statSync,
} from "node:fs";
import { join } from "node:path";
import { throwIfAborted } from "../core/errors.ts";
import { type BytePath, bytePathOf, type ObjectFormat } from "../core/ids.ts";
import { absolutePath } from "../disk/files.ts";
import { listChanges, type Listing, type RunHere } from "./listing.ts";
import { createLookThreads } from "./look-threads.ts";
import type { Learned } from "./look-worker.js";
import { hashObject, zeroId } from "./objects.ts";
import type { Scope } from "./private-dir.ts";
import type { RuleFiles } from "./rules.ts";

export interface FinderOptions {
	readonly root: string;
	readonly format: ObjectFormat;
	/** The private git dir. */
	readonly gitDir: string;
	readonly scope: Scope;
}

export interface Question {
	readonly git: RunHere;
	readonly rules: RuleFiles;
	/** Whether `git` works on the private index itself, of which nobody else changes anything now. */
	readonly ownsIndex: boolean;
	readonly signal: AbortSignal | undefined;
}

export interface Finder {
	/** Throws what `listChanges` throws. */
	changes(question: Question): Promise<Listing>;
	/**
	 * A capture that owned the index left it `behind` at these paths; of files that it read itself, `stats` is the state in
	 * which they were.
	 */
	left(behind: readonly BytePath[], stats: ReadonlyMap<BytePath, BigIntStats>): void;
	/**
	 * After a capture that owned the index: `startedAt` (ms) is when it began to look, `finish` is the last that it does to
	 * the index. Unless `isWhole`, what the index stands for is not known.
	 */
	settle(startedAt: number, isWhole: boolean, finish: () => void): void;
	close(): void;
}

/** What changed this shortly before a look may have the very time of a change after it: kernels stamp by their ticks. */
const youngMs = 100;
/** More than this, in files or bytes, is for git to compare: what was only touched has not changed to it. */
const changedMax = 500;
const changedBytesMax = 64 << 20;
/** A .gitignore that is larger is for git to read. */
const ignoreFileBytesMax = 1 << 20;

/** An index of more bytes (some 20,000 files) is read when it has been quiet for so long: that takes processor time. */
const largeIndexBytes = 2 << 20;
const quietMs = 1_000;

/** What tells whether somebody else captured. */
interface State {
	/** Which index it is. */
	readonly index: string;
	readonly bytes: number;
	/** The snapshot of the capture that was last, by whichever process. */
	readonly head: string;
}

/** The state at the end of a capture of this process. */
interface Known extends State {
	/** When the look at the files began that found it true of them; ms. */
	readonly lookedAt: number;
	/** Paths of which the index has something else than that snapshot. */
	readonly behind: readonly BytePath[];
	/** Absent until it is read. */
	learned?: Promise<Learned | undefined>;
}

export function createFinder({ root, format, gitDir, scope }: FinderOptions): Finder {
	const indexFile = join(gitDir, "index");
	const threads = createLookThreads(root, format);
	let known: Known | undefined;
	let timer: NodeJS.Timeout | undefined;
	/** Where the last capture left the index behind. */
	let behind: readonly BytePath[] = [];
	/** Something could not be looked at when git last listed: only git says so. */
	let isReadable = true;

	/** Absent when that cannot be looked at. */
	function stateNow(): State | undefined {
		try {
			const { ino, size, mtimeNs, ctimeNs } = statSync(indexFile, { bigint: true });
			const head = readFileSync(join(gitDir, "HEAD"), "utf8").trim();
			return { index: `${ino}:${size}:${mtimeNs}:${ctimeNs}`, bytes: Number(size), head };
		} catch {
			// Nothing to go by: git is asked, and says what is wrong.
			return undefined;
		}
	}

	/** Whether nobody else captured since: of what they did, memory knows nothing. */
	function isCurrent({ index, head }: State): boolean {
		const now = stateNow();
		return now?.index === index && now.head === head;
	}

	/** Has the index read while nothing waits for it. */
	function learnSoon(mine: Known): void {
		clearTimeout(timer);
		if (mine.learned !== undefined) return;
		if (mine.bytes <= largeIndexBytes) mine.learned = learn(mine);
		else
			timer = setTimeout(() => {
				mine.learned = learn(mine);
			}, quietMs).unref();
	}

	async function learn(mine: Known): Promise<Learned | undefined> {
		try {
			const learned = await threads.learn(indexFile, mine.bytes);
			return stateNow()?.index === mine.index ? learned : undefined;
		} catch {
			// It is a shortcut: git reads the index, and says what is wrong with it.
			return undefined;
		}
	}

	/** What git would list; absent when it has to be asked. */
	async function fromMemory(rules: RuleFiles): Promise<Listing | undefined> {
		clearTimeout(timer);
		if (known !== undefined && !isCurrent(known)) known = undefined;
		const learned = await known?.learned;
		if (known === undefined || learned === undefined) return undefined;
		const changed = await threads.look(known.lookedAt - youngMs, changedMax);
		if (changed === undefined || changed.bytes > changedBytesMax) return undefined;
		// Other rules: what was ignored may not be any more. Read after the look: every folder is as it was.
		if (changed.names.some((path) => path === ".gitignore" || path.endsWith("/.gitignore")))
			return undefined;
		if (!hasSameRules(learned, rules)) return undefined;
		const { untracked } = learned;
		return {
			changed: changed.names.map(bytePathOf),
			untracked: untracked.filter((path) => !path.endsWith("/")).map(bytePathOf),
			folders: untracked
				.filter((path) => path.endsWith("/"))
				.map((path) => bytePathOf(path.slice(0, -1))),
			unreadable: [],
			unequal: [],
			missing: known.behind,
			by: "memory",
		};
	}

	/** Of the rules outside the tree, and of .gitignore files that are in no index. */
	function hasSameRules(learned: Learned, rules: RuleFiles): boolean {
		if (!isRemembered(rules.infoExclude, learned.infoExclude)) return false;
		if (!isRemembered(rules.excludesFile, learned.excludesFile)) return false;
		for (const [folder, id] of learned.ignoreFiles) {
			const path = bytePathOf(folder === "" ? ".gitignore" : `${folder}/.gitignore`);
			const content = readPlainFile(absolutePath(root, path));
			if (content === undefined || !isRemembered(content, id)) return false;
		}
		return true;
	}

	/**
	 * Git remembers a file with rules that is in no index by the id of its content with one more newline, as it holds it in
	 * memory (dir.c, `add_patterns`), and one that is not there by zeros.
	 */
	function isRemembered(content: Buffer, id: string): boolean {
		const longer = Buffer.concat([content, Buffer.from("\n")]);
		if (id === hashObject(format, "blob", longer) || id === hashObject(format, "blob", content))
			return true;
		return content.length === 0 && id === zeroId(format);
	}

	return {
		async changes({ git, rules, ownsIndex, signal }) {
			const asked = ownsIndex && scope === "all" ? fromMemory(rules) : undefined;
			// It is a shortcut: where it fails git is asked all the same.
			const found = await untilAborted(
				asked?.catch(() => undefined),
				signal,
			);
			throwIfAborted(signal);
			if (found !== undefined) return found;
			const listing = await listChanges(git, scope === "all", signal);
			isReadable = listing.unreadable.length === 0;
			return listing;
		},
		left(paths, stats) {
			behind = paths;
			threads.renew(stats);
		},
		settle(startedAt, isWhole, finish) {
			const before = known?.index === stateNow()?.index ? known : undefined;
			finish();
			const now = stateNow();
			if (!isWhole || !isReadable || scope !== "all" || now === undefined) {
				known = undefined;
				return;
			}
			known = { ...before, ...now, behind, lookedAt: startedAt };
			learnSoon(known);
		},
		close() {
			clearTimeout(timer);
			threads.close();
		},
	};
}

/** Absent for anything else than a file of an ordinary size; a link is not followed, a pipe not waited for. */
function readPlainFile(path: Buffer): Buffer | undefined {
	let file: number | undefined;
	try {
		const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
		file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		const stats = fstatSync(file);
		return stats.isFile() && stats.size <= ignoreFileBytesMax ? readFileSync(file) : undefined;
	} catch {
		// Git says what is so.
		return undefined;
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

/** Absent when it was aborted before. */
function untilAborted<T>(
	work: Promise<T | undefined> | undefined,
	signal: AbortSignal | undefined,
): Promise<T | undefined> {
	if (work === undefined || signal === undefined) return work ?? Promise.resolve(undefined);
	return new Promise((resolve, reject) => {
		const aborted = (): void => resolve(undefined);
		if (signal.aborted) aborted();
		signal.addEventListener("abort", aborted, { once: true });
		work.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
	});
}
