/**
 * What the latest prompt changed, as a person looks at it: which prompt that is, one row for each file, and the words.
 *
 * Pure. A row is what one revert takes back; a rename is one row, and both of its paths go back together.
 */
import { type ChangeMark, type FileChange, type LineCounts, markOf } from "./changes.ts";
import {
	describeCounts,
	describeSkips,
	type Question,
	type RestoreOffer,
	warningsOf,
} from "./choices.ts";
import { excerpt } from "./entries.ts";
import { type BytePath, displayPath, type EntryId, type SnapshotId } from "./ids.ts";
import type { Skip } from "./plan.ts";
import { type RowText, type Span, span } from "./spans.ts";
import type { Prompt } from "./timeline.ts";

export interface ReviewedPrompt {
	readonly prompt: Prompt;
	/** The files before its run. */
	readonly point: SnapshotId;
	/** Prompts after it that have no point: what they changed cannot be told apart. */
	readonly laterWithout: number;
}

/** What a look at the snapshots around a run says of it. */
export type RunOutcome = "changed" | "same" | "unusable";

/**
 * The newest prompt that has a point and whose run changed files; when none did, the newest that has a point. A question
 * that was only answered does not hide what the prompt before it did. `outcomeOf` is asked for one prompt after another,
 * newest first; a point that cannot be used counts as none.
 */
export async function promptToReview(
	newestFirst: readonly Prompt[],
	outcomeOf: (before: SnapshotId, after: SnapshotId | undefined) => Promise<RunOutcome>,
): Promise<ReviewedPrompt | undefined> {
	let newest: ReviewedPrompt | undefined;
	let laterWithout = 0;
	for (const prompt of newestFirst) {
		const { point, after } = prompt;
		const outcome = point === undefined ? "unusable" : await outcomeOf(point, after);
		if (point === undefined || outcome === "unusable") {
			laterWithout += 1;
			continue;
		}
		const found = { prompt, point, laterWithout };
		newest ??= found;
		if (outcome === "changed") return found;
	}
	return newest;
}

export interface ReviewRow {
	readonly change: FileChange;
	readonly mark: ChangeMark;
	/** What a revert touches: of a rename both. */
	readonly paths: readonly BytePath[];
	/** What a revert would leave alone of them, and why. */
	readonly skips: readonly Skip[];
	/** A commit since the prompt has it as it is now. */
	readonly isCommitted: boolean;
	/** Changed after the last answer: by hand, or by another session. */
	readonly isChangedSince: boolean;
}

export interface ReviewFacts {
	/** From before the prompt to now. */
	readonly changes: readonly FileChange[];
	/** Of the restore of all of it. */
	readonly skips: readonly Skip[];
	/** Changes that no commit since then has; absent where there is no such commit. */
	readonly uncommitted: ReadonlySet<BytePath> | undefined;
	readonly changedSince: readonly BytePath[];
}

export function reviewRows(facts: ReviewFacts): ReviewRow[] {
	const { changes, uncommitted } = facts;
	const skips = new Map(facts.skips.map((skip) => [skip.path, skip]));
	const changedSince = new Set(facts.changedSince);
	return changes.map((change) => {
		const { path, renamedFrom } = change;
		const paths = renamedFrom === undefined ? [path] : [renamedFrom, path];
		return {
			change,
			mark: markOf(change),
			paths,
			skips: paths.flatMap((each) => skips.get(each) ?? []),
			isCommitted: uncommitted !== undefined && !paths.some((each) => uncommitted.has(each)),
			isChangedSince: paths.some((each) => changedSince.has(each)),
		};
	});
}

/** The paths that reverting these rows touches. */
export const pathsToRevert = (rows: readonly ReviewRow[]): ReadonlySet<BytePath> =>
	new Set(rows.flatMap(({ paths }) => paths));

// ---- What the person does ----

/** Where the person stands in the list; kept while a file is looked at. */
export interface ReviewPlace {
	readonly cursor: number;
	readonly picked: ReadonlySet<number>;
}

/** What is to be done next, with rows by index. */
export type ReviewAnswer =
	| { readonly kind: "open"; readonly row: number; readonly place: ReviewPlace }
	| { readonly kind: "revert"; readonly rows: readonly number[]; readonly place: ReviewPlace };

// ---- Words ----

export type LineCountsByPath = ReadonlyMap<BytePath, LineCounts>;

const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** `“add a parser”`; a prompt can be an image alone. */
export function quotedPrompt({ text }: Prompt): string {
	const short = excerpt(text);
	return short === "" ? "your message" : `“${short}”`;
}

/** `3 files +12 −4`, the lines once they are counted. */
export function describeTotal(rows: readonly ReviewRow[], lines?: LineCountsByPath): string {
	const files = plural(rows.length, "file");
	if (lines === undefined) return files;
	const total = { added: 0, removed: 0 };
	for (const { change } of rows) {
		total.added += lines.get(change.path)?.added ?? 0;
		total.removed += lines.get(change.path)?.removed ?? 0;
	}
	return `${files} ${describeLines(total)}`;
}

/** `+12 −4`. */
export const describeLines = ({ added, removed }: LineCounts): string => `+${added} −${removed}`;

/** `src/old.ts → src/new.ts`. */
export const describePath = ({ path, renamedFrom }: FileChange): string =>
	renamedFrom === undefined
		? displayPath(path)
		: `${displayPath(renamedFrom)} → ${displayPath(path)}`;

/** What is to be known of all of it before anything goes back; empty when there is nothing to say. */
export function reviewNotes(rows: readonly ReviewRow[], laterWithout: number): string[] {
	const notes: string[] = [];
	const committed = rows.filter(({ isCommitted }) => isCommitted).length;
	const stay = "a revert changes files, the commits stay.";
	if (committed === rows.length && committed > 0)
		notes.push(`These changes are committed already; ${stay}`);
	else if (committed > 0) notes.push(`Committed already: ${committed} of ${rows.length}; ${stay}`);
	if (laterWithout > 0) {
		const what = laterWithout === 1 ? "A later prompt has" : `${laterWithout} later prompts have`;
		notes.push(`${what} no point: what changed there is shown too.`);
	}
	return notes;
}

const markTones = { M: "warning", A: "added", D: "removed", R: "warning" } as const;

/** One row of the list: box, mark, name; lines at its end. */
export function reviewRowText(
	row: ReviewRow,
	isPicked: boolean,
	lines: LineCounts | undefined,
): RowText {
	const { change, mark } = row;
	const [tag] = reviewTags(row);
	return {
		left: [
			span(isPicked ? "[x] " : "[ ] ", isPicked ? "plain" : "quiet"),
			span(`${mark} `, markTones[mark]),
			span(describePath(change)),
			...(tag === undefined ? [] : [span(` · ${tag}`, "quiet")]),
		],
		...(lines === undefined
			? {}
			: { right: [[span(`+${lines.added}`, "added"), span(` −${lines.removed}`, "removed")]] }),
	};
}

/** The same as one line of text, for dialogs and for print mode. */
export function reviewLine(row: ReviewRow, lines: LineCounts | undefined): string {
	const counts = lines === undefined ? [] : [describeLines(lines)];
	return [`${row.mark} ${describePath(row.change)}`, ...counts, ...reviewTags(row)].join(" · ");
}

/** The marked row in full. */
export function reviewDetail(row: ReviewRow): Span[] {
	return [span([describePath(row.change), ...reviewTags(row)].join(" · "), "quiet")];
}

/** What is special about a row: a few words each. */
export function reviewTags({ isCommitted, isChangedSince, skips }: ReviewRow): string[] {
	return [
		...(skips.length > 0 ? [`left alone: ${describeSkips(skips)}`] : []),
		...(isChangedSince ? ["changed since the last answer"] : []),
		...(isCommitted ? ["committed"] : []),
	];
}

/** For programs: one object a review. Paths are as people see them. */
export function reviewJson(
	rows: readonly ReviewRow[],
	lines: LineCountsByPath,
	about: { readonly prompt: EntryId; readonly text: string; readonly point: SnapshotId },
): object {
	return {
		...about,
		files: rows.map((row) => {
			const { change, mark, skips } = row;
			const { path, renamedFrom } = change;
			return {
				mark,
				path: displayPath(path),
				...(renamedFrom === undefined ? {} : { renamedFrom: displayPath(renamedFrom) }),
				...lines.get(path),
				committed: row.isCommitted,
				changedSince: row.isChangedSince,
				...(skips.length === 0 ? {} : { leftAlone: describeSkips(skips) }),
			};
		}),
	};
}

/** What to confirm before a revert; the safe option first, so that Enter changes nothing. */
export function revertQuestion(what: string, offer: RestoreOffer): Question {
	return {
		title: [`Revert ${what}?`, ...warningsOf(offer)].join("\n"),
		options: [
			{ choice: "keep", label: "Keep as it is now" },
			{ choice: "restore", label: `Revert (${describeCounts(offer.counts)})` },
		],
	};
}

/** `src/a.ts`, `3 files`. */
export function describeRows(rows: readonly ReviewRow[]): string {
	const [first] = rows;
	return rows.length === 1 && first !== undefined
		? describePath(first.change)
		: plural(rows.length, "file");
}
