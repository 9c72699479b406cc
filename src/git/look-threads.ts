/**
 * Threads that know a private index, and look which of its files are not as they were: the thread that draws the screen
 * waits for neither.
 *
 * Where threads cannot be had, nothing is known: who asks has git to ask.
 */
import type { BigIntStats } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { BytePath, ObjectFormat } from "../core/ids.ts";
import type { Different, Learn, Learned, Look } from "./look-worker.js";

export interface LookThreads {
	/** Reads an index of so many bytes. Absent where git has to be asked. */
	learn(indexFile: string, bytes: number): Promise<Learned | undefined>;
	/**
	 * The files of the index learned last that may not be as they were, at most `max`: their stat data differ, or they
	 * changed at `youngFrom` (milliseconds since the epoch) or later. Absent where git has to be asked: a folder may not be
	 * as it was.
	 */
	look(youngFrom: number, max: number): Promise<Different | undefined>;
	/** From now on, files of that index are known to be as these stat data say. */
	renew(files: ReadonlyMap<BytePath, BigIntStats>): void;
	/** Ends the threads; who waits gets nothing. */
	close(): void;
}

/** More threads than this wait for one another in the kernel. */
const threadsMax = 4;
/** An index needs about 100 bytes for a path; fewer than 500 paths are not worth another thread. */
const bytesEach = 50_000;
/** A disk that does not answer for this long does not answer. */
const answerMs = 60_000;

/** One thread, and who waits for it. */
interface Thread {
	readonly worker: Worker;
	readonly waiting: Map<number, (answer: unknown) => void>;
}

/** `root` is absolute. Threads start when they have something to learn, and do not keep the process alive. */
export function createLookThreads(root: string, format: ObjectFormat): LookThreads {
	const threads: Thread[] = [];
	/** Those that know a share of the index learned last. */
	let knowing: readonly Thread[] = [];
	/** One of them failed, or all were ended: from now on nothing is known. */
	let isBroken = false;
	let asked = 0;

	function broken(): void {
		isBroken = true;
		for (const { waiting } of threads) for (const answer of waiting.values()) answer(undefined);
	}

	function threadAt(n: number): Thread {
		const running = threads[n];
		if (running !== undefined) return running;
		const file = new URL("./look-worker.js", import.meta.url);
		const worker = new Worker(file, { execArgv: [], env: {} });
		const waiting: Thread["waiting"] = new Map();
		worker.unref();
		worker.on("error", broken).on("exit", broken);
		worker.on("message", ({ id, answer }: { id: number; answer: unknown }) =>
			waiting.get(id)?.(answer),
		);
		const thread = { worker, waiting };
		threads.push(thread);
		return thread;
	}

	function ask<Answer>(
		{ worker, waiting }: Thread,
		question: Learn | Look,
		isAnswer: (answer: unknown) => answer is Answer,
	): Promise<Answer | undefined> {
		return new Promise((resolve) => {
			const id = asked++;
			const timer = setTimeout(broken, answerMs);
			// Only while somebody waits for it does it keep the process alive.
			worker.ref();
			waiting.set(id, (answer) => {
				clearTimeout(timer);
				waiting.delete(id);
				if (waiting.size === 0) worker.unref();
				resolve(isAnswer(answer) ? answer : undefined);
			});
			worker.postMessage({ id, question });
		});
	}

	/** Of all that know; absent when one has no answer. */
	async function lookAt(question: Look): Promise<Different | undefined> {
		if (isBroken) return undefined;
		const answers = await Promise.all(knowing.map((thread) => ask(thread, question, isDifferent)));
		const all: { names: string[]; bytes: number } = { names: [], bytes: 0 };
		for (const answer of answers) {
			if (answer === undefined) return undefined;
			all.names = all.names.concat(answer.names);
			all.bytes += answer.bytes;
		}
		return all.names.length > question.max ? undefined : all;
	}

	return {
		async learn(indexFile, bytes) {
			if (isBroken) return undefined;
			const wanted = Math.max(1, Math.floor(bytes / bytesEach));
			const shares = Math.min(wanted, availableParallelism(), threadsMax);
			knowing = Array.from({ length: shares }, (_, n) => threadAt(n));
			const answers = await Promise.all(
				knowing.map((thread, share) =>
					ask(thread, { indexFile, format, root, share, shares }, isLearned),
				),
			);
			return answers.includes(undefined) ? undefined : answers[0];
		},
		async look(youngFrom, max) {
			// In this order, and each by all of them: see `Look`.
			const files = await lookAt({ at: "files", youngFrom, max });
			if (files === undefined) return undefined;
			return (await lookAt({ at: "folders", youngFrom, max })) === undefined ? undefined : files;
		},
		renew(files) {
			const names = [...files.keys()];
			const stats = Float64Array.from([...files.values()].flatMap(numbersOf));
			for (const { worker } of knowing)
				worker.postMessage({ question: { renewed: { names, stats } } });
		},
		close() {
			broken();
			// Not awaited: a thread that hangs on a dead disk does not end.
			for (const { worker } of threads) void worker.terminate();
		},
	};
}

/** As index-file.js has them: `statFields` numbers. */
const numbersOf = ({ ctimeNs, mtimeNs, ino, uid, gid, size }: BigIntStats): number[] => [
	msOf(ctimeNs),
	msOf(mtimeNs),
	...[ino, uid, gid, size].map((number) => Number(number % word)),
];

const word = 2n ** 32n;
const second = 1_000_000_000n;

/** As Node computes `mtimeMs`. */
const msOf = (ns: bigint): number => Number(ns / second) * 1_000 + Number(ns % second) / 1_000_000;

const isDifferent = (answer: unknown): answer is Different =>
	typeof answer === "object" && answer !== null && "names" in answer;
const isLearned = (answer: unknown): answer is Learned =>
	typeof answer === "object" && answer !== null && "untracked" in answer;
