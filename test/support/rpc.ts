/**
 * Drives the real Pi in RPC mode: prompts with scripted steps, dialogs, session commands, signals.
 *
 * Knows Pi's protocol and nothing of the extension. Every wait ends: with what was waited for, at a time limit, when Pi
 * is gone, or when the driver could not do what a test asked for (no such option in a dialog).
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import type { LoggedEvent, PiLaunch, PiOptions, Step } from "./pi.ts";
import { driveCommand, prepareLaunch } from "./pi.ts";
import type { DialogAnswer, Dialogs } from "./rpc-dialogs.ts";
import { answerDialogs } from "./rpc-dialogs.ts";
import type { Exit, PiRecord, RecordFilter, Wire } from "./rpc-wire.ts";
import { openWire } from "./rpc-wire.ts";
import type { DriveArguments } from "./scripted-model.ts";

export { escape, leaveOpen } from "./rpc-dialogs.ts";
export type { Dialog, DialogAnswer } from "./rpc-dialogs.ts";

const timeoutMsDefault = 60_000;
const exitMs = 20_000;

export interface Notification {
	readonly message: string;
	readonly type: string;
}

export interface RpcOptions extends PiOptions {
	/** Answers to dialogs that open while Pi starts. */
	readonly choose?: readonly DialogAnswer[];
}

const entrySchema = v.looseObject({
	type: v.string(),
	id: v.string(),
	parentId: v.nullable(v.string()),
	customType: v.optional(v.string()),
	data: v.optional(v.unknown()),
	message: v.optional(v.looseObject({ role: v.string(), content: v.optional(v.unknown()) })),
});
const entriesSchema = v.object({
	// A damaged session file can hold lines that are no entries; Pi passes some of them on.
	entries: v.pipe(
		v.array(v.unknown()),
		v.transform((list) => list.filter((each) => v.is(entrySchema, each))),
	),
	leafId: v.nullable(v.string()),
});
/** A session entry, as far as tests look at it. */
export type Entry = v.InferOutput<typeof entrySchema>;

const stateSchema = v.looseObject({
	sessionFile: v.optional(v.string()),
	sessionId: v.string(),
	isStreaming: v.boolean(),
});
/** What `get_state` says, as far as tests look at it. */
export type PiState = v.InferOutput<typeof stateSchema>;

export interface NavigateOptions {
	/** Answers to the dialogs that this opens; all must be asked for. Without, every dialog gets Escape. */
	readonly choose?: DialogAnswer | readonly DialogAnswer[];
	/** Options of Pi's own navigateTree(), e.g. `{ summarize: true }`. */
	readonly options?: Readonly<Record<string, unknown>>;
}

/** What fork, tree and their like say: whether an extension cancelled it. */
export interface Moved {
	readonly cancelled: boolean;
	readonly [field: string]: unknown;
}

/** A running Pi. `await using` or `kill()` ends it, whatever it is doing. */
export interface RpcPi extends AsyncDisposable, Omit<Dialogs, "unasked"> {
	readonly pid: number;
	readonly records: readonly PiRecord[];
	readonly notifications: readonly Notification[];
	/** Texts of the footer by key; a key that was cleared is absent. */
	readonly status: ReadonlyMap<string, string>;
	/** Exceptions that extensions let out. */
	readonly errors: readonly PiRecord[];
	readonly stderr: () => string;
	/** With the option `log`. */
	readonly events: () => LoggedEvent[];
	/** With the option `log`. */
	readonly requests: () => unknown[];
	readonly exited: Promise<Exit>;

	/** Sends a command of the protocol; resolves with the data of its response, throws when Pi refuses. */
	readonly send: (type: string, fields?: Readonly<Record<string, unknown>>) => Promise<unknown>;
	/** The first record after now that fits. */
	readonly next: (fits: RecordFilter) => Promise<PiRecord>;
	readonly addSteps: (...steps: readonly Step[]) => void;
	/** What the next summary of a branch or a compaction comes to; gives whether it was asked for. */
	readonly nextSummary: (step: Step) => () => boolean;
	/** How many steps the model has not taken; a test of many turns may want it to be 0. */
	readonly stepsLeft: () => number;
	/** Prompts, and waits until Pi is settled; a command is over when it was handled. */
	readonly prompt: (message: string, ...steps: readonly Step[]) => Promise<void>;
	/** Prompts, and returns with the first record that fits, while the run goes on. */
	readonly promptUntil: (
		message: string,
		steps: readonly Step[],
		fits: RecordFilter,
	) => Promise<PiRecord>;
	readonly settled: () => Promise<PiRecord>;

	readonly state: () => Promise<PiState>;
	readonly sessionFile: () => Promise<string>;
	readonly entries: () => Promise<Entry[]>;
	readonly leaf: () => Promise<string | null>;
	/** Entries of extensions; all, or those of one type. */
	readonly custom: (customType?: string) => Promise<Entry[]>;
	/** Id of the n-th user message in the order of the file; negative counts from the end. */
	readonly user: (n: number) => Promise<string>;
	/** Id of the last answer before the user message that follows the n-th, in the order of the file. */
	readonly answer: (n: number) => Promise<string>;
	/** `["user: …", "assistant: …"]` on the active branch, without answers that failed or were cut off empty. */
	readonly conversation: () => Promise<string[]>;

	readonly tree: (id: string, options?: NavigateOptions) => Promise<Moved>;
	readonly fork: (id: string, options?: NavigateOptions) => Promise<Moved>;
	readonly clone: () => Promise<Moved>;
	readonly compact: () => Promise<unknown>;
	readonly newSession: () => Promise<Moved>;
	readonly switchSession: (sessionPath: string) => Promise<Moved>;
	readonly abort: () => Promise<unknown>;
	readonly label: (id: string, label: string) => Promise<unknown>;
	readonly reload: () => Promise<unknown>;
	/** Emits on the event bus that extensions share. */
	readonly emit: (channel: string, data: unknown) => Promise<unknown>;
	/** Appends a custom entry at the leaf, as another extension would; resolves with its id. */
	readonly append: (customType: string, data: unknown) => Promise<unknown>;

	/** Ends Pi in order, by closing its stdin or with a signal; throws when it does not end. */
	readonly stop: (how?: "eof" | NodeJS.Signals) => Promise<Exit>;
	/** kill -9, and nothing else. */
	readonly kill: () => Promise<Exit>;
}

/** Starts Pi, and waits until its extensions are there. */
export async function startRpc(options: RpcOptions): Promise<RpcPi> {
	const launch = prepareLaunch(options, ["--mode", "rpc"]);
	const wire = openWire(launch, options.cwd, options.timeoutMs ?? timeoutMsDefault);
	const pi = compose(launch, wire);
	pi.choose(...(options.choose ?? []));
	try {
		await pi.state();
	} catch (error) {
		await pi.kill();
		throw error;
	}
	return pi;
}

/** The parts that follow, as one object. */
function compose(launch: PiLaunch, wire: Wire): RpcPi {
	const dialogs = answerDialogs(wire);
	const prompts = prompting(launch, wire);
	const { child } = wire;
	const kill = (): Promise<Exit> => {
		child.kill("SIGKILL");
		return wire.exited;
	};
	return {
		...dialogs,
		...recordUi(wire),
		...prompts,
		...readSession(wire),
		...moveAround(launch, wire, prompts.prompt, dialogs),
		pid: child.pid ?? -1,
		records: wire.records,
		stderr: wire.stderr,
		events: launch.events,
		requests: launch.requests,
		exited: wire.exited,
		send: wire.send,
		next: (fits) => wire.watch(fits).seen,
		async stop(how = "eof") {
			if (how === "eof") child.stdin.end();
			else child.kill(how);
			const end = await Promise.race([wire.exited, sleep(exitMs, undefined, { ref: false })]);
			if (end !== undefined) return end;
			await kill();
			throw new Error(`Pi did not end in ${exitMs} ms after ${how}; ${wire.about()}`);
		},
		kill,
		[Symbol.asyncDispose]: async () => {
			await kill();
		},
	};
}

// ---- What extensions show ----

function recordUi(wire: Wire): Pick<RpcPi, "notifications" | "status" | "errors"> {
	const notifications: Notification[] = [];
	const status = new Map<string, string>();
	const errors: PiRecord[] = [];
	wire.each((record) => {
		if (record.type === "extension_error") errors.push(record);
		if (record.type !== "extension_ui_request") return;
		const { method, message, notifyType, statusKey, statusText } = record;
		if (method === "notify") {
			notifications.push({
				message: String(message),
				type: typeof notifyType === "string" ? notifyType : "info",
			});
		}
		if (method === "setStatus" && typeof statusText === "string") {
			status.set(String(statusKey), statusText);
		} else if (method === "setStatus") {
			status.delete(String(statusKey));
		}
	});
	return { notifications, status, errors };
}

// ---- Prompts ----

type Prompting = Pick<
	RpcPi,
	"addSteps" | "nextSummary" | "stepsLeft" | "prompt" | "promptUntil" | "settled"
>;

function prompting(launch: PiLaunch, wire: Wire): Prompting {
	return {
		addSteps: (...steps) => launch.addSteps(steps),
		nextSummary: launch.nextSummary,
		stepsLeft: launch.stepsLeft,
		settled: () => wire.watch("agent_settled").seen,
		async prompt(message, ...steps) {
			launch.addSteps(steps);
			const settled = wire.watch("agent_settled");
			const data = await wire.send("prompt", { message });
			if (isStarted(data, message)) await settled.seen;
			else settled.stop();
		},
		async promptUntil(message, steps, fits) {
			launch.addSteps(steps);
			const { seen } = wire.watch(fits);
			await wire.send("prompt", { message });
			return await seen;
		},
	};
}

/** Whether a prompt started a run. Pi says so since 1.x; before, only commands do not. */
function isStarted(data: unknown, message: string): boolean {
	const told = v.safeParse(v.object({ disposition: v.string() }), data);
	return told.success ? told.output.disposition === "started" : !message.startsWith("/");
}

// ---- The session, read ----

type SessionReading = Pick<
	RpcPi,
	"state" | "sessionFile" | "entries" | "leaf" | "custom" | "user" | "answer" | "conversation"
>;

function readSession(wire: Wire): SessionReading {
	const read = async () => v.parse(entriesSchema, await wire.send("get_entries"));
	const entries = async (): Promise<Entry[]> => (await read()).entries;
	const state = async (): Promise<PiState> => v.parse(stateSchema, await wire.send("get_state"));
	return {
		state,
		entries,
		leaf: async () => (await read()).leafId,
		async sessionFile() {
			const { sessionFile } = await state();
			if (sessionFile === undefined) throw new Error("the session has no file");
			return sessionFile;
		},
		custom: async (customType) =>
			(await entries()).filter(
				(entry) => entry.type === "custom" && (customType ?? entry.customType) === entry.customType,
			),
		async user(n) {
			const found = (await entries()).filter(hasRole("user")).at(n);
			if (found === undefined) throw new Error(`the session has no user message ${n}`);
			return found.id;
		},
		async answer(n) {
			const all = await entries();
			const starts = all.flatMap((entry, index) => (hasRole("user")(entry) ? [index] : []));
			const start = starts.at(n) ?? all.length;
			const end = starts.find((index) => index > start);
			const found = all.slice(start, end).findLast(hasRole("assistant"));
			if (found === undefined) throw new Error(`user message ${n} has no answer`);
			return found.id;
		},
		async conversation() {
			const { messages } = v.parse(messagesSchema, await wire.send("get_messages"));
			return messages
				.filter(({ role }) => role !== "system" && role !== "toolResult")
				.filter(({ content, summary }) => (summary ?? textOf(content)) !== "")
				.map(({ role, content, summary }) => `${role}: ${summary ?? textOf(content)}`);
		},
	};
}

const hasRole =
	(role: string) =>
	({ type, message }: Entry): boolean =>
		type === "message" && message?.role === role;

const blockSchema = v.looseObject({ type: v.string(), text: v.optional(v.string()) });
const contentSchema = v.union([v.string(), v.array(blockSchema)]);
const messagesSchema = v.object({
	messages: v.array(
		v.looseObject({
			role: v.string(),
			content: v.optional(contentSchema),
			summary: v.optional(v.string()),
		}),
	),
});

function textOf(content: v.InferOutput<typeof contentSchema> | undefined): string {
	if (content === undefined || typeof content === "string") return content ?? "";
	const texts = content.map(({ type, text }) => text ?? `[${type}]`);
	return texts.join(" ");
}

// ---- The session, moved ----

type Moving = Pick<
	RpcPi,
	| "tree"
	| "fork"
	| "clone"
	| "compact"
	| "newSession"
	| "switchSession"
	| "abort"
	| "label"
	| "reload"
	| "emit"
	| "append"
>;

const movedSchema = v.looseObject({ cancelled: v.boolean() });

function moveAround(
	launch: PiLaunch,
	wire: Wire,
	prompt: RpcPi["prompt"],
	dialogs: Dialogs,
): Moving {
	async function drive(name: string, args: DriveArguments): Promise<unknown> {
		const { token, text } = driveCommand(name, args);
		await prompt(text);
		return await launch.driveResult(token, wire.timeoutMs);
	}
	async function answering(
		{ choose = [] }: NavigateOptions,
		move: () => Promise<unknown>,
	): Promise<Moved> {
		const answers: readonly DialogAnswer[] = isList(choose) ? choose : [choose];
		dialogs.choose(...answers);
		const moved = v.parse(movedSchema, await move());
		const unasked = dialogs.unasked();
		if (unasked > 0) throw new Error(`${unasked} of the answers were not asked for`);
		return moved;
	}
	const command = async (type: string, fields = {}): Promise<Moved> =>
		v.parse(movedSchema, await wire.send(type, fields));
	return {
		tree: (id, { options = {}, ...rest } = {}) =>
			answering(rest, () => drive("tree", { id, options })),
		fork: (id, options = {}) => answering(options, () => wire.send("fork", { entryId: id })),
		clone: () => command("clone"),
		newSession: () => command("new_session"),
		switchSession: (sessionPath) => command("switch_session", { sessionPath }),
		compact: () => wire.send("compact"),
		abort: () => wire.send("abort"),
		label: (id, label) => drive("label", { id, label }),
		reload: () => drive("reload", {}),
		emit: (name, data) => drive("emit", { name, data }),
		append: (name, data) => drive("append", { name, data }),
	};
}

/** Array.isArray() does not narrow a readonly list. */
const isList = (value: DialogAnswer | readonly DialogAnswer[]): value is readonly DialogAnswer[] =>
	Array.isArray(value);
