/**
 * Takes a snapshot at every boundary and records which entry it belongs to.
 *
 *   before_agent_start ─┐                         message_start(user) ▸ the message waits for its entry
 *                       ├▸ capture begins         context             ▸ the entry is there: bound by identity
 *   turn_end ───────────┘                         tool_call           ▸ waits for all of it
 *
 * A capture begins at its boundary and is not awaited there, so the agent does not wait for git; it is awaited
 * before anything of Pi's may change files, before a choice is offered, and at shutdown.
 *
 * Invariants: [R2] a record is appended only when its snapshot is kept. [R12] a failing capture stops nobody, is told
 * once per cause, and leaves its boundary without a point.
 */
import type { EntryId, SnapshotId } from "../core/ids.ts";
import type { Captured, CaptureRequest } from "../engine/ports.ts";
import type { Session } from "./session.ts";

export interface RecorderDeps {
	readonly session: Pick<Session, "owner" | "ledger" | "appendTurn" | "appendOp"> & {
		entries(): readonly {
			readonly type: string;
			readonly id: EntryId;
			readonly message?: unknown;
		}[];
	};
	/** Absent where no engine is to be had; the reason is told elsewhere. */
	capture(request: CaptureRequest): Promise<Captured | undefined>;
	/** Told of every capture that failed. */
	onFailure(error: unknown): void;
	/** Told of every capture that worked and of every record. */
	onPoint(captured: Captured): void;
}

/** The files at one moment; absent when they could not be captured. */
type Capturing = Promise<Captured | undefined>;

export interface Recorder {
	/** A prompt is about to run: its message will belong to the files as they are now. */
	promptBegins(): void;
	userMessageStarts(message: object): void;
	/** Binds waiting messages whose entry is there now. */
	bindWaiting(): void;
	/** Something of Pi's is about to change files: resolves when every boundary until now is recorded. */
	beforeChange(): Promise<void>;
	turnEnds(message: object, entryId: EntryId | undefined): void;
	runEnds(): void;
	/** Binds an entry to the files as they are now, in an op record. */
	bindNow(entryId: EntryId): void;
	/** Captures now, outside a boundary. */
	capture(): Capturing;
	/** Files are being restored: captures, and tools with them, wait until it is over. */
	restoringFiles<T>(act: () => Promise<T>): Promise<T>;
	/** Resolves when nothing is under way. */
	settled(): Promise<void>;
}

/** One per session. Only `beforeChange`, `restoringFiles` and `settled` wait for git; nothing of it throws. */
export function createRecorder(deps: RecorderDeps): Recorder {
	const { session } = deps;
	/** A capture that nothing could have changed the files since; a message that starts now may share it. */
	let fresh: Capturing | undefined;
	/** The capture of the boundary before, for an answer after a turn that ran no tool. */
	let previous: Capturing | undefined;
	let mayHaveChanged = true;
	let waiting: { message: object; capturing: Capturing }[] = [];
	/** The restore that captures wait for: a boundary in the middle of it would have half-restored files. */
	let restoring: Promise<unknown> = Promise.resolve();
	const underWay = new Set<Promise<unknown>>();

	function track<T>(task: Promise<T>): Promise<T> {
		underWay.add(task);
		const end = (): void => void underWay.delete(task);
		task.then(end, end);
		return task;
	}

	async function take(): Promise<Captured | undefined> {
		try {
			await restoring;
			const isClaimed = (id: SnapshotId): boolean => session.ledger().snapshots.has(id);
			const captured = await deps.capture({ owner: session.owner, isClaimed });
			if (captured === undefined) return undefined;
			deps.onPoint(captured);
			return captured;
		} catch (error) {
			// [R12] The boundary has no point; the person is told, the agent goes on.
			deps.onFailure(error);
			return undefined;
		}
	}

	function startCapture(): Capturing {
		mayHaveChanged = false;
		const capturing = track(take());
		previous = capturing;
		void capturing.then((captured) => {
			// A boundary without a point passes none on: the next one tries again.
			if (captured === undefined && previous === capturing) previous = undefined;
		});
		return capturing;
	}

	function bind(entryId: EntryId, capturing: Capturing, as: "turn" | "op"): void {
		const record = async (): Promise<void> => {
			const captured = await capturing;
			if (captured === undefined) return;
			const bindings = [[entryId, captured.snapshot.id]] as const;
			try {
				if (as === "turn") session.appendTurn(bindings);
				else session.appendOp({ bindings });
			} catch (error) {
				// Pi could not write the session file: the point is lost, which is told like a failed capture.
				deps.onFailure(error);
				return;
			}
			deps.onPoint(captured);
		};
		// Already caught above; nothing else in it throws.
		void track(record());
	}

	/** By identity, never by text or time; newest first, since the entries in question are near the end. */
	function findEntry(message: object): EntryId | undefined {
		return session.entries().findLast((entry) => entry.message === message)?.id;
	}

	function bindWaiting(): void {
		if (waiting.length === 0) return;
		waiting = waiting.filter(({ message, capturing }) => {
			const id = findEntry(message);
			if (id !== undefined) bind(id, capturing, "turn");
			return id === undefined;
		});
	}

	async function settled(): Promise<void> {
		bindWaiting();
		while (underWay.size > 0) await Promise.allSettled(underWay);
	}

	return {
		promptBegins() {
			fresh = startCapture();
		},
		userMessageStarts(message) {
			fresh ??= startCapture();
			waiting.push({ message, capturing: fresh });
		},
		bindWaiting,
		async beforeChange() {
			await settled();
			fresh = undefined;
			mayHaveChanged = true;
		},
		turnEnds(message, entryId) {
			bindWaiting();
			const id = entryId ?? findEntry(message);
			const before = mayHaveChanged ? undefined : previous;
			const capturing = before ?? startCapture();
			// After a turn without tools the files may still have been changed by hand: no message shares this one.
			fresh = before === undefined ? capturing : undefined;
			if (id !== undefined) bind(id, capturing, "turn");
		},
		runEnds() {
			bindWaiting();
			// A message whose entry never came (its run failed before) has no point.
			waiting = [];
			fresh = undefined;
			// Nobody watches the files until the next run begins.
			mayHaveChanged = true;
		},
		bindNow(entryId) {
			// No boundary of a run: a tool may be at work, so nothing later may share this one, nor one before it.
			fresh = undefined;
			mayHaveChanged = true;
			bind(entryId, track(take()), "op");
		},
		capture: () => track(take()),
		restoringFiles(act) {
			bindWaiting();
			// What began before is let end; what begins from now on waits for this.
			const task = Promise.allSettled(underWay).then(act);
			restoring = task.catch(() => undefined);
			fresh = previous = undefined;
			mayHaveChanged = true;
			return track(task);
		},
		settled,
	};
}
