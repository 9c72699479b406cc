/**
 * How long the agent waits for us: the recorder, driven as Pi drives it, in a session that already is long.
 *
 * A prompt is five turns that edit a file and one that only answers. How long the model takes for each is given: a
 * usual one takes a second or more before its first tool call, and captures overlap with it. Before each prompt somebody
 * thinks and types.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SnapshotId } from "../../src/core/ids.ts";
import { foldLedger, type LedgerEntry } from "../../src/core/ledger.ts";
import { type Binding, customTypes, encodeTurn } from "../../src/core/records.ts";
import { createRecorder, type Recorder } from "../../src/pi/recorder.ts";
import type { Measured, Sample } from "./measure.ts";
import { measure } from "./measure.ts";
import { owner, type Subject } from "./subject.ts";

export interface TurnsResult {
	/** What the model takes for a turn. */
	readonly modelMs: number;
	/** What the handlers of each turn that is followed by another took together. */
	readonly turn: Measured;
	/** What a turn's start costs at the prompt: `before_agent_start`. */
	readonly prompt: Measured;
	/** The wait after the run, when nobody waits for a next turn. */
	readonly settle: Measured;
	/** A capture at such a boundary; this is what an awaiting recorder would make the agent wait. */
	readonly capture: Measured;
}

const turnsPerPrompt = 6;
const personMs = 2_000;
/** Entries that the session has before; records of ours among them. */
const entriesBefore = 2_000;

export async function benchTurns(
	subject: Subject,
	edit: (count: number) => void,
	prompts: number,
	modelMs: number,
): Promise<TurnsResult> {
	const captures: Sample[] = [];
	const { session, append } = createSession((await subject.rewind.capture({ owner })).snapshot.id);
	const recorder = createRecorder({
		session,
		async capture(request) {
			const start = performance.now();
			const captured = await subject.rewind.capture(request);
			captures.push({ ms: performance.now() - start, processes: 0 });
			return captured;
		},
		onFailure(error) {
			throw error;
		},
		// What the chip does.
		onPoint: () => void session.ledger().bindings.size,
	});
	const turns: Sample[] = [];
	const starts: Sample[] = [];
	const settles: Sample[] = [];
	for (let prompt = 0; prompt < prompts; prompt++) {
		await sleep(personMs);
		const run = await runPrompt(recorder, append, edit, modelMs);
		turns.push(...run.turns);
		starts.push(run.start);
		settles.push(run.settle);
	}
	return {
		modelMs,
		turn: { name: "turn", samples: turns },
		prompt: { name: "prompt", samples: starts },
		settle: { name: "settle", samples: settles },
		capture: { name: "capture", samples: captures },
	};
}

/** Appends an entry for a message, as Pi does after its handlers ran, and gives its id. */
type Append = (message: object) => string;

async function runPrompt(
	recorder: Recorder,
	append: Append,
	edit: (count: number) => void,
	modelMs: number,
): Promise<{ turns: Sample[]; start: Sample; settle: Sample }> {
	const blocked = createStopwatch();
	const turns: Sample[] = [];
	const message = {};
	await blocked.during(() => recorder.promptBegins());
	await blocked.during(() => recorder.userMessageStarts(message));
	append(message);
	const start = blocked.take();
	for (let turn = 1; turn <= turnsPerPrompt; turn++) {
		await blocked.during(() => recorder.bindWaiting()); // context
		await sleep(modelMs);
		const answer = {};
		const id = append(answer);
		if (turn < turnsPerPrompt) {
			await blocked.during(async () => {
				recorder.bindWaiting();
				await recorder.beforeChange(); // tool_call
			});
			edit(1);
		}
		await blocked.during(() => recorder.turnEnds(answer, id));
		turns.push(blocked.take());
	}
	await blocked.during(() => recorder.runEnds());
	blocked.take();
	return { turns, start, settle: await measure(() => recorder.settled()) };
}

/** Adds up what handlers take; Pi awaits each. */
function createStopwatch(): { during(task: () => unknown): Promise<void>; take(): Sample } {
	let ms = 0;
	return {
		async during(task) {
			const start = performance.now();
			await task();
			ms += performance.now() - start;
		},
		take() {
			const sample = { ms, processes: 0 };
			ms = 0;
			return sample;
		},
	};
}

type RecorderSession = Parameters<typeof createRecorder>[0]["session"];
type Entry = LedgerEntry & { readonly message?: object };

/** A session in memory. */
function createSession(snapshot: SnapshotId): { session: RecorderSession; append: Append } {
	const entries: Entry[] = [];
	const add = (more: Omit<Entry, "id">): string => {
		const id = entries.length.toString(16).padStart(8, "0");
		entries.push({ id, ...more });
		return id;
	};
	const append: Append = (message) => add({ type: "message", message });
	const appendTurn = (bindings: readonly Binding[]): void =>
		void add({ type: "custom", customType: customTypes.turn, data: encodeTurn(bindings) });
	for (let i = 0; i < entriesBefore; i += 4) {
		const id = append({});
		append({});
		append({});
		appendTurn([[id, snapshot]]);
	}
	return {
		append,
		session: {
			owner,
			ledger: () => foldLedger(entries),
			entries: () => entries,
			appendTurn,
			appendOp: () => undefined,
		},
	};
}
