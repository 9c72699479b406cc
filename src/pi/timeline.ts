/**
 * The prompts of the active branch and what is known of them, looked up while a person reads.
 *
 * Looks one at a time, in the background, at what is seen and not known yet. Nothing is changed; what cannot be looked
 * at says why.
 */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { pointKind, textOf } from "../core/entries.ts";
import { describeError } from "../core/errors.ts";
import { type Chain, resolvePoint, resolveUndo } from "../core/lineage.ts";
import type { Settings } from "../core/settings.ts";
import { oneLine } from "../core/spans.ts";
import {
	type NowFacts,
	type PointFacts,
	type Prompt,
	type RunFacts,
	sumLines,
	type UndoFacts,
} from "../core/timeline.ts";
import { lookNow, unavailableWords, weighUndo } from "../engine/offers.ts";
import type { Rewind } from "../engine/rewind.ts";
import { whyWithout } from "./offers.ts";
import type { Session } from "./session.ts";

export interface Timeline {
	/** Newest first. */
	readonly prompts: readonly Prompt[];
	readonly hasUndo: boolean;
	/** Absent until they are known. */
	facts(prompt: Prompt): PointFacts | undefined;
	now(): NowFacts;
	undo(): UndoFacts | undefined;
	/** Looks at these from now on, in this order, and no more at those asked for before. Resolves when all is known. */
	look(prompts: readonly Prompt[]): Promise<void>;
	/** Ends the looking. */
	close(): void;
}

export interface TimelineDeps {
	readonly session: Session;
	readonly settings: Pick<Settings, "safetySnapshot">;
	/** Absent where there are no points. */
	readonly engine: Rewind | undefined;
	/** Why there are none. */
	readonly whyNone: string;
	labelOf(entryId: string): string | undefined;
	/** Something became known. */
	onNews(): void;
}

/** The prompts of a branch, newest first, each with the points before and after its run. Pure. */
export function promptsOf(
	branch: readonly SessionEntry[],
	chain: Chain,
	labelOf: (entryId: string) => string | undefined,
): Prompt[] {
	const prompts: Prompt[] = [];
	let after: Prompt["after"];
	for (const entry of branch.toReversed()) {
		const kind = pointKind(entry);
		if (kind !== "user" && kind !== "assistant") continue;
		const point = resolvePoint(entry, chain)?.snapshot;
		if (kind === "assistant") {
			after ??= point;
			continue;
		}
		const label = labelOf(entry.id);
		prompts.push({
			id: entry.id,
			text: firstLine(entry),
			at: Date.parse(entry.timestamp),
			...(label === undefined ? {} : { label: oneLine(label) }),
			...(point === undefined ? {} : { point }),
			...(after === undefined ? {} : { after }),
		});
		after = undefined;
	}
	return prompts;
}

/** What a prompt said, as Pi would give it back to the editor. */
export function promptText(entry: SessionEntry | undefined): string {
	if (entry?.type !== "message" || entry.message.role !== "user") return "";
	return textOf(entry.message.content);
}

function firstLine(entry: SessionEntry): string {
	for (const line of promptText(entry).split("\n")) {
		const text = oneLine(line);
		if (text !== "") return text;
	}
	return "";
}

export async function createTimeline(deps: TimelineDeps): Promise<Timeline> {
	const { session, settings, engine } = deps;
	const { chain, problems } = await session.lineage();
	const prompts = promptsOf(session.branch(), chain, deps.labelOf);
	const lastUndo = settings.safetySnapshot ? resolveUndo(chain) : undefined;
	const known = new Map<Prompt, PointFacts>();
	const counted = new Set<Prompt>();
	const ending = new AbortController();
	const { signal } = ending;
	let now: NowFacts = {};
	let undo: UndoFacts | undefined;
	let hasLooked = false;
	let wanted: readonly Prompt[] = [];
	let working: Promise<void> | undefined;

	async function work(): Promise<void> {
		for (let job = nextJob(); job !== undefined && !signal.aborted; job = nextJob()) {
			await job();
			deps.onNews();
		}
	}

	/** The cheap things first: numbers of lines read all that changed. */
	function nextJob(): (() => Promise<void>) | undefined {
		const unknown = wanted.find((prompt) => !known.has(prompt));
		if (unknown !== undefined) return () => lookAt(unknown);
		if (!hasLooked) return lookAtNow;
		const uncounted = wanted.find((prompt) => !counted.has(prompt));
		return uncounted === undefined ? undefined : () => countLines(uncounted);
	}

	async function lookAt(prompt: Prompt): Promise<void> {
		known.set(prompt, await pointFacts(prompt).catch(unavailable));
	}

	async function pointFacts(prompt: Prompt): Promise<PointFacts> {
		if (engine === undefined) return { kind: "unavailable", reason: deps.whyNone };
		const entry = session.entry(prompt.id);
		if (prompt.point === undefined)
			return {
				kind: "unavailable",
				reason: entry === undefined ? "no such entry" : whyWithout(entry, problems[0]),
			};
		const snapshot = await engine.store.resolve(prompt.point);
		if (typeof snapshot === "string")
			return { kind: "unavailable", reason: unavailableWords[snapshot] };
		const branch = snapshot.head?.branch;
		const run = await runFacts(prompt, engine);
		return {
			kind: "available",
			...(branch === undefined ? {} : { branch }),
			...(run === undefined ? {} : { run }),
		};
	}

	async function runFacts(prompt: Prompt, open: Rewind): Promise<RunFacts | undefined> {
		const ends = await endsOf(prompt, open);
		return ends === undefined ? undefined : { changes: await open.store.compare(...ends, signal) };
	}

	async function countLines(prompt: Prompt): Promise<void> {
		counted.add(prompt);
		const facts = known.get(prompt);
		if (engine === undefined || facts?.kind !== "available" || facts.run === undefined) return;
		if (facts.run.changes.length === 0) return;
		try {
			const ends = await endsOf(prompt, engine);
			if (ends === undefined) return;
			const lines = sumLines(await engine.store.lineCounts(...ends, signal));
			known.set(prompt, { ...facts, run: { ...facts.run, lines } });
		} catch {
			// The row stays without numbers of lines; its point is as good as before.
		}
	}

	async function lookAtNow(): Promise<void> {
		hasLooked = true;
		if (engine === undefined) {
			now = { reason: deps.whyNone };
			undo = { kind: "unavailable", reason: deps.whyNone };
			return;
		}
		try {
			const moment = await lookNow(engine, session.owner, session.ledger().latest, signal);
			const { now: files, boundary } = moment;
			now =
				boundary === undefined
					? {}
					: { changed: await engine.store.compare(boundary, files, signal) };
			if (lastUndo !== undefined)
				undo = (await weighUndo(lastUndo, moment, engine, session.owner)).offer;
		} catch (error) {
			now = { reason: describeError(error) };
			undo = { kind: "unavailable", reason: describeError(error) };
		}
	}

	return {
		prompts,
		hasUndo: lastUndo !== undefined,
		facts: (prompt) => known.get(prompt),
		now: () => now,
		undo: () => undo,
		look(next) {
			wanted = next;
			working ??= work().finally(() => {
				working = undefined;
			});
			return working;
		},
		close: () => ending.abort(),
	};
}

const unavailable = (error: unknown): PointFacts => ({
	kind: "unavailable",
	reason: describeError(error),
});

/** The files before and after a run; absent when one of them has no point. */
async function endsOf({ point, after }: Prompt, { store }: Rewind) {
	if (point === undefined || after === undefined) return undefined;
	const [from, to] = [await store.resolve(point), await store.resolve(after)];
	return typeof from === "string" || typeof to === "string" ? undefined : ([from, to] as const);
}
