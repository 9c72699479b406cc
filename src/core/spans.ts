/** Text with the part it plays: what to show, apart from how it is drawn. */

/** The part that a piece of text plays; a screen gives it the theme's colour. */
export type Tone =
	| "plain"
	| "strong"
	| "quiet"
	| "faint"
	| "point"
	| "added"
	| "removed"
	| "warning"
	| "error";

export interface Span {
	readonly text: string;
	readonly tone: Tone;
}

/** One row of a list: what may be cut off where it is narrow, and what stays at its end. */
export interface RowText {
	readonly left: readonly Span[];
	/** Columns at its end: from the first on, they are left out where less than half would be left for the rest. */
	readonly right?: readonly (readonly Span[])[];
}

export const span = (text: string, tone: Tone = "plain"): Span => ({ text, tone });

/** One line of text from outside: nothing in it can drive the terminal, break the line or turn its direction. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
