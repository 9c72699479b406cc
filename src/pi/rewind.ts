/**
 * `/rewind`: back to before a prompt, with the conversation, the files, both, or some of the files.
 *
 *   point ▸ what ▸ which paths ▸ a last look ▸ stage ▸ navigate, or restore where the conversation stands
 *
 * Every step before the last can be left, and then nothing changed. Facts and words are those of `/tree`; the files move
 * by the same handover, when and only when the conversation does.
 */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { FileChange } from "../core/changes.ts";
import {
	type Choice,
	describeCounts,
	describeSkips,
	type RestoreOffer,
	rewindQuestion,
} from "../core/choices.ts";
import { describeEntry } from "../core/entries.ts";
import { describeError } from "../core/errors.ts";
import { partOfOffer, plannedChanges, proposalOf } from "../core/rewind.ts";
import type { BytePath } from "../core/ids.ts";
import { pathsOf } from "../core/selection.ts";
import type { Settings } from "../core/settings.ts";
import type { Preview, Rewind } from "../engine/rewind.ts";
import { cancelled, withProgress } from "../screens/screen.ts";
import type { Asking } from "./asking.ts";
import type { Deed } from "./moves.ts";
import type { Navigation } from "./navigation.ts";
import type { Notify } from "./notices.ts";
import { type Offers, offersAt } from "./offers.ts";
import type { Session } from "./session.ts";
import { printText } from "./print.ts";
import { promptText } from "./timeline.ts";

/** What goes back, of what. `changes` is all of the plan, until some were chosen. */
export interface Chosen {
	readonly offer: RestoreOffer;
	readonly preview: Preview;
	readonly changes: readonly FileChange[];
}

export interface RewindDeps {
	readonly session: Session;
	readonly settings: Settings;
	readonly navigation: Navigation;
	/** Absent where there are no points. */
	readonly engine: Rewind | undefined;
	readonly whyNone: string;
	/** Why files and conversation must not move now; absent when they may. */
	whyBusy(ctx: ExtensionCommandContext): string | undefined;
	readonly notify: Notify;
}

/** Whether it is over, or the person wants to choose again. */
export type Went = "done" | "back";

/** Weighs what can be done at an entry; absent when the person cancelled it. */
export async function weigh(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	entryId: string | undefined,
): Promise<Offers | undefined> {
	const { session, settings, engine } = deps;
	const target = entryId === undefined ? undefined : session.entry(entryId);
	if (engine === undefined) {
		const words = target === undefined ? "that entry" : describeEntry(target);
		return {
			facts: {
				target: words,
				restore: { kind: "unavailable", reason: deps.whyNone },
				running: false,
			},
			restore: undefined,
			undo: undefined,
		};
	}
	const offers = await withProgress(ctx, "Looking at the files…", (signal) =>
		offersAt(target, engine, session, settings, signal),
	);
	return offers === cancelled ? undefined : offers;
}

/** All that a preview would change, paired and named for people. */
export async function chosenOf(
	engine: Rewind,
	offer: RestoreOffer,
	preview: Preview,
): Promise<Chosen> {
	const compared = await engine.store.compare(preview.now, preview.target);
	return { offer, preview, changes: plannedChanges(compared, preview.plan) };
}

/** The same for some of its paths, though it be all: whoever chose paths has an undo of these alone. */
export async function partOf(
	{ engine, session }: RewindDeps & { readonly engine: Rewind },
	{ offer, preview, changes }: Chosen,
	only: ReadonlySet<BytePath>,
): Promise<Chosen> {
	const { target, now: from } = preview;
	const part = await engine.preview({ target, owner: session.owner, from, only });
	// What cannot go back without the rest is left alone, and said.
	return {
		offer: partOfOffer(offer, part.plan),
		preview: part,
		changes: plannedChanges(changes, part.plan),
	};
}

/** Asks what should go back to before a prompt, and does it. */
export async function rewindTo(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	asking: Asking,
	entryId: string,
): Promise<Went> {
	const offers = await weigh(deps, ctx, entryId);
	if (offers === undefined) return "back";
	const { title, options } = rewindQuestion(offers.facts);
	const answers = options.map(({ label, choice }) => ({ label, value: choice }));
	const choice = await asking.choose<Choice>(title, answers);
	if (choice === undefined) return "back";
	if (choice === "cancel" || choice === "undo") return "done";
	if (choice === "keep" || choice === "keep-summary") {
		await moveConversation(deps, ctx, entryId, { kind: "keep" }, choice === "keep-summary");
		return "done";
	}
	const { engine } = deps;
	const { restore: offer, target } = offers.facts;
	if (engine === undefined || offer.kind !== "available" || offers.restore === undefined)
		return "back";
	const movesConversation = choice === "restore";
	const whole = await chosenOf(engine, offer, offers.restore);
	const chosen = await choosePaths({ ...deps, engine }, asking, whole, target);
	if (chosen === undefined) return "back";
	if (chosen.preview.plan.steps.length === 0 && !movesConversation) {
		await printText(ctx, nothingToDo(chosen.offer));
		return "done";
	}
	if (chosen.changes.length + chosen.offer.skips.length > 0) {
		const proposal = proposalOf(chosen.offer, chosen.changes, { target, movesConversation });
		if (!(await asking.confirm(proposal, engine.store.patch))) return "back";
	}
	const decided = await stage(ctx, engine, chosen.preview, "restore", target);
	if (decided === undefined) return "back";
	if (movesConversation) await moveConversation(deps, ctx, entryId, decided, false);
	else if (decided.kind === "restore") await restoreFiles(deps, ctx, decided);
	return "done";
}

/** What is not restored takes nobody's undo: the last restore that did something stays the one to take back. */
export const nothingToDo = ({ skips }: RestoreOffer): string =>
	skips.length === 0
		? "Nothing to change"
		: `Nothing to change · left alone: ${describeSkips(skips)}`;

/** Where more than one path would change: everything, or a checklist. Absent when it was left. */
async function choosePaths(
	deps: RewindDeps & { readonly engine: Rewind },
	asking: Asking,
	whole: Chosen,
	target: string,
): Promise<Chosen | undefined> {
	const { changes } = whole;
	if (changes.length < 2) return whole;
	const which = await asking.choose(`Which files go back to ${target}?`, [
		{ label: `Everything (${describeCounts(whole.offer.counts)})`, value: "all" },
		{ label: "Choose paths…", value: "some" },
	]);
	if (which === undefined) return undefined;
	if (which === "all") return whole;
	const picked = await asking.pick("Which files go back?", changes);
	return picked === undefined ? undefined : await partOf(deps, whole, pathsOf(picked));
}

/** Takes back the last restore, where the conversation stands. */
export async function undoLast(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	asking: Asking,
): Promise<Went> {
	const offers = await weigh(deps, ctx, undefined);
	if (offers === undefined) return "back";
	const { engine } = deps;
	const { undo: offer } = offers.facts;
	if (engine === undefined || offers.undo === undefined || offer?.kind !== "available") {
		await printText(ctx, `Undo is not possible: ${whyNoUndo(deps, offers)}`);
		return "done";
	}
	const target = "before the last rewind";
	const chosen = await chosenOf(engine, offer, offers.undo);
	if (chosen.preview.plan.steps.length === 0) {
		await printText(ctx, nothingToDo(offer));
		return "done";
	}
	const proposal = proposalOf(offer, chosen.changes, { target, movesConversation: false });
	if (!(await asking.confirm(proposal, engine.store.patch))) return "back";
	const decided = await stage(ctx, engine, chosen.preview, "undo", target);
	if (decided === undefined) return "back";
	if (decided.kind === "restore") await restoreFiles(deps, ctx, decided);
	return "done";
}

export function whyNoUndo({ engine, settings, whyNone }: RewindDeps, { facts }: Offers): string {
	if (engine === undefined) return whyNone;
	if (!settings.safetySnapshot) return "the setting safetySnapshot hides it";
	if (facts.undo?.kind === "unavailable") return facts.undo.reason;
	return "nothing was restored yet";
}

/**
 * Everything that could fail fails here, before anything moves. A plan that changes nothing keeps the files. Absent when
 * the person cancelled it.
 */
export async function stage(
	ctx: ExtensionCommandContext,
	engine: Rewind,
	preview: Preview,
	what: "restore" | "undo",
	label: string,
): Promise<Deed | undefined> {
	if (preview.plan.steps.length === 0) return { kind: "keep" };
	const prepared = await withProgress(ctx, "Preparing the files…", (signal) =>
		engine.prepare(preview, signal),
	);
	return prepared === cancelled ? undefined : { kind: "restore", what, prepared, label };
}

/**
 * Restores where the conversation stands, and says so; gives back what was said. It can be cancelled until the first
 * write; absent then, and when something else is under way.
 */
export async function restoreFiles(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	decided: Deed & { kind: "restore" },
	words = "Restoring files…",
): Promise<string | undefined> {
	if (await isBusyNow(deps, ctx, decided)) return undefined;
	const said = await withProgress(ctx, words, (signal, onReached) =>
		working(ctx, (say) =>
			deps.navigation.doHere(decided, ctx, {
				signal,
				onReached() {
					onReached();
					say(words);
				},
			}),
		),
	);
	if (said !== cancelled) return said;
	deps.notify(ctx, "Cancelled: no files were changed", "info");
	return undefined;
}

/** What came while somebody was asked: an agent's run, a compaction. It is said, and what was prepared goes. */
async function isBusyNow(
	{ whyBusy, engine, notify }: RewindDeps,
	ctx: ExtensionCommandContext,
	decided: Deed,
): Promise<boolean> {
	const busy = whyBusy(ctx);
	if (busy === undefined) return false;
	if (decided.kind === "restore") await engine?.discard(decided.prepared);
	notify(ctx, `Nothing was changed: ${busy}`, "warning");
	return true;
}

/**
 * Moves the conversation to before a prompt; the files follow as decided, when it has moved. Says so where it has not;
 * gives whether it has.
 */
export async function moveConversation(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	entryId: string,
	decided: Deed,
	summarize: boolean,
): Promise<boolean> {
	const { session, navigation, engine, notify } = deps;
	if (await isBusyNow(deps, ctx, decided)) return false;
	const text = promptText(session.entry(entryId));
	// Pi does not move to where it stands; a record of ours after the prompt makes it a move.
	if (ctx.sessionManager.getLeafId() === entryId) session.appendArrival({});
	const callOff = navigation.expect(entryId, decided);
	let moved = false;
	try {
		moved = summarize ? await moveWithSummary(ctx, entryId) : await move(ctx, entryId);
		if (!moved) await printText(ctx, "Not moved: that was cancelled. No files were changed.");
	} catch (error) {
		const message = `Not moved, no files were changed: ${describeError(error)}`;
		notify(ctx, message, "error");
	} finally {
		callOff();
		// Idempotent: what the move took up is used up.
		if (!moved && decided.kind === "restore") await engine?.discard(decided.prepared);
	}
	// Pi gives the text back only where it draws itself; never sent. In a terminal never over what stands there; a client
	// says nothing of its editor, and is told the text.
	if (moved && ctx.hasUI && ctx.ui.getEditorText().trim() === "") ctx.ui.setEditorText(text);
	return moved;
}

async function move(ctx: ExtensionCommandContext, entryId: string): Promise<boolean> {
	return await working(ctx, async (say) => {
		say("Going back…");
		return !(await ctx.navigateTree(entryId, {})).cancelled;
	});
}

/** A model writes the summary: that takes a while, and can be cancelled where Pi can. */
async function moveWithSummary(ctx: ExtensionCommandContext, entryId: string): Promise<boolean> {
	const words = "Summarizing what is left behind…";
	const result = await withProgress(ctx, words, (signal) => {
		signal.addEventListener("abort", () => ctx.abort(), { once: true });
		return ctx.navigateTree(entryId, { summarize: true });
	});
	return result !== cancelled && !result.cancelled;
}

const workingKey = "rewind-working";

/** Lets `act` say in the footer what is under way when there is nothing to cancel: files are being written. */
async function working<T>(
	ctx: ExtensionCommandContext,
	act: (say: (words: string) => void) => Promise<T>,
): Promise<T> {
	try {
		return await act((words) => ctx.ui.setStatus(workingKey, `◆ ${words}`));
	} finally {
		ctx.ui.setStatus(workingKey, undefined);
	}
}
