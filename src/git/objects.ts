/**
 * Reads objects by one long-lived `git cat-file --batch`, and makes ids in-process.
 *
 * Invariant: [R13] only full object ids are ever written to the co-process. Content is checked against its id before
 * anyone uses it, so a damaged object is found before it can reach the disk.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { RewindError } from "../core/errors.ts";
import {
	decodeObjectId,
	type ObjectFormat,
	type ObjectId,
	shortId,
	trustedObjectId,
} from "../core/ids.ts";
import type { TreeEntry } from "../core/plan.ts";
import { killGroup } from "./run.ts";

export type ObjectType = "blob" | "tree" | "commit" | "tag";

export interface GitObject {
	readonly type: ObjectType;
	readonly content: Buffer;
}

/** One that is to be written. */
export interface NewObject extends GitObject {
	readonly type: "blob" | "tree" | "commit";
	readonly id: ObjectId;
}

export interface ObjectReader {
	/**
	 * Absent when the repository has no such object. Throws `object-missing` when it is there but damaged, `git-timeout`
	 * when git does not answer, `git-failed` when it ends before it does.
	 */
	read(id: ObjectId): Promise<GitObject | undefined>;
	close(): void;
}

/** The id that git gives to this content. */
export const hashObject = (format: ObjectFormat, type: ObjectType, content: Buffer): ObjectId =>
	trustedObjectId(
		createHash(format).update(`${type} ${content.length}\0`).update(content).digest("hex"),
	);

export const newObject = (
	format: ObjectFormat,
	type: NewObject["type"],
	content: Buffer,
): NewObject => ({ type, content, id: hashObject(format, type, content) });

/** The empty tree of a format: SHA-1 and SHA-256 have different ones. */
export const emptyTree = (format: ObjectFormat): ObjectId => emptyTrees[format];
const emptyTrees: Record<ObjectFormat, ObjectId> = {
	sha1: hashObject("sha1", "tree", Buffer.alloc(0)),
	sha256: hashObject("sha256", "tree", Buffer.alloc(0)),
};

export const zeroId = (format: ObjectFormat): string => "0".repeat(format === "sha1" ? 40 : 64);

/** A disk that does not answer for this long does not answer. */
const readMsDefault = 120_000;

interface Waiting {
	readonly id: ObjectId;
	resolve(object: GitObject | undefined): void;
	reject(error: unknown): void;
}

/** The process starts at the first read and does not keep this one alive. It has `readMs` for each answer. */
export function createObjectReader(
	format: ObjectFormat,
	cwd: string,
	env: NodeJS.ProcessEnv,
	readMs = readMsDefault,
): ObjectReader {
	let child: ChildProcess | undefined;
	const queue: Waiting[] = [];
	let chunks: Buffer[] = [];
	let held = 0;
	/** Bytes that the answer being read needs in all; 0 while its header is not complete. */
	let wanted = 0;

	function start(): ChildProcess {
		const started = spawn("git", ["cat-file", "--batch"], {
			cwd,
			env,
			detached: true,
			stdio: ["pipe", "pipe", "ignore"],
		});
		started.stdin?.on("error", () => undefined); // "close" tells everyone who waits
		started.stdout?.on("data", (chunk: Buffer) => {
			if (child === started) receive(chunk);
		});
		const gone = (): void => {
			if (child !== started) return;
			child = undefined;
			giveUp(new RewindError("git-failed", "git cat-file ended before it answered"));
		};
		started.once("error", gone);
		started.once("close", gone);
		return started;
	}

	/** Ends the process, and with `error` every read that waits; the next one starts a new process. */
	function giveUp(error: RewindError): void {
		const running = child;
		child = undefined;
		chunks = [];
		held = wanted = 0;
		if (running !== undefined) killGroup(running);
		for (const waiting of queue.splice(0)) waiting.reject(error);
	}

	/** Only while somebody waits for an answer does the process keep this one alive. */
	function hold(on: boolean): void {
		for (const handle of [child, child?.stdin, child?.stdout]) {
			if (handle === null || handle === undefined) continue;
			const verb = on ? "ref" : "unref";
			// Pipes of a child process are sockets, which the stream types do not say.
			const act: unknown = Reflect.get(handle, verb);
			if (typeof act === "function") Reflect.apply(act, handle, []);
		}
	}

	function receive(chunk: Buffer): void {
		chunks.push(chunk);
		held += chunk.length;
		while (queue.length > 0 && held >= wanted && answerNext());
		if (queue.length === 0) hold(false);
	}

	/** Takes one whole answer off the front; false when more bytes are needed. */
	function answerNext(): boolean {
		const all = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
		chunks = [all];
		const newline = all.indexOf(10);
		if (newline < 0) return false;
		const header = all.toString("latin1", 0, newline);
		const [, type, sizeText] = header.split(" ");
		const size = Number(sizeText);
		const isObject = sizeText !== undefined && Number.isInteger(size);
		const end = newline + 1 + (isObject ? size + 1 : 0);
		if (held < end) {
			wanted = end;
			return false;
		}
		wanted = 0;
		chunks = [all.subarray(end)];
		held = all.length - end;
		const waiting = queue.shift();
		if (waiting === undefined) return false;
		settle(waiting, isObject, type, all.subarray(newline + 1, end - 1));
		return held > 0;
	}

	function settle(
		waiting: Waiting,
		isObject: boolean,
		type: string | undefined,
		bytes: Buffer,
	): void {
		if (!isObject) return waiting.resolve(undefined);
		if (type !== "blob" && type !== "tree" && type !== "commit" && type !== "tag")
			return waiting.resolve(undefined);
		const content = Buffer.from(bytes); // its own memory: the chunk it came in is let go
		if (hashObject(format, type, content) === waiting.id) return waiting.resolve({ type, content });
		waiting.reject(
			new RewindError("object-missing", `Object ${shortId(waiting.id)} is damaged`, {
				hint: "git fsck tells more",
			}),
		);
	}

	return {
		read(id) {
			return new Promise((resolve, reject) => {
				const timer = setTimeout(() => giveUp(notInTime()), readMs).unref();
				queue.push({
					id,
					resolve(object) {
						clearTimeout(timer);
						resolve(object);
					},
					reject(error) {
						clearTimeout(timer);
						reject(error);
					},
				});
				child ??= start();
				hold(true);
				child.stdin?.write(`${id}\n`);
			});
		},
		close() {
			giveUp(new RewindError("aborted", "Reading objects was cancelled"));
		},
	};
}

const notInTime = (): RewindError =>
	new RewindError("git-timeout", "git cat-file did not answer in time", {
		hint: "The file system may be slow or not answering",
	});

/** Who our commits say they are by: nobody's identity is needed. */
const identity = "pi-rewind <pi-rewind@localhost>";

/** The bytes of a commit object. `seconds` since the epoch, in UTC. */
export function commitBytes(commit: {
	readonly tree: ObjectId;
	readonly parents: readonly ObjectId[];
	readonly seconds: number;
	readonly message: string;
}): Buffer {
	const lines = [
		`tree ${commit.tree}`,
		...commit.parents.map((parent) => `parent ${parent}`),
		`author ${identity} ${commit.seconds} +0000`,
		`committer ${identity} ${commit.seconds} +0000`,
	];
	return Buffer.from(`${lines.join("\n")}\n\n${commit.message}`, "utf8");
}

export interface ParsedCommit {
	readonly tree: ObjectId;
	readonly parents: readonly ObjectId[];
	/** Of the committer, since the epoch. */
	readonly seconds: number;
	readonly message: string;
}

/** The parts of a commit object; absent when it is not one that git would read. */
export function parseCommit(content: Buffer): ParsedCommit | undefined {
	const text = content.toString("utf8");
	const cut = text.indexOf("\n\n");
	const header = (cut < 0 ? text : text.slice(0, cut)).split("\n");
	const idsOf = (key: string): ObjectId[] =>
		header
			.filter((line) => line.startsWith(`${key} `))
			.map((line) => trustedObjectId(line.slice(key.length + 1)));
	const [tree] = idsOf("tree");
	if (tree === undefined) return undefined;
	const committer = header.findLast((line) => line.startsWith("committer ")) ?? "";
	const seconds = Number(/ (\d+) [-+]\d+$/.exec(committer)?.[1] ?? 0);
	const message = cut < 0 ? "" : text.slice(cut + 2);
	return { tree, parents: idsOf("parent"), seconds, message };
}

/** One entry of a tree object; `name` is bytes (latin1). */
export interface TreeItem extends TreeEntry {
	readonly name: string;
}

/** The bytes of a tree object; `items` in git's order, as `scanTree` gives them. */
export function treeBytes(items: readonly TreeItem[]): Buffer {
	return Buffer.concat(
		items.flatMap(({ mode, name, id }) => [
			Buffer.from(`${mode.toString(8)} ${name}\0`, "latin1"),
			Buffer.from(id, "hex"),
		]),
	);
}

/** Where an entry stands in the bytes of a tree: `<mode> <name>\0<id>`. */
export interface TreeSpan {
	readonly mode: number;
	/** Bytes (latin1). */
	readonly name: string;
	readonly start: number;
	/** Where its id begins. */
	readonly idAt: number;
	readonly end: number;
}

/** What is directly in a tree. Throws `object-missing` when its bytes are no tree. */
export function scanTree(content: Buffer, format: ObjectFormat): TreeSpan[] {
	const idLength = format === "sha1" ? 20 : 32;
	const spans: TreeSpan[] = [];
	for (let start = 0; start < content.length;) {
		const space = content.indexOf(32, start);
		const nul = content.indexOf(0, space);
		const end = nul + 1 + idLength;
		if (space < 0 || nul < 0 || end > content.length)
			throw new RewindError("object-missing", "A tree of the snapshot is damaged", {
				hint: "git fsck tells more",
			});
		const mode = Number.parseInt(content.toString("latin1", start, space), 8);
		const name = content.toString("latin1", space + 1, nul);
		spans.push({ mode, name, start, idAt: nul + 1, end });
		start = end;
	}
	return spans;
}

export const idIn = (content: Buffer, { idAt, end }: TreeSpan): ObjectId =>
	trustedObjectId(content.toString("hex", idAt, end));

/** An id that git printed; throws `git-failed` for anything else. */
export function printedId(stdout: Buffer, format: ObjectFormat): ObjectId {
	const text = stdout.toString("latin1").trim();
	const id = decodeObjectId(text, format);
	if (id !== undefined) return id;
	throw new RewindError("git-failed", `git printed no ${format} object id`, { data: { text } });
}
