/**
 * Pi extension: an offline model, and commands for what a driver cannot ask of Pi over RPC.
 *
 * With REWIND_SCRIPT_DIR, a folder that belongs to one Pi process (see pi.ts), the model follows a script:
 *   script.jsonl     steps, one a line; a driver appends them before each prompt
 *   summary.json     a step: the next summary that Pi asks for is this, once; else summaries just succeed
 *   taken            one byte per step taken, so that `/reload` and session replacement do not start over
 *   settled          one byte per `agent_settled`, for drivers that see only a screen
 *   result.json      what the last `/drive-…` command came to
 *   events.jsonl, requests.jsonl    with REWIND_SCRIPT_LOG: each event of Pi, each transcript the model was sent
 * Without it, the model is the one of friendly-model.ts.
 *
 * Everything the model remembers is in that folder: Pi evaluates extensions anew on `/reload`.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AssistantMessage, FauxResponseFactory } from "@earendil-works/pi-ai";
import { fauxAssistantMessage, fauxProvider, fauxText, fauxToolCall } from "@earendil-works/pi-ai";
import type {
	ExtensionAPI,
	ExtensionCommandContext,
	ExtensionContext,
} from "@earendil-works/pi-coding-agent";
import { friendlyStep } from "./friendly-model.ts";

/** One assistant message: a text, or an object with at most one of `tools`, `hang` and `error`. */
export type Step = string | StepFields;

export interface StepFields {
	readonly text?: string;
	/** Tools that Pi runs after the message; several in one step run side by side. */
	readonly tools?: readonly ToolStep[];
	/** Answers only when the run is aborted. */
	readonly hang?: true;
	/** The provider fails with this message; "529 overloaded" makes Pi retry. */
	readonly error?: string;
	/** How long the model thinks before it answers; an abort ends it early. */
	readonly delayMs?: number;
	/** A file that the model waits for before it answers; an abort ends it early. */
	readonly awaits?: string;
}

export interface ToolStep {
	readonly name: string;
	readonly args: Parameters<typeof fauxToolCall>[1];
}

/** What a `/drive-…` command came to; `token` is the one that the driver sent. */
export interface DriveResult {
	readonly token: string;
	readonly value?: unknown;
	readonly error?: string;
}

type Transcript = Parameters<FauxResponseFactory>[0];

export default function scriptedModel(pi: ExtensionAPI): void {
	const dir = process.env["REWIND_SCRIPT_DIR"];
	registerModel(pi, dir);
	if (dir === undefined) return;
	registerCommands(pi, dir);
	pi.on("agent_settled", () => appendFileSync(join(dir, "settled"), "."));
	if (process.env["REWIND_SCRIPT_LOG"]) logEvents(pi, dir);
}

function registerModel(pi: ExtensionAPI, dir: string | undefined): void {
	const faux = fauxProvider({
		provider: "scripted",
		models: [{ id: "scripted", contextWindow: 1_000_000, maxTokens: 16_384 }],
	});
	// A queue of one, which refills itself: the provider fails when it has nothing queued.
	const serve: FauxResponseFactory = async (transcript, options) => {
		faux.appendResponses([serve]);
		if (isSummaryRequest(transcript)) return await summarize(dir, options?.signal);
		if (dir !== undefined && process.env["REWIND_SCRIPT_LOG"]) logRequest(dir, transcript);
		const step = dir === undefined ? friendlyStep(transcript.messages) : takeStep(dir);
		return await perform(step, options?.signal);
	};
	faux.setResponses([serve]);
	pi.registerProvider(faux.provider);
}

/** Compaction and branch summaries are asked of the same model, with a system prompt of their own. */
function isSummaryRequest(transcript: Transcript): boolean {
	// Before 0.86 the system prompt is a field of the transcript, since then a message in it.
	const old = "systemPrompt" in transcript ? transcript.systemPrompt : undefined;
	const system = transcript.messages.filter(({ role }) => role === "system");
	return JSON.stringify([old, system]).includes("context summarization assistant");
}

/** No two are equal: Pi finds the entry of a compaction by its text. */
const summary = (): AssistantMessage =>
	fauxAssistantMessage(`Scripted summary ${randomUUID().slice(0, 8)}.`);

async function summarize(
	dir: string | undefined,
	signal: AbortSignal | undefined,
): Promise<AssistantMessage> {
	const file = dir === undefined ? undefined : join(dir, "summary.json");
	if (file === undefined || !existsSync(file)) return summary();
	const step: Step = JSON.parse(readFileSync(file, "utf8"));
	rmSync(file);
	return await perform(step, signal);
}

function takeStep(dir: string): Step {
	const lines = readLines(join(dir, "script.jsonl"));
	const line = lines[sizeOf(join(dir, "taken"))];
	if (line === undefined) return "(the script has no further step)";
	appendFileSync(join(dir, "taken"), ".");
	const step: Step = JSON.parse(line);
	return step;
}

async function perform(step: Step, signal: AbortSignal | undefined): Promise<AssistantMessage> {
	if (typeof step === "string") return fauxAssistantMessage(step);
	const { text, tools = [], hang, error, delayMs, awaits } = step;
	if (hang || delayMs !== undefined) await pause(signal, hang ? undefined : delayMs);
	if (awaits !== undefined) await fileAt(awaits, signal);
	if (error !== undefined) {
		return fauxAssistantMessage([], { stopReason: "error", errorMessage: error });
	}
	const said = text === undefined ? [] : [fauxText(text)];
	const calls = tools.map(({ name, args }) =>
		fauxToolCall(name, args, { id: `call_${randomUUID()}` }),
	);
	const stopReason = calls.length > 0 ? "toolUse" : "stop";
	return fauxAssistantMessage([...said, ...calls], { stopReason });
}

/** Resolves when the run is aborted, or the file is there. */
async function fileAt(path: string, signal: AbortSignal | undefined): Promise<void> {
	while (!existsSync(path)) {
		if (signal?.aborted) return;
		await pause(signal, 20);
	}
}

/** Resolves when the run is aborted, or after `ms`. */
function pause(signal: AbortSignal | undefined, ms: number | undefined): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) return resolve();
		const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
		signal?.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		});
	});
}

/** Arguments of the `/drive-…` commands, as one JSON object; each command takes those it needs. */
export interface DriveArguments {
	readonly token?: string;
	readonly id?: string;
	readonly label?: string;
	readonly options?: Record<string, unknown>;
	readonly name?: string;
	readonly data?: unknown;
}

function registerCommands(pi: ExtensionAPI, dir: string): void {
	type Run = (args: DriveArguments, ctx: ExtensionCommandContext) => unknown;
	const drive = (name: string, run: Run): void =>
		pi.registerCommand(`drive-${name}`, {
			description: "for the test driver",
			handler: async (text, ctx) => {
				const args: DriveArguments = JSON.parse(text || "{}");
				const { token = "" } = args;
				try {
					report(dir, { token, value: await run(args, ctx) });
				} catch (error) {
					report(dir, { token, error: error instanceof Error ? error.message : String(error) });
				}
			},
		});
	drive("tree", ({ id = "", options }, ctx) => ctx.navigateTree(id, options));
	drive("fork", ({ id = "", options }, ctx) => ctx.fork(id, options));
	drive("label", ({ id = "", label }) => pi.setLabel(id, label));
	drive("reload", (_args, ctx) => ctx.reload());
	drive("emit", ({ name = "", data }) => pi.events.emit(name, data));
	drive("append", ({ name = "", data }, ctx) => {
		pi.appendEntry(name, data);
		return ctx.sessionManager.getLeafId();
	});
}

const report = (dir: string, result: DriveResult): void =>
	writeFileSync(join(dir, "result.json"), JSON.stringify(result));

const loggedEvents =
	`session_start session_before_switch session_before_fork session_before_tree session_tree
	session_before_compact session_compact session_compact_failed session_shutdown input before_agent_start
	agent_start turn_start context message_start message_end tool_execution_start tool_call tool_result
	tool_execution_end turn_end agent_end agent_before_settle agent_settled user_bash`.split(/\s+/);

/** Which fields of an event are small enough, and telling enough, to be logged. */
const loggedFields =
	`reason turnIndex toolName outcome position aborted newLeafId oldLeafId parentToolCallId`.split(
		" ",
	);

function logEvents(pi: ExtensionAPI, dir: string): void {
	const log = (type: string, event: object, ctx: ExtensionContext): void => {
		const fields = Object.entries(event).filter(([name]) => loggedFields.includes(name));
		const message = Object.entries(event).find(([name]) => name === "message")?.[1];
		const { sessionManager } = ctx;
		const file = sessionManager.getSessionFile();
		const line = {
			type,
			...Object.fromEntries(fields),
			...(message?.role === undefined ? {} : { role: message.role, stop: message.stopReason }),
			idle: ctx.isIdle(),
			leaf: sessionManager.getLeafId(),
			entries: sessionManager.getEntries().length,
			// Without the header; null while there is no file.
			onDisk: file !== undefined && existsSync(file) ? readLines(file).length - 1 : null,
		};
		appendFileSync(join(dir, "events.jsonl"), `${JSON.stringify(line)}\n`);
	};
	for (const type of loggedEvents) {
		const handler = (event: object, ctx: ExtensionContext): void => log(type, event, ctx);
		// Reflect, since `on` has one overload per event and none for a name from a list.
		Reflect.apply(pi.on, pi, [type, handler]);
	}
}

function logRequest(dir: string, transcript: Transcript): void {
	const messages = transcript.messages.filter(({ role }) => role !== "system");
	appendFileSync(join(dir, "requests.jsonl"), `${JSON.stringify(messages)}\n`);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const readLines = (path: string): string[] =>
	existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
