/**
 * The frame of a screen: a title, a body, a line on what is marked, a line of keys. Fits any size from 40 × 12.
 *
 * Owns colours and widths: what plays which part is said elsewhere. Every line is cut by pi-tui's own idea of width.
 */
import type { Theme } from "@earendil-works/pi-coding-agent";
import { truncateToWidth, type TUI, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { RowText, Span, Tone } from "../core/spans.ts";
import type { Bindings, Hint } from "./keys.ts";

/** What Pi gives to a screen. */
export interface ScreenEnv {
	readonly tui: Pick<TUI, "requestRender"> & {
		readonly terminal: Pick<TUI["terminal"], "rows" | "columns">;
	};
	readonly theme: Colours;
	readonly keybindings: Bindings;
}
export type Colours = Pick<Theme, "fg" | "bold">;

const colours = {
	plain: "text",
	strong: "accent",
	quiet: "muted",
	faint: "dim",
	point: "accent",
	added: "toolDiffAdded",
	removed: "toolDiffRemoved",
	warning: "warning",
	error: "error",
} as const satisfies Record<Tone, Parameters<Theme["fg"]>[0]>;

/** A frame without a body line would be of no use. */
const bodyRowsMin = 3;
/** Lines of the title and of the detail that a tall screen gives them. */
const titleRowsMax = 4;
const detailRowsMax = 3;
/** Narrower than this, the keys have a second line. */
const oneLineOfKeysMin = 60;
/** A rule above and below is worth its rows from here on. */
const ruledRowsMin = 16;

export function paint(theme: Colours, { text, tone }: Span): string {
	const coloured = theme.fg(colours[tone], text);
	return tone === "strong" ? theme.bold(coloured) : coloured;
}

export const paintAll = (theme: Colours, spans: readonly Span[]): string =>
	spans.map((each) => paint(theme, each)).join("");

/** One row: the left part is cut, but keeps half of it; columns at the end go, the first one first. */
export function drawRow(theme: Colours, { left, right = [] }: RowText, width: number): string {
	const columns = right.map((spans) => paintAll(theme, spans)).filter((each) => each !== "");
	while (visibleWidth(columns.join(" ")) + 1 > width / 2 && columns.length > 0) columns.shift();
	const end = columns.join(" ");
	const endWidth = visibleWidth(end);
	const whole = paintAll(theme, left);
	if (endWidth === 0) return truncateToWidth(whole, width, "…");
	const start = truncateToWidth(whole, width - endWidth - 1, "…");
	const gap = " ".repeat(Math.max(1, width - visibleWidth(start) - endWidth));
	return `${start}${gap}${end}`;
}

export interface FrameParts {
	readonly title: readonly Span[];
	/** Lines of the title at most, where the body needs less room than usual. */
	readonly titleRows?: number;
	/** What is true of the marked row, or of where the text stands. */
	readonly detail: readonly Span[];
	/** In order of weight: those that do not fit are left out from the end. */
	readonly hints: readonly Hint[];
	/** Draws so many rows at most. */
	body(rows: number): readonly string[];
}

/** As many lines as the terminal has rows, each as wide as the terminal at most. */
export function drawFrame({ tui, theme }: ScreenEnv, width: number, parts: FrameParts): string[] {
	const rows = Math.max(tui.terminal.rows, 1);
	const isRuled = rows >= ruledRowsMin;
	const rule = isRuled ? [theme.fg("border", "─".repeat(width))] : [];
	const tall = parts.titleRows ?? (isRuled ? titleRowsMax : 2);
	const title = wrapped(theme, parts.title, width, tall);
	const detail = wrapped(theme, parts.detail, width, isRuled ? detailRowsMax : 2);
	const keys = drawHints(theme, parts.hints, width);
	const around = rule.length * 3 + title.length + detail.length + keys.length;
	const height = Math.max(bodyRowsMin, rows - around);
	const body = parts.body(height).slice(0, height);
	const filler = Array.from({ length: height - body.length }, () => "");
	return [...rule, ...title, ...rule, ...body, ...filler, ...detail, ...keys, ...rule].map((line) =>
		padded(line, width),
	);
}

/** To the full width: what Pi drew below must not shine through. */
function padded(line: string, width: number): string {
	const cut = visibleWidth(line) > width ? truncateToWidth(line, width, "…") : line;
	return cut + " ".repeat(Math.max(0, width - visibleWidth(cut)));
}

const unbreakable = "\u00a0";
/** Stays on one line of a title or a detail, where a line has room for it. */
export const together = (text: string): string => text.replaceAll(" ", unbreakable);

/** At most so many lines; that there was more is said by the last one's end. */
function wrapped(theme: Colours, spans: readonly Span[], width: number, rowsMax: number): string[] {
	if (spans.length === 0) return [];
	const lines = wrapTextWithAnsi(paintAll(theme, spans), width).map((line) =>
		line.replaceAll(unbreakable, " "),
	);
	if (lines.length <= rowsMax) return lines;
	const last = lines[rowsMax - 1] ?? "";
	return [...lines.slice(0, rowsMax - 1), `${truncateToWidth(last, width - 1, "")}…`];
}

function drawHints(theme: Colours, hints: readonly Hint[], width: number): string[] {
	const lines = [""];
	for (const { key, does } of hints) {
		const hint = `${theme.fg("muted", key)} ${theme.fg("dim", does)}`;
		const last = lines.at(-1) ?? "";
		const longer = last === "" ? hint : `${last}  ${hint}`;
		if (visibleWidth(longer) <= width) lines.splice(-1, 1, longer);
		else if (width < oneLineOfKeysMin && lines.length < 2) lines.push(hint);
		else break;
	}
	return lines;
}
