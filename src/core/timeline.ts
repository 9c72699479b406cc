/**
 * The prompts of a branch as a person reads them: newest first, which have a point, what each run changed.
 *
 * Pure: says what stands in a row and below it; what is not known yet leaves its place empty.
 */
import type { FileChange, LineCounts } from "./changes.ts";
import { markOf } from "./changes.ts";
import { describeCounts, listNames } from "./choices.ts";
import type { EntryId, SnapshotId } from "./ids.ts";
import { shortId } from "./ids.ts";
import type { Counts } from "./plan.ts";
import { oneLine, type RowText, type Span, span } from "./spans.ts";

export interface Prompt {
	readonly id: EntryId;
	/** Its first line; empty when it has no text. */
	readonly text: string;
	/** Milliseconds since the epoch; NaN when the session does not say. */
	readonly at: number;
	readonly label?: string;
	/** The files before its run; absent where no point was taken. */
	readonly point?: SnapshotId;
	/** The files after its last answer that has a point. */
	readonly after?: SnapshotId;
}

/** What became known of a prompt's point. */
export type PointFacts =
	| { readonly kind: "unavailable"; readonly reason: string }
	| {
			readonly kind: "available";
			/** Full ref name; absent when HEAD was detached, or the snapshot does not say. */
			readonly branch?: string;
			/** What its run changed; absent when that cannot be told. */
			readonly run?: RunFacts;
	  };

export interface RunFacts {
	readonly changes: readonly FileChange[];
	/** Absent until they are counted. */
	readonly lines?: LineCounts;
}

/** The rows before the prompts. */
export interface NowFacts {
	/** What changed since the last answer; absent until it is known. */
	readonly changed?: readonly FileChange[];
	/** Why the files cannot be looked at. */
	readonly reason?: string;
}

export type UndoFacts =
	| { readonly kind: "available"; readonly counts: Counts }
	| { readonly kind: "unavailable"; readonly reason: string };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;

/** `3 min`, `5 h`, `2 d`, `12 w`; empty for a time that is not known. */
export function ago(at: number, now: number): string {
	const ms = Math.max(0, now - at);
	if (Number.isNaN(ms)) return "";
	if (ms < minuteMs) return "now";
	if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
	if (ms < dayMs) return `${Math.floor(ms / hourMs)} h`;
	return ms < 9 * weekMs ? `${Math.floor(ms / dayMs)} d` : `${Math.floor(ms / weekMs)} w`;
}

/** How many files came, differ and went; a rename differs. */
export function countChanges(changes: readonly FileChange[]): Counts {
	const marks = changes.map(markOf);
	const added = marks.filter((mark) => mark === "A").length;
	const deleted = marks.filter((mark) => mark === "D").length;
	return { added, deleted, changed: marks.length - added - deleted };
}

/** The sum over files. */
export function sumLines(counts: ReadonlyMap<unknown, LineCounts>): LineCounts {
	let [added, removed] = [0, 0];
	for (const file of counts.values()) {
		added += file.added;
		removed += file.removed;
	}
	return { added, removed };
}

/** `+3 ~2 −1`, without the zeros. */
function fileSpans({ added, changed, deleted }: Counts): Span[] {
	const parts = [
		...(added > 0 ? [span(`+${added}`, "added")] : []),
		...(changed > 0 ? [span(`~${changed}`, "warning")] : []),
		...(deleted > 0 ? [span(`−${deleted}`, "removed")] : []),
	];
	return parts.flatMap((part, i) => (i === 0 ? [part] : [span(" "), part]));
}

/** `+120 −8`; both, so that they are not taken for files. Nothing where no line of a text differs. */
const lineSpans = ({ added, removed }: LineCounts): Span[] =>
	added + removed === 0
		? []
		: [span(`+${added}`, "added"), span(" "), span(`−${removed}`, "removed")];

export const branchName = (branch: string): string => branch.replace(/^refs\/heads\//, "");

/** The text in a column of its own: aligned to the right. */
function column(spans: readonly Span[], width: number): Span[] {
	const length = spans.reduce((sum, { text }) => sum + text.length, 0);
	return [span(" ".repeat(Math.max(0, width - length))), ...spans];
}
const columnWidths = { files: 10, lines: 12, ago: 6 } as const;

/** `⬥` the prompt, then, as far as there is room: the branch, lines, files, how long ago. */
export function promptRow(prompt: Prompt, facts: PointFacts | undefined, now: number): RowText {
	const isOff = facts?.kind === "unavailable";
	const run = facts?.kind === "available" ? facts.run : undefined;
	const branch = facts?.kind === "available" ? facts.branch : undefined;
	const text = prompt.text === "" ? "(no text)" : prompt.text;
	const sign = facts === undefined ? span("· ", "faint") : isOff ? span("◇ ", "faint") : point;
	return {
		left: [
			sign,
			span(text, isOff ? "faint" : "plain"),
			...(prompt.label === undefined ? [] : [span(` [${prompt.label}]`, "point")]),
		],
		right: [
			branch === undefined ? [] : [span(oneLine(branchName(branch)), "quiet")],
			column(run?.lines === undefined ? [] : lineSpans(run.lines), columnWidths.lines),
			column(run === undefined ? [] : fileSpans(countChanges(run.changes)), columnWidths.files),
			column([span(ago(prompt.at, now), "quiet")], columnWidths.ago),
		],
	};
}
const point = span("⬥ ", "point");

/** What is true of one prompt, in a sentence or two. */
export function promptDetail(prompt: Prompt, facts: PointFacts | undefined): Span[] {
	if (facts === undefined) return [span("…", "faint")];
	if (facts.kind === "unavailable")
		return [span(`◇ Files cannot be restored there: ${facts.reason}`, "quiet")];
	const where = facts.branch === undefined ? "" : ` · on ${oneLine(branchName(facts.branch))}`;
	const id = prompt.point === undefined ? "" : ` · ${shortId(prompt.point)}`;
	return [span(`⬥ ${describeRun(facts.run)}${where}${id}`, "quiet")];
}

function describeRun(run: RunFacts | undefined): string {
	if (run === undefined) return "What its run changed is not known";
	if (run.changes.length === 0) return "Its run changed no files";
	const names = listNames(run.changes.map(({ path }) => path));
	const spans = run.lines === undefined ? [] : lineSpans(run.lines);
	const lines = spans.length === 0 ? "" : ` (${spans.map(({ text }) => text).join("")})`;
	return `Its run changed ${names}${lines}`;
}

export function nowRow({ changed, reason }: NowFacts): RowText {
	const counts = changed === undefined ? [] : fileSpans(countChanges(changed));
	return {
		left: [
			span("● ", "point"),
			span("now"),
			...(counts.length === 0 ? [] : [span("  since the last answer", "faint")]),
			...(reason === undefined ? [] : [span("  files cannot be looked at", "faint")]),
		],
		right: [column(counts, columnWidths.files), column([], columnWidths.ago)],
	};
}

export function nowDetail({ changed, reason }: NowFacts): Span[] {
	if (reason !== undefined) return [span(`● You are here. ${reason}`, "quiet")];
	if (changed === undefined) return [span("● You are here.", "quiet")];
	if (changed.length === 0) return [span("● You are here, as the last answer left it.", "quiet")];
	const names = listNames(changed.map(({ path }) => path));
	return [span(`● You are here. Changed since the last answer: ${names}.`, "quiet")];
}

export function undoRow(facts: UndoFacts | undefined): RowText {
	const isOff = facts?.kind === "unavailable";
	const counts = facts?.kind === "available" ? fileSpans(facts.counts) : [];
	return {
		left: [
			span("↶ ", isOff ? "faint" : "point"),
			span("undo last rewind", isOff ? "faint" : "plain"),
		],
		right: [column(counts, columnWidths.files), column([], columnWidths.ago)],
	};
}

export function undoDetail(facts: UndoFacts | undefined): Span[] {
	if (facts === undefined) return [span("…", "faint")];
	if (facts.kind === "unavailable") return [span(`Undo is not possible: ${facts.reason}`, "quiet")];
	return [span(`↶ The files as they were before it (${describeCounts(facts.counts)})`, "quiet")];
}

/** One line of the list that is printed where there is no screen; `number` is how the prompt is named there. */
export function printedPrompt(
	number: number,
	prompt: Prompt,
	facts: PointFacts | undefined,
	now: number,
): string {
	const { left, right = [] } = promptRow(prompt, facts, now);
	const text = (spans: readonly Span[]): string =>
		spans
			.map((each) => each.text)
			.join("")
			.trim();
	const columns = right.map(text).filter((each) => each !== "");
	const why = facts?.kind === "unavailable" ? [`no files: ${facts.reason}`] : [];
	return [`${String(number).padStart(3)}  ${text(left)}`, ...columns, ...why].join("  ");
}
