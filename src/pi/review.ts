/**
 * `/review`: what the latest prompt changed, file by file, and taking some of it back.
 *
 *   look ▸ list ─▶ a file's diff ─▶ its hunks
 *    ▲       └────────┴───────────────┴─▶ weigh ▸ confirm ▸ prepare, perform, record ─┐
 *    └────────────────────────────────────────────────────────────────────────────────┘
 *
 * One flow for every place that a person can sit at; how it is shown is a `ReviewView`.
 *
 * Invariants: nothing changes before the confirmation; then what was shown, or nothing. Each revert is one restore with
 * one undo. [R4] [R9]
 */
import type { ExtensionCommandContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import type { FilePatch } from "../core/changes.ts";
import { describeSkips, type Question } from "../core/choices.ts";
import { describeEntry, excerpt, textOf } from "../core/entries.ts";
import { describeError } from "../core/errors.ts";
import type { Hunk } from "../core/hunks.ts";
import {
	describeRows,
	type LineCountsByPath,
	type ReviewAnswer,
	reviewNotes,
	type ReviewPlace,
	type ReviewRow,
	revertQuestion,
} from "../core/review.ts";
import type { Contents, Rewind } from "../engine/rewind.ts";
import {
	contentWithout,
	findPrompt,
	hunksOf,
	lookAt,
	type Review,
	weighRevert,
} from "../engine/review.ts";
import { lookNow } from "../engine/offers.ts";
import { cancelled, withProgress } from "../screens/screen.ts";
import type { NoticeType, Notify } from "./notices.ts";
import type { Recorder } from "./recorder.ts";
import { promptsOf } from "./prompts.ts";
import { restoreAndRecord } from "./restoring.ts";
import type { Session } from "./session.ts";

export interface ReviewDeps {
	readonly session: Session;
	readonly recorder: Recorder;
	engine(): Promise<Rewind | undefined>;
	isRunning(): boolean;
	isPlanMode(): boolean;
	readonly notify: Notify;
}

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
	confirm(question: Question): Promise<boolean>;
}

/** The prompt in question, and everything that is known of it. */
export interface Reviewed {
	readonly engine: Rewind;
	readonly review: Review;
	readonly shown: Shown;
	readonly entry: SessionEntry;
	/** The prompt's text. */
	readonly text: string;
}

/** Why nothing may be reverted now, in words for the person; absent when it may. */
function refusal(deps: ReviewDeps, ctx: ExtensionCommandContext): string | undefined {
	if (deps.isRunning() || !ctx.isIdle())
		return "An agent is running: finish or abort it first, then review what it changed";
	if (deps.isPlanMode())
		return "Plan mode is on and files are only read: leave it first, then review";
	return undefined;
}

/** `“add a parser”`; a prompt can be an image alone. */
function quoted(text: string): string {
	const short = excerpt(text);
	return short === "" ? "your message" : `“${short}”`;
}

/** Looks at what the latest prompt changed; the words why there is nothing to look at, otherwise. */
export async function lookForReview(
	deps: ReviewDeps,
	ctx: ExtensionCommandContext,
	signal: AbortSignal,
): Promise<Reviewed | string> {
	const refused = refusal(deps, ctx);
	if (refused !== undefined) return refused;
	const { session } = deps;
	await deps.recorder.settled();
	const engine = await deps.engine();
	if (engine === undefined) return "No points are taken in this folder: there is nothing to review";
	const { chain } = await session.lineage();
	const found = await findPrompt(promptsOf(session.branch(), chain), engine.store);
	const entry = found === undefined ? undefined : session.entry(found.entry);
	if (found === undefined || entry === undefined)
		return "No prompt on this branch has a point: there is nothing to review";
	const moment = await lookNow(engine, session.owner, session.ledger().latest, signal);
	const review = await lookAt(found.point, moment, engine, session.owner, signal);
	const text = entry.type === "message" && "content" in entry.message ? entry.message.content : "";
	const lines = engine.store.lineCounts(review.target, moment.now, signal).catch(
		// The list is right without them; a row that shows none has its diff.
		() => new Map(),
	);
	return {
		engine,
		review,
		entry,
		text: textOf(text),
		shown: {
			title: `Changes since ${quoted(textOf(text))}`,
			notes: reviewNotes(review.rows, found.laterWithout),
			rows: review.rows,
			lines,
		},
	};
}

/** Runs until the person leaves. Failures are told; what is true of the files stands in them. */
export async function runReview(
	deps: ReviewDeps,
	ctx: ExtensionCommandContext,
	view: ReviewView,
): Promise<void> {
	const ending = new AbortController();
	let said: string | undefined;
	const visit: Visit = {
		deps,
		ctx,
		view,
		tell(message, type) {
			said = message;
			deps.notify(ctx, message, type);
		},
		takeSaid() {
			const message = said;
			said = undefined;
			return message;
		},
	};
	let place: ReviewPlace = { cursor: 0, picked: new Set() };
	try {
		for (let round = 0; ; round++) {
			const reviewed = await withProgress(ctx, "Looking at the files", (signal) =>
				lookForReview(deps, ctx, AbortSignal.any([signal, ending.signal])),
			);
			if (reviewed === cancelled) return;
			if (typeof reviewed === "string") return deps.notify(ctx, reviewed, "warning");
			if (reviewed.shown.rows.length === 0) {
				const message = `Nothing differs from the files before ${quoted(reviewed.text)}`;
				// Who just took all of it back knows.
				return round === 0 ? deps.notify(ctx, message, "info") : undefined;
			}
			const left = await browse(reviewed, place, visit);
			if (left === undefined) return;
			// Other rows stand there now.
			place = { cursor: left.cursor, picked: new Set() };
		}
	} catch (error) {
		deps.notify(ctx, describeError(error), "error");
	} finally {
		ending.abort();
	}
}

/** One run of the command. */
interface Visit {
	readonly deps: ReviewDeps;
	readonly ctx: ExtensionCommandContext;
	readonly view: ReviewView;
	tell(message: string, type: NoticeType): void;
	takeSaid(): string | undefined;
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
				: await openFile(rows[answer.row], reviewed, visit.view);
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
	view: ReviewView,
): Promise<Chosen | undefined> {
	if (row === undefined) return undefined;
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
}

/** True when the files are to be looked at anew: they were changed, by this or by somebody else. */
async function revert(
	{ rows, contents, words = describeRows(rows) }: Chosen,
	{ engine, review, entry }: Reviewed,
	{ deps, ctx, view, tell }: Visit,
): Promise<boolean> {
	const { offer, preview } = await weighRevert(review, rows, engine, deps.session.owner, contents);
	if (offer.kind === "unavailable" || preview === undefined) {
		tell(`Not reverted: ${offer.kind === "unavailable" ? offer.reason : ""}`, "warning");
		return false;
	}
	if (preview.plan.steps.length === 0) {
		tell(`Nothing to revert · left alone: ${describeSkips(preview.plan.skips)}`, "info");
		return false;
	}
	if (!(await view.confirm(revertQuestion(words, offer)))) return false;
	// The question can have stood while a prompt came in.
	const refused = refusal(deps, ctx);
	if (refused !== undefined) {
		tell(`${refused}; no files were changed`, "warning");
		return false;
	}
	try {
		await withProgress(ctx, `Reverting ${words}`, async () => {
			const prepared = await engine.prepare(preview);
			await restoreAndRecord(prepared, describeEntry(entry), engine, deps);
		});
	} catch (error) {
		tell(describeError(error), "error");
	}
	return true;
}
