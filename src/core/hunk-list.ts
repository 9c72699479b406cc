/**
 * The hunks of a file as a list to choose from: a row for each hunk, and one for each of its lines below it.
 *
 * Pure. Rows are given when they are seen; what can drive a terminal is shown escaped.
 */
import { visibleText } from "./diff-text.ts";
import type { Hunk, HunkLine } from "./hunks.ts";
import { type RowText, span } from "./spans.ts";

/** What stands in a row: a hunk, or one of its lines. */
export interface HunkRow {
	/** Which hunk the row belongs to. */
	readonly hunk: number;
	/** Absent in the row of the hunk itself. */
	readonly line?: HunkLine;
}

export const hunkRows = (hunks: readonly Hunk[]): HunkRow[] =>
	hunks.flatMap(({ lines }, hunk) => [{ hunk }, ...lines.map((line) => ({ hunk, line }))]);

const signs = { context: " ", added: "+", removed: "-" } as const;
const tones = { context: "quiet", added: "added", removed: "removed" } as const;

export function hunkRowText(
	hunks: readonly Hunk[],
	{ hunk, line }: HunkRow,
	isPicked: boolean,
): RowText {
	if (line !== undefined) {
		const text = shown(line.text.replace(/\n$/, ""));
		return { left: [span(`    ${signs[line.kind]} ${text}`, tones[line.kind])] };
	}
	const header = hunks[hunk]?.header ?? "";
	return {
		left: [span(isPicked ? "[x] " : "[ ] ", isPicked ? "plain" : "quiet"), span(shown(header))],
	};
}

/** All of it as lines of text, for dialogs. */
export const hunkLines = (hunks: readonly Hunk[]): string[] =>
	hunks.flatMap(({ header, lines }, hunk) => [
		`${hunk + 1}  ${shown(header)}`,
		...lines.map(({ kind, text }) => `${signs[kind]} ${shown(text.replace(/\n$/, ""))}`),
	]);

/** `hunk 2 of 3: +1 −2`. */
export function hunkDetail(hunks: readonly Hunk[], hunk: number): string {
	const lines = hunks[hunk]?.lines ?? [];
	const count = (kind: HunkLine["kind"]): number =>
		lines.filter((line) => line.kind === kind).length;
	return `hunk ${hunk + 1} of ${hunks.length}: +${count("added")} −${count("removed")}`;
}

/** A tab is as wide as Pi's own diffs make it. */
const shown = (bytes: string): string => visibleText(bytes).replaceAll("\t", "   ");
