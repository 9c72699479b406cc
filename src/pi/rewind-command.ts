/**
 * The command `/rewind`: in a terminal a timeline, over RPC dialogs, elsewhere a list; arguments do the rest.
 *
 * Knows the modes and the arguments; what happens after a point was chosen is in rewind.ts.
 */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { describeOutcome, type RestoreOffer } from "../core/choices.ts";
import { describeError } from "../core/errors.ts";
import { displayPath } from "../core/ids.ts";
import { customTypes, decodeRecord } from "../core/records.ts";
import { pathsAt, proposalOf, type Proposal } from "../core/rewind.ts";
import {
	completeRewind,
	parseRewindArguments,
	type RewindArguments,
	rewindUsage,
} from "../core/rewind-arguments.ts";
import { printedPrompt, type Prompt } from "../core/timeline.ts";
import { markOf } from "../core/changes.ts";
import { showScreen } from "../screens/screen.ts";
import { createTimelineScreen, type TimelineRow } from "../screens/timeline.ts";
import { type Asking, byDialogs, onScreens } from "./asking.ts";
import { markFailed, printRefusal, printText } from "./print.ts";
import {
	type Chosen,
	chosenOf,
	moveConversation,
	nothingToDo,
	partOf,
	restoreFiles,
	type RewindDeps,
	rewindTo,
	stage,
	undoLast,
	weigh,
	whyNoUndo,
} from "./rewind.ts";
import { createTimeline, promptsOf, type Timeline } from "./timeline.ts";

export interface CommandDeps {
	/** The session of now; absent while none is open. */
	open(): Promise<RewindDeps | undefined>;
	/** Milliseconds since the epoch. */
	clock(): number;
}

type PointArguments = RewindArguments & { kind: "point" };

/** Prompts in one dialog, and prompts of a printed list whose numbers are worked out. */
const promptsAtOnce = 50;

export function registerRewind(pi: ExtensionAPI, deps: CommandDeps): void {
	let completions: () => readonly string[] = () => [];

	pi.on("session_start", (_event, ctx) => {
		const { sessionManager } = ctx;
		// The editor gives no context when it asks what may come next.
		completions = () =>
			promptsOf(sessionManager.getBranch(), [], () => undefined).map(({ text }) => text);
	});

	pi.registerCommand("rewind", {
		description: "Go back to before a prompt: conversation, files, or both",
		getArgumentCompletions: (typed) => completeRewind(typed, completions().slice(0, promptsAtOnce)),
		async handler(text, ctx) {
			const args = parseRewindArguments(text);
			if (args.kind === "wrong")
				return await printRefusal(ctx, `/rewind: ${args.message}. Usage: ${rewindUsage}`);
			const rewind = await deps.open();
			if (rewind === undefined)
				return await printRefusal(ctx, "/rewind: rewind is not at work in this session");
			const busy = rewind.whyBusy(ctx);
			if (busy !== undefined)
				return await printRefusal(ctx, `/rewind: ${busy}. Nothing was changed.`);
			try {
				await run(rewind, ctx, args, deps.clock);
			} catch (error) {
				markFailed(ctx);
				rewind.notify(ctx, `/rewind: ${describeError(error)}`, "error");
			}
		},
	});
}

async function run(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	args: Exclude<RewindArguments, { kind: "wrong" }>,
	clock: () => number,
): Promise<void> {
	const asking = ctx.mode === "tui" ? onScreens(ctx) : byDialogs(ctx);
	switch (args.kind) {
		case "browse":
			if (ctx.mode === "tui") return await browseScreens(deps, ctx, asking, clock);
			if (ctx.hasUI) return await browseDialogs(deps, ctx, asking, clock);
			return await printList(deps, ctx, clock);
		case "undo":
			return await undoByArguments(deps, ctx, args, asking);
		case "point":
			return await pointByArguments(deps, ctx, args, asking);
	}
}

// ---- Looking around ----

const timelineOf = (
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	onNews: () => void,
): Promise<Timeline> =>
	createTimeline({ ...deps, labelOf: (id) => ctx.sessionManager.getLabel(id), onNews });

/** The timeline comes back when a later step is left, until a point was gone to or it is left itself. */
async function browseScreens(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	asking: Asking,
	clock: () => number,
): Promise<void> {
	let start: TimelineRow | undefined;
	for (;;) {
		let redraw = (): void => undefined;
		const timeline = await timelineOf(deps, ctx, () => redraw());
		const row = await showScreen<TimelineRow>(
			ctx.ui,
			"Rewind to before which prompt?",
			(env, close) => {
				redraw = () => env.tui.requestRender();
				return createTimelineScreen(env, {
					...timeline,
					clock,
					...(start === undefined ? {} : { start }),
					// Whatever fails while looking stands in its row.
					onSeen: (prompts) => void timeline.look(prompts),
					close,
				});
			},
		);
		timeline.close();
		if (row === undefined || row.kind === "now") return;
		start = row;
		const went =
			row.kind === "undo"
				? await undoLast(deps, ctx, asking)
				: await rewindTo(deps, ctx, asking, row.prompt.id);
		if (went === "done") return;
	}
}

/** No way back to the list: a client that went away answers nothing, for ever. */
async function browseDialogs(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	asking: Asking,
	clock: () => number,
): Promise<void> {
	const timeline = await timelineOf(deps, ctx, () => undefined);
	const { prompts, hasUndo } = timeline;
	for (let from = 0; ;) {
		const shown = prompts.slice(from, from + promptsAtOnce);
		await timeline.look(shown);
		const rows = shown.map((prompt, i) => ({
			label: printedPrompt(from + i + 1, prompt, timeline.facts(prompt), clock()).trim(),
			value: prompt.id,
		}));
		const picked = await asking.choose("Rewind to before which prompt?", [
			...(hasUndo && from === 0 ? [{ label: "Undo last file rewind", value: "undo" }] : []),
			...rows,
			...(from + promptsAtOnce < prompts.length ? [{ label: "Older …", value: "older" }] : []),
			{ label: "Cancel", value: undefined },
		]);
		if (picked === undefined) return;
		if (picked === "undo") return void (await undoLast(deps, ctx, asking));
		if (picked !== "older") return void (await rewindTo(deps, ctx, asking, picked));
		from += promptsAtOnce;
	}
}

async function printList(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	clock: () => number,
): Promise<void> {
	const timeline = await timelineOf(deps, ctx, () => undefined);
	const { prompts } = timeline;
	if (prompts.length === 0) return await printText(ctx, "No prompts on this branch yet.");
	await timeline.look(prompts.slice(0, promptsAtOnce));
	timeline.close();
	const lines = prompts.map((prompt, i) =>
		printedPrompt(i + 1, prompt, timeline.facts(prompt), clock()),
	);
	await printText(ctx, [...lines, "", `Go back: ${rewindUsage}`].join("\n"));
}

// ---- Arguments ----

async function pointByArguments(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	args: PointArguments,
	asking: Asking,
): Promise<void> {
	const prompt = await findPrompt(deps, ctx, args.point);
	if (prompt === undefined)
		return await printRefusal(ctx, `/rewind: no prompt ${args.point} on this branch. ${listHint}`);
	const { what } = args;
	if (what === undefined && ctx.hasUI && !args.dryRun && !args.yes)
		return void (await rewindTo(deps, ctx, asking, prompt.id));
	if (what === undefined)
		return await printRefusal(ctx, `/rewind: say what goes back. Usage: ${rewindUsage}`);
	if (what === "conversation") {
		const words = `Conversation only, to before “${prompt.text}”; the files stay`;
		if (!(await mayGoOn(ctx, args, words))) return;
		const moved = await moveConversation(deps, ctx, prompt.id, { kind: "keep" }, false);
		if (!moved) markFailed(ctx);
		else if (!ctx.hasUI)
			await printText(ctx, `Went back to before “${prompt.text}”; the files stay`);
		return;
	}
	const offers = await weigh(deps, ctx, prompt.id);
	if (offers === undefined) return markFailed(ctx);
	const { restore: offer, target } = offers.facts;
	const { engine } = deps;
	if (engine === undefined || offers.restore === undefined || offer.kind !== "available") {
		const reason = offer.kind === "unavailable" ? offer.reason : deps.whyNone;
		return await printRefusal(
			ctx,
			`/rewind: files cannot be restored there: ${reason}. ${nothing}`,
		);
	}
	const whole = await chosenOf(engine, offer, offers.restore);
	const chosen = await named({ ...deps, engine }, whole, args);
	if (typeof chosen === "string") return await printRefusal(ctx, `/rewind: ${chosen}. ${nothing}`);
	const proposal = proposalOf(chosen.offer, chosen.changes, {
		target,
		movesConversation: what === "both",
	});
	if (
		!(await mayGoOn(ctx, args, describe(proposal), () =>
			asking.confirm(proposal, engine.store.patch),
		))
	)
		return;
	const decided = await stage(ctx, engine, chosen.preview, "restore", target);
	if (decided === undefined) return markFailed(ctx);
	await tellDone(deps, ctx, chosen.offer, async () => {
		if (what === "both") await moveConversation(deps, ctx, prompt.id, decided, false);
		else if (decided.kind === "restore") await restoreFiles(deps, ctx, decided);
	});
}

async function undoByArguments(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	args: RewindArguments & { kind: "undo" },
	asking: Asking,
): Promise<void> {
	if (ctx.hasUI && !args.dryRun && !args.yes) return void (await undoLast(deps, ctx, asking));
	const offers = await weigh(deps, ctx, undefined);
	if (offers === undefined) return markFailed(ctx);
	const { undo: offer } = offers.facts;
	const { engine } = deps;
	if (engine === undefined || offers.undo === undefined || offer?.kind !== "available")
		return await printRefusal(
			ctx,
			`/rewind: undo is not possible: ${whyNoUndo(deps, offers)}. ${nothing}`,
		);
	const target = "before the last rewind";
	const chosen = await chosenOf(engine, offer, offers.undo);
	const proposal = proposalOf(offer, chosen.changes, { target, movesConversation: false });
	if (!(await mayGoOn(ctx, args, describe(proposal)))) return;
	const decided = await stage(ctx, engine, chosen.preview, "undo", target);
	if (decided === undefined) return markFailed(ctx);
	await tellDone(deps, ctx, offer, async () => {
		if (decided.kind === "restore") await restoreFiles(deps, ctx, decided);
	});
}

const nothing = "Nothing was changed.";
const listHint = "/rewind without arguments lists them.";

/** By its number in the list, or by its entry's id, or enough of that to be the only one. */
async function findPrompt(
	{ session }: RewindDeps,
	ctx: ExtensionCommandContext,
	point: string,
): Promise<Prompt | undefined> {
	const { chain } = await session.lineage();
	const prompts = promptsOf(session.branch(), chain, (id) => ctx.sessionManager.getLabel(id));
	const number = /^\d{1,6}$/.test(point) ? Number(point) : undefined;
	const exact = prompts.find(({ id }) => id === point);
	if (exact !== undefined || number !== undefined) return exact ?? prompts[(number ?? 0) - 1];
	const fitting = prompts.filter(({ id }) => id.startsWith(point));
	return fitting.length === 1 ? fitting[0] : undefined;
}

/** What the arguments name, or why they name nothing. */
async function named(
	deps: RewindDeps & { readonly engine: NonNullable<RewindDeps["engine"]> },
	whole: Chosen,
	{ paths }: PointArguments,
): Promise<Chosen | string> {
	if (paths.length === 0) return whole;
	const { steps, skips } = whole.preview.plan;
	const differing = [...steps, ...skips].map(({ path }) => path);
	const found = pathsAt(differing, paths);
	if (found.kind === "found") return await partOf(deps, whole, found.paths);
	const names = found.paths.map((path) => displayPath(path) || ".").join(", ");
	return `nothing would change at ${names}; paths are named from the root of the repository`;
}

/** With `--yes` it goes on, with `--dry-run` it says what it would do; else it asks where somebody can answer. */
async function mayGoOn(
	ctx: ExtensionCommandContext,
	{ dryRun, yes }: { readonly dryRun: boolean; readonly yes: boolean },
	words: string,
	ask: () => Promise<boolean> = () => ctx.ui.confirm("Rewind?", words),
): Promise<boolean> {
	if (dryRun) await printText(ctx, `${words}\n${nothing}`);
	else if (yes) return true;
	else if (ctx.hasUI) return await ask();
	else await printText(ctx, `${words}\n${nothing} --yes does it.`);
	return false;
}

function describe({ title, notes, changes }: Proposal): string {
	const names = changes.map((change) => {
		const was = change.renamedFrom === undefined ? "" : `${displayPath(change.renamedFrom)} → `;
		return `  ${markOf(change)} ${was}${displayPath(change.path)}`;
	});
	return [title, ...notes, ...names].join("\n");
}

/**
 * On a screen the transcript says what was done; elsewhere somebody waits for a word: of what `act` recorded, and of
 * nothing else. [R15] What failed says so itself.
 */
async function tellDone(
	{ session }: RewindDeps,
	ctx: ExtensionCommandContext,
	offer: RestoreOffer,
	act: () => Promise<void>,
): Promise<void> {
	const before = session.entries().length;
	await act();
	if (ctx.hasUI) return;
	const records = session
		.entries()
		.slice(before)
		.flatMap((entry) =>
			entry.type === "custom" && entry.customType === customTypes.op
				? [decodeRecord(customTypes.op, entry.data)]
				: [],
		);
	const done = records.find((record) => record?.kind === "op" && record.restored !== undefined);
	if (done?.kind === "op" && done.restored !== undefined)
		await printText(ctx, describeOutcome(done.restored, done.undoAfter !== undefined));
	else if (offer.counts.changed + offer.counts.added + offer.counts.deleted === 0)
		await printText(ctx, nothingToDo(offer));
	else markFailed(ctx);
}
