/**
 * A Pi process in RPC mode as JSON lines in both directions, and waits that always end.
 *
 * Owns the process's streams; knows of the protocol only that a response carries the id of its command.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import type { PiLaunch } from "./pi.ts";

/** Anything that Pi writes to stdout. */
export interface PiRecord {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** How a process ended. */
export interface Exit {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

/** The type of a record, or a predicate. */
export type RecordFilter = string | ((record: PiRecord) => boolean);

export interface Watch {
	readonly seen: Promise<PiRecord>;
	/** Stops waiting, for who no longer cares. */
	readonly stop: () => void;
}

/** A running process, and its records as they come. */
export interface Wire {
	readonly child: ChildProcessWithoutNullStreams;
	readonly records: PiRecord[];
	readonly exited: Promise<Exit>;
	readonly timeoutMs: number;
	readonly stderr: () => string;
	/** What a failure message says of Pi. */
	readonly about: () => string;
	/** Writes a line; Pi may be gone already, which the waits tell. */
	readonly write: (message: object) => void;
	readonly send: (type: string, fields?: Readonly<Record<string, unknown>>) => Promise<unknown>;
	readonly watch: (fits: RecordFilter) => Watch;
	/** Calls for each record to come. */
	readonly each: (listener: (record: PiRecord) => void) => void;
	/** Makes every wait, now and later, fail: the test asked for something that cannot be. */
	readonly fail: (error: Error) => void;
}

/** Spawns Pi. Its end, by whatever cause, fails all waits. */
export function openWire(launch: PiLaunch, cwd: string, timeoutMs: number): Wire {
	const [command = "", ...args] = launch.argv;
	const child = spawn(command, args, { cwd, env: launch.env, stdio: "pipe" });
	const records: PiRecord[] = [];
	const listeners = new Set<(record: PiRecord) => void>();
	const lost = Promise.withResolvers<never>();
	// Nobody may be waiting when Pi ends, which is no failure then.
	lost.promise.catch(() => {});
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
	const about = (): string => `last records: ${tail(records)}\nstderr: ${stderr.slice(-2000)}`;
	const exited = new Promise<Exit>((resolve) => {
		child.on("error", (error) => lost.reject(error));
		child.on("close", (code, signal) => {
			lost.reject(new Error(`Pi ended (${code ?? signal}); ${about()}`));
			resolve({ code, signal });
		});
	});
	// EPIPE, when Pi ends while we write.
	child.stdin.on("error", () => {});
	const write = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
	readLines(child, (line) => {
		const record: PiRecord = JSON.parse(line);
		records.push(record);
		for (const listener of listeners) listener(record);
	});
	const watch = watchRecords(listeners, lost.promise, timeoutMs, about);
	let sent = 0;
	return {
		child,
		records,
		exited,
		timeoutMs,
		stderr: () => stderr,
		about,
		write,
		watch,
		each: (listener) => listeners.add(listener),
		fail: (error) => lost.reject(error),
		async send(type, fields = {}) {
			const id = `driver-${++sent}`;
			const response = watch((record) => record.type === "response" && record["id"] === id, type);
			write({ id, type, ...fields });
			const { success, error, data } = await response.seen;
			if (success !== true) throw new Error(`${type}: ${String(error)}`);
			return data;
		},
	};
}

/** Not node's readline: it also splits at U+2028, which JSON leaves unescaped. */
function readLines(child: ChildProcessWithoutNullStreams, receive: (line: string) => void): void {
	const decoder = new StringDecoder("utf8");
	let rest = "";
	child.stdout.on("data", (chunk: Buffer) => {
		const lines = (rest + decoder.write(chunk)).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) if (line.trim() !== "") receive(line);
	});
}

function watchRecords(
	listeners: Set<(record: PiRecord) => void>,
	lost: Promise<never>,
	timeoutMs: number,
	about: () => string,
) {
	return (filter: RecordFilter, what = typeof filter === "string" ? filter : "a record"): Watch => {
		const fits = typeof filter === "string" ? (record: PiRecord) => record.type === filter : filter;
		const { promise, resolve, reject } = Promise.withResolvers<PiRecord>();
		const listen = (record: PiRecord): void => {
			if (fits(record)) resolve(record);
		};
		const late = (): void => reject(new Error(`no ${what} in ${timeoutMs} ms; ${about()}`));
		const timer = setTimeout(late, timeoutMs);
		const stop = (): void => {
			listeners.delete(listen);
			clearTimeout(timer);
		};
		listeners.add(listen);
		const seen = Promise.race([promise, lost]).finally(stop);
		// It may fail before anybody waits for it: who awaits it later still learns.
		seen.catch(() => {});
		return { seen, stop };
	};
}

const tail = (records: readonly PiRecord[]): string =>
	records
		.slice(-8)
		.map(({ type, command, method }) => [type, command, method].filter(Boolean).join("/"))
		.join(" ");
