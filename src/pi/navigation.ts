/**
 * Lets files follow where the person goes: `/tree`, `/fork`, `/clone`.
 *
 *   session_before_tree ▸ ask, prepare ─▶ session_tree                    ▸ do, record
 *   session_before_fork ▸ ask, prepare ─▶ session_shutdown(reason fork)   ▸ do, record in the parent
 *                                         session_start(reason fork)      ▸ record in the child
 *
 * Asking and doing are two steps: after we are asked, a summary can fail, another extension can cancel, and Pi can
 * refuse the fork. Files move only when the conversation is sure to.
 *
 * Invariants: a handler that throws does not cancel in Pi, so every failure before the move becomes `cancel`. [R4] [R9]
 * hold in the engine. Every choice records `current`; every restore records `undo`.
 */
import type { ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import {
	type Choice,
	describeOutcome,
	forkQuestion,
	type Question,
	treeQuestion,
} from "../core/choices.ts";
import { describeError, isRewindError, RewindError } from "../core/errors.ts";
import type { SnapshotId } from "../core/ids.ts";
import { type Chain, resolveUndo } from "../core/lineage.ts";
import type { Restored as RestoredNote } from "../core/records.ts";
import type { Settings } from "../core/settings.ts";
import type { PointOfNoReturn, Rewind } from "../engine/rewind.ts";
import { afterRedraw, type NoticeType, type Notify } from "./notices.ts";
import { type Decision, type Deed, type Departure, isAt, landingOf, undoOf } from "./moves.ts";
import { type Offers, offersAt, offersWhileRunning } from "./offers.ts";
import type { Recorder } from "./recorder.ts";
import type { OpDraft, Session } from "./session.ts";

export interface NavigationDeps {
	readonly session: Session;
	readonly recorder: Recorder;
	readonly settings: Settings;
	engine(): Promise<Rewind | undefined>;
	isRunning(): boolean;
	/** Takes the one-shot wish of an integration for a fork that keeps files. */
	takeForkPreference(): boolean;
	readonly notify: Notify;
}

const cancel = { cancel: true } as const;

export interface Navigation {
	beforeTree(
		targetId: string,
		signal: AbortSignal,
		ctx: ExtensionContext,
	): Promise<typeof cancel | undefined>;
	afterTree(
		leafId: string | null,
		summaryId: string | undefined,
		ctx: ExtensionContext,
	): Promise<void>;
	beforeFork(
		entryId: string,
		position: "before" | "at",
		ctx: ExtensionContext,
	): Promise<typeof cancel | undefined>;
	/** Does what was chosen for the fork and records it in the parent. */
	leaveForFork(): Promise<Departure>;
	/**
	 * The next move to `targetId` was decided on elsewhere: it is not asked again. Gives back how to call that off.
	 * Whoever decided throws away what was prepared when the move does not come.
	 */
	expect(targetId: string, decided: Deed): () => void;
	/** Does it where the conversation stands, and says so; gives back what was said. Throws `aborted` and `root-vanished`. */
	doHere(
		decided: Deed & { kind: "restore" },
		ctx: ExtensionContext,
		until?: PointOfNoReturn,
	): Promise<string>;
	/** Throws away what was prepared for a move that did not come. */
	forget(): Promise<void>;
}

/** One per session. What is asked before a move is kept until the move comes, or the next question drops it. */
export function createNavigation(deps: NavigationDeps): Navigation {
	const { session, recorder, settings } = deps;
	let decision: Decision | undefined;
	/** What `/rewind` decided, for a move that it begins right after. */
	let expected: { readonly targetId: string; readonly decided: Deed } | undefined;
	/** A question stands, or is being prepared. Pi 0.84 lets a second navigation begin meanwhile. */
	let asking = false;
	/** The chain of an ephemeral session before its fork: 0.84 turns the session itself into the child early. */
	let chainBefore: Chain | undefined;

	async function forget(): Promise<void> {
		const dropped = decision?.deed;
		decision = undefined;
		if (dropped?.kind === "restore") await (await deps.engine())?.discard(dropped.prepared);
	}

	function offers(
		target: SessionEntry | undefined,
		engine: Rewind,
		signal?: AbortSignal,
	): Promise<Offers> {
		if (deps.isRunning()) return Promise.resolve(offersWhileRunning(target));
		return offersAt(target, engine, session, settings, signal);
	}

	async function prepare(choice: Choice, offered: Offers, engine: Rewind): Promise<Deed> {
		const preview = choice === "undo" ? offered.undo : offered.restore;
		// A restore that changes nothing would take the place of the last one that can be undone.
		if (choice === "keep" || preview === undefined || preview.plan.steps.length === 0)
			return { kind: "keep" };
		const what = choice === "undo" ? "undo" : "restore";
		const label = what === "undo" ? "before the last rewind" : offered.facts.target;
		return { kind: "restore", what, prepared: await engine.prepare(preview), label };
	}

	/** Restores, and appends the record before the journal goes. [R9] */
	async function restore(
		decided: Deed & { kind: "restore" },
		engine: Rewind,
		bindings: (id: SnapshotId) => OpDraft["bindings"],
		record: (draft: OpDraft) => void,
		until?: PointOfNoReturn,
	): Promise<{ draft: OpDraft; note: RestoredNote }> {
		const restored = await recorder.restoringFiles(() =>
			engine.perform(decided.prepared, session.owner, until),
		);
		const { counts, skips, undo, undoAfter, current } = restored;
		const note: RestoredNote = {
			what: decided.what,
			...counts,
			skipped: skips.length,
			label: decided.label,
		};
		const bound = current === undefined ? undefined : bindings(current);
		const draft: OpDraft = {
			undo,
			restored: note,
			...(undoAfter === undefined ? {} : { undoAfter }),
			...(current === undefined ? {} : { current }),
			...(bound === undefined ? {} : { bindings: bound }),
		};
		try {
			record(draft);
		} catch (cause) {
			// The journal stays: the way back is named at the next start. [R9]
			throw new RewindError(
				"io-failed",
				"Files were restored, but the session file could not be written",
				{
					hint: "Start Pi again to roll back or to finish",
					cause,
				},
			);
		}
		await restored.complete();
		return { draft, note };
	}

	async function keep(bindings: (id: SnapshotId) => OpDraft["bindings"]): Promise<OpDraft> {
		const captured = settings.autoSnapshots ? await recorder.capture() : undefined;
		if (captured === undefined) return {};
		const bound = bindings(captured.snapshot.id);
		return { current: captured.snapshot.id, ...(bound === undefined ? {} : { bindings: bound }) };
	}

	async function ask(
		ctx: ExtensionContext,
		question: Question,
		signal: AbortSignal | undefined,
	): Promise<Choice> {
		const labels = question.options.map(({ label }) => label);
		const picked = await ctx.ui.select(
			question.title,
			labels,
			signal === undefined ? {} : { signal },
		);
		// Escape, a client that went away, an abort: nothing is changed and nobody moves.
		if (signal?.aborted === true) return "cancel";
		return question.options.find(({ label }) => label === picked)?.choice ?? "cancel";
	}

	/** Every failure here cancels the move: files and conversation stay together. */
	async function orCancel(
		ctx: ExtensionContext,
		signal: AbortSignal | undefined,
		act: () => Promise<typeof cancel | undefined>,
	): Promise<typeof cancel | undefined> {
		if (asking) {
			deps.notify(ctx, "Not moved: another navigation waits for its answer", "warning");
			return cancel;
		}
		asking = true;
		try {
			await forget();
			await Promise.race([recorder.settled(), whenAborted(signal)]);
			return signal?.aborted === true ? cancel : await act();
		} catch (error) {
			deps.notify(ctx, `Not moved, no files were changed: ${describeError(error)}`, "error");
			return cancel;
		} finally {
			asking = false;
		}
	}

	/** Code only and undo in a fork: the files move here and now, the conversation does not. */
	async function restoreHere(
		choice: Choice,
		offered: Offers,
		engine: Rewind,
		ctx: ExtensionContext,
	): Promise<typeof cancel> {
		const decided = await prepare(choice, offered, engine);
		if (decided.kind === "restore") await doHere(decided, engine, ctx);
		else deps.notify(ctx, "Nothing to change: the files stay as they are", "info");
		return cancel;
	}

	async function doHere(
		decided: Deed & { kind: "restore" },
		engine: Rewind,
		ctx: ExtensionContext,
		until?: PointOfNoReturn,
	): Promise<string> {
		function say(message: string, type: NoticeType): string {
			deps.notify(ctx, message, type);
			return message;
		}
		// The question can have stood while a prompt came in.
		if (deps.isRunning() || !ctx.isIdle()) {
			await engine.discard(decided.prepared);
			const message = "An agent is running: finish or abort it first; no files were changed";
			return say(message, "warning");
		}
		try {
			const { note, draft } = await restore(
				decided,
				engine,
				() => undefined,
				session.appendOp,
				until,
			);
			return say(describeOutcome(note, draft.undoAfter !== undefined), "info");
		} catch (error) {
			if (isRewindError(error) && error.code === "aborted") throw error;
			// What is true of the files stands in the error itself.
			return say(describeError(error), "error");
		}
	}

	/** What was decided for this very move; once. */
	function takeExpected(targetId: string): Deed | undefined {
		if (expected?.targetId !== targetId) return undefined;
		const { decided } = expected;
		expected = undefined;
		return decided;
	}

	return {
		forget,
		expect(targetId, decided) {
			const mine = { targetId, decided };
			expected = mine;
			return () => {
				if (expected === mine) expected = undefined;
			};
		},
		doHere: async (decided, ctx, until) => doHere(decided, await engineOrThrow(), ctx, until),
		beforeTree: (targetId, signal, ctx) =>
			orCancel(ctx, signal, async () => {
				const target = session.entry(targetId);
				const landing = landingOf(target);
				const decided = takeExpected(targetId);
				decision = { deed: decided ?? { kind: "keep" }, landing };
				if (decided !== undefined) return undefined;
				const engine = await deps.engine();
				if (engine === undefined || !ctx.hasUI || settings.onTree === "keep") return undefined;
				const offered = await offers(target, engine, signal);
				const choice = await ask(ctx, treeQuestion(offered.facts), signal);
				if (choice === "cancel") return cancel;
				decision = { deed: await prepare(choice, offered, engine), landing };
				return undefined;
			}),
		async afterTree(leafId, summaryId, ctx) {
			// Pi 0.84 can have two moves under way: what was chosen for one is not done at the other.
			if (decision?.landing !== undefined && !isAt(leafId, decision.landing, session))
				await forget();
			const decided = decision?.deed ?? { kind: "keep" };
			decision = undefined;
			const bindings = (id: SnapshotId) =>
				summaryId === undefined ? undefined : ([[summaryId, id]] as const);
			if (decided.kind === "restore") {
				try {
					await restore(decided, await engineOrThrow(), bindings, session.appendOp);
					return;
				} catch (error) {
					// The move cannot be taken back; what is true is told, and recorded below.
					const message = `The conversation moved. ${describeError(error)}`;
					afterRedraw(deps.notify)(ctx, message, "error");
				}
			}
			session.appendArrival(await keep(bindings));
		},
		beforeFork: (entryId, position, ctx) =>
			orCancel(ctx, undefined, async () => {
				decision = { deed: { kind: "keep" }, landing: undefined };
				chainBefore = session.isEphemeral ? (await session.lineage()).chain : undefined;
				const engine = await deps.engine();
				const preferKeep = position === "before" && deps.takeForkPreference();
				if (
					engine === undefined ||
					position === "at" ||
					preferKeep ||
					!ctx.hasUI ||
					settings.onFork === "keep"
				)
					return undefined;
				const offered = await offers(session.entry(entryId), engine);
				const choice = await ask(ctx, forkQuestion(offered.facts), undefined);
				if (choice === "cancel") return cancel;
				if (choice === "code-only" || choice === "undo")
					return restoreHere(choice, offered, engine, ctx);
				decision = { deed: await prepare(choice, offered, engine), landing: undefined };
				return undefined;
			}),
		async leaveForFork() {
			const decided = decision?.deed ?? { kind: "keep" };
			decision = undefined;
			const chain = chainBefore ?? (await session.lineage()).chain;
			// An ephemeral parent is gone, or is the child already: only the child records.
			const record = session.isEphemeral ? () => undefined : session.appendOp;
			let trouble: string | undefined;
			if (decided.kind === "restore") {
				try {
					const { draft } = await restore(decided, await engineOrThrow(), () => undefined, record);
					handOver(draft);
					return { draft, chain };
				} catch (error) {
					trouble = `Forked. ${describeError(error)}`;
				}
			}
			const kept = await keep(() => undefined);
			record(kept);
			// The child may have copied an older undo than the parent's newest: it takes over the right one.
			const draft = { ...kept, ...undoOf(resolveUndo(chain)) };
			handOver(draft);
			return { draft, chain, ...(trouble === undefined ? {} : { trouble }) };
		},
	};

	/** For readers of the predecessors' kind; ours takes it over in memory. */
	function handOver({ current, undo, undoAfter }: OpDraft): void {
		if (session.isEphemeral || current === undefined) return;
		session.appendForkPending({
			current,
			...(undo === undefined ? {} : { undo }),
			...(undoAfter === undefined ? {} : { undoAfter }),
		});
	}

	/** What was prepared needs the engine that prepared it. */
	async function engineOrThrow(): Promise<Rewind> {
		const engine = await deps.engine();
		if (engine !== undefined) return engine;
		throw new RewindError("root-vanished", "The repository is not there any more", {
			hint: "No files were changed",
		});
	}
}

/** Never resolves without a signal. */
const whenAborted = (signal: AbortSignal | undefined): Promise<void> =>
	new Promise((resolve) => {
		if (signal?.aborted === true) resolve();
		signal?.addEventListener("abort", () => resolve(), { once: true });
	});
