/**
 * `/review`: what the latest prompt changed, file by file, and taking some of it back.
 *
 *   look ▸ list ─▶ a file's diff ─▶ its hunks
 *    ▲       └────────┴───────────────┴─▶ weigh ▸ confirm ▸ stage ▸ restore where the conversation stands ─┐
 *    └─────────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * One flow for every place that a person can sit at; how it is shown is a `ReviewView`.
 *
 * Invariants: nothing changes before the confirmation; then what was shown, or nothing. Each revert is one restore with
 * one undo. [R4] [R9]
 */
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { FilePatch } from "../core/changes.ts";
import { describeSkips } from "../core/choices.ts";
import { describeEntry } from "../core/entries.ts";
import { describeError } from "../core/errors.ts";
import type { Hunk } from "../core/hunks.ts";
import {
	describeRows,
	type LineCountsByPath,
	quotedPrompt,
	type ReviewAnswer,
	reviewNotes,
	type ReviewPlace,
	type ReviewRow,
	revertQuestion,
} from "../core/review.ts";
import type { Prompt } from "../core/timeline.ts";
import { lookNow } from "../engine/offers.ts";
import {
	contentWithout,
	findPrompt,
	hunksOf,
	lookAt,
	type Review,
	weighRevert,
} from "../engine/review.ts";
import type { Contents, Rewind } from "../engine/rewind.ts";
import { cancelled, withProgress } from "../screens/screen.ts";
import type { Asking } from "./asking.ts";
import type { NoticeType } from "./notices.ts";
import { printText } from "./print.ts";
import { restoreFiles, type RewindDeps, stage } from "./rewind.ts";
import { promptsOf } from "./timeline.ts";

/** What stands on the screen: the files that differ since one prompt. */
export interface Shown {
	/** `Changes since “add a parser”`. */
	readonly title: string;
	readonly notes: readonly string[];
	readonly rows: readonly ReviewRow[];
	/** Never fails. */
	readonly lines: Promise<LineCountsByPath>;
}

/** Shows, and gives what the person wants next; absent when they left. */
export interface ReviewView {
	/** `said` is what was told since the list was shown last, for a view that hides Pi's own notices. */
	list(shown: Shown, place: ReviewPlace, said?: string): Promise<ReviewAnswer | undefined>;
	/** `hunks` is how many there are to choose from. */
	file(
		row: ReviewRow,
		shown: Shown,
		patch: FilePatch,
		hunks: number,
	): Promise<"revert" | "hunks" | undefined>;
	hunks(row: ReviewRow, hunks: readonly Hunk[]): Promise<ReadonlySet<number> | undefined>;
}

/** The prompt in question, and everything that is known of it. */
export interface Reviewed {
	readonly engine: Rewind;
	readonly prompt: Prompt;
	readonly review: Review;
	readonly shown: Shown;
}

/** Looks at what the latest prompt changed; the words why there is nothing to look at, otherwise. */
export async function lookForReview(
	{ session, engine, whyNone }: RewindDeps,
	ctx: ExtensionCommandContext,
	signal: AbortSignal,
): Promise<Reviewed | string> {
	if (engine === undefined) return whyNone;
	const { chain } = await session.lineage();
	const prompts = promptsOf(session.branch(), chain, (id) => ctx.sessionManager.getLabel(id));
	const found = await findPrompt(prompts, engine.store);
	if (found === undefined) return "no prompt on this branch has a point";
	const { prompt, point, laterWithout } = found;
	const moment = await lookNow(engine, session.owner, session.ledger().latest, signal);
	const review = await lookAt(point, moment, engine, session.owner, signal);
	const { rows } = review;
	const lines = engine.store.lineCounts(review.target, moment.now, signal).catch(
		// The list is right without them; what a row does not show is in its diff.
		() => new Map(),
	);
	const title = `Changes since ${quotedPrompt(prompt)}`;
	const notes = reviewNotes(rows, laterWithout);
	return { engine, prompt, review, shown: { title, notes, rows, lines } };
}

/** One run of the command. */
interface Visit {
	readonly deps: RewindDeps;
	readonly ctx: ExtensionCommandContext;
	readonly view: ReviewView;
	readonly asking: Asking;
	tell(message: string, type: NoticeType): void;
	/** What was said since this was asked last. */
	takeSaid(): string | undefined;
	/** For what was said already. */
	remember(message: string): void;
}

/** Runs until the person leaves. Throws `RewindError` for what cannot be looked at. */
export async function runReview(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	view: ReviewView,
	asking: Asking,
): Promise<void> {
	const ending = new AbortController();
	const visit = startVisit(deps, ctx, view, asking);
	let place: ReviewPlace = { cursor: 0, picked: new Set() };
	try {
		for (let round = 0; ; round++) {
			const reviewed = await withProgress(ctx, "Looking at the files…", (signal) =>
				lookForReview(deps, ctx, AbortSignal.any([signal, ending.signal])),
			);
			if (reviewed === cancelled) return;
			if (typeof reviewed === "string")
				return deps.notify(ctx, `/review: ${reviewed}. Nothing was changed.`, "warning");
			if (reviewed.shown.rows.length === 0) {
				const message = `Nothing differs from the files before ${quotedPrompt(reviewed.prompt)}`;
				// Who just took all of it back knows.
				return round === 0 ? await printText(ctx, message) : undefined;
			}
			const left = await browse(reviewed, place, visit);
			if (left === undefined) return;
			// Other rows stand there now.
			place = { cursor: left.cursor, picked: new Set() };
		}
	} finally {
		ending.abort();
	}
}

function startVisit(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	view: ReviewView,
	asking: Asking,
): Visit {
	let said: string | undefined;
	return {
		deps,
		ctx,
		view,
		asking,
		tell(message, type) {
			said = message;
			deps.notify(ctx, message, type);
		},
		remember(message) {
			said = message;
		},
		takeSaid() {
			const message = said;
			said = undefined;
			return message;
		},
	};
}

/**
 * Until something was reverted, or was found changed: then all is to be looked at anew, from the same place. Absent when
 * the person left.
 */
async function browse(
	reviewed: Reviewed,
	start: ReviewPlace,
	visit: Visit,
): Promise<ReviewPlace | undefined> {
	const { rows } = reviewed.shown;
	for (let place = start; ;) {
		const answer = await visit.view.list(reviewed.shown, place, visit.takeSaid());
		if (answer === undefined) return undefined;
		place = answer.place;
		const chosen =
			answer.kind === "revert"
				? { rows: answer.rows.flatMap((index) => rows[index] ?? []) }
				: await openFile(rows[answer.row], reviewed, visit);
		if (chosen !== undefined && (await revert(chosen, reviewed, visit))) return place;
	}
}

/** What is to go back: whole rows, or of one row what `contents` leaves. */
interface Chosen {
	readonly rows: readonly ReviewRow[];
	readonly contents?: Contents;
	/** `2 of 3 hunks of src/a.ts`. */
	readonly words?: string;
}

/** A file's diff, and from there its hunks; absent when nothing of it is to go back. */
async function openFile(
	row: ReviewRow | undefined,
	{ engine, shown }: Reviewed,
	{ view, tell }: Visit,
): Promise<Chosen | undefined> {
	if (row === undefined) return undefined;
	try {
		const patch = await engine.store.patch(row.change);
		const hunks = hunksOf(row, patch);
		for (;;) {
			const wish = await view.file(row, shown, patch, hunks.length);
			if (wish === undefined) return undefined;
			if (wish === "revert") return { rows: [row] };
			const picked = await view.hunks(row, hunks);
			if (picked === undefined) continue;
			const contents = await contentWithout(row, hunks, picked, engine.store);
			const words = `${picked.size} of ${hunks.length} hunks of ${describeRows([row])}`;
			return { rows: [row], contents, words };
		}
	} catch (error) {
		// Content that is gone costs this file's diff, not the others'.
		tell(`${describeRows([row])}: ${describeError(error)}`, "error");
		return undefined;
	}
}

/** True when the files are to be looked at anew: they were changed, by this or by somebody else. */
async function revert(
	{ rows, contents, words = describeRows(rows) }: Chosen,
	{ engine, review, prompt }: Reviewed,
	visit: Visit,
): Promise<boolean> {
	const { deps, ctx, asking, tell } = visit;
	const { session } = deps;
	const { offer, preview } = await weighRevert(review, rows, engine, session.owner, contents);
	if (offer.kind === "unavailable") tell(`Not reverted: ${offer.reason}`, "warning");
	if (offer.kind === "unavailable" || preview === undefined) return false;
	if (preview.plan.steps.length === 0) {
		tell(`Nothing to revert · left alone: ${describeSkips(preview.plan.skips)}`, "info");
		return false;
	}
	const { title, options } = revertQuestion(words, offer);
	const answers = options.map(({ label, choice }) => ({ label, value: choice }));
	if ((await asking.choose(title, answers)) !== "restore") return false;
	try {
		const entry = session.entry(prompt.id);
		const label = entry === undefined ? "that point" : describeEntry(entry);
		const decided = await stage(ctx, engine, preview, "restore", label);
		if (decided?.kind !== "restore") return false;
		const here = {
			...deps,
			notify: (_: unknown, message: string, type: NoticeType) => tell(message, type),
		};
		const said = await restoreFiles(here, ctx, decided, `Reverting ${words}…`);
		if (said === undefined) return false;
		visit.remember(said);
	} catch (error) {
		tell(describeError(error), "error");
	}
	return true;
}
