/**
 * Draws a screen of tmux: text with escape sequences → HTML → PNG, where there is a Chromium to draw it.
 *
 * Knows colours and weights (SGR); other sequences are dropped. What is not ASCII is held to its cells, whichever font has it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { visibleWidth } from "@earendil-works/pi-tui";

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** What the terminal itself draws text and ground in. */
interface Ground {
	readonly text: string;
	readonly ground: string;
}
const grounds = {
	dark: { text: "#d4d7dd", ground: "#16181d" },
	light: { text: "#24292f", ground: "#ffffff" },
} as const satisfies Record<string, Ground>;
export type GroundName = keyof typeof grounds;

/** Writes `<path>.html` and, when possible, `<path>.png`; returns what it wrote. */
export function drawScreen(ansi: string, path: string, ground: GroundName = "dark"): string[] {
	const lines = ansi.split("\n");
	const page = `${path}.html`;
	writeFileSync(page, htmlOf(ansi, grounds[ground]));
	const browser = [process.env["CHROMIUM"] ?? "", ...browsers].find((each) => existsSync(each));
	if (browser === undefined) return [page];
	const columns = Math.max(...lines.map((line) => line.replace(sequences, "").length));
	const size = `${Math.ceil(columns * 8.5) + 32},${lines.length * 18 + 32}`;
	const image = `${path}.png`;
	const args = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
	const target = [`--screenshot=${image}`, `--window-size=${size}`, `file://${page}`];
	return spawnSync(browser, [...args, ...target]).status === 0 ? [page, image] : [page];
}

const [esc, bell] = [String.fromCharCode(27), String.fromCharCode(7)];
/** Every escape sequence: CSI, OSC, and the two-byte ones. */
const sequences = new RegExp(
	`${esc}(?:\\[[0-9;:?]*[A-Za-z]|\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)|.)`,
	"g",
);

interface Style {
	color?: string;
	background?: string;
	bold?: boolean;
	dim?: boolean;
	italic?: boolean;
	underline?: boolean;
	inverse?: boolean;
}

function htmlOf(ansi: string, ground: Ground): string {
	let style: Style = {};
	let body = "";
	let end = 0;
	for (const match of ansi.matchAll(sequences)) {
		body += span(ansi.slice(end, match.index), style, ground);
		end = match.index + match[0].length;
		const [, parameters] = /^.\[([0-9;:]*)m$/.exec(match[0]) ?? [];
		if (parameters !== undefined) style = restyled(style, parameters);
	}
	body += span(ansi.slice(end), style, ground);
	return `<!doctype html><meta charset="utf-8"><style>body{margin:16px;background:${ground.ground};color:${ground.text}}
pre{margin:0;font:14px/18px "DejaVu Sans Mono",monospace}
i{display:inline-block;font-style:inherit;text-align:center;height:18px;vertical-align:top;overflow:hidden}</style><pre>${body}</pre>\n`;
}

function span(text: string, style: Style, ground: Ground): string {
	if (text === "") return "";
	const escaped = text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replace(/[^\p{ASCII}]/gu, (char) => `<i style="width:${visibleWidth(char)}ch">${char}</i>`);
	const { color = ground.text, background = ground.ground } = style;
	const [front, back] = style.inverse ? [background, color] : [color, background];
	const css = [
		style.color !== undefined || style.inverse ? `color:${front}` : "",
		style.background !== undefined || style.inverse ? `background:${back}` : "",
		style.bold ? "font-weight:bold" : "",
		style.dim ? "opacity:.6" : "",
		style.italic ? "font-style:italic" : "",
		style.underline ? "text-decoration:underline" : "",
	].filter(Boolean);
	return css.length === 0 ? escaped : `<span style="${css.join(";")}">${escaped}</span>`;
}

/** The style after an SGR sequence. */
function restyled(before: Style, parameters: string): Style {
	const codes = parameters.split(/[;:]/).map(Number);
	let style = { ...before };
	for (let code = codes.shift(); code !== undefined; code = codes.shift()) {
		if (code === 0) style = {};
		else if (code === 38) style.color = takeColor(codes);
		else if (code === 48) style.background = takeColor(codes);
		else if (code === 39) delete style.color;
		else if (code === 49) delete style.background;
		else if (code >= 30 && code <= 37) style.color = paletteColor(code - 30);
		else if (code >= 90 && code <= 97) style.color = paletteColor(code - 82);
		else if (code >= 40 && code <= 47) style.background = paletteColor(code - 40);
		else if (code >= 100 && code <= 107) style.background = paletteColor(code - 92);
		else Object.assign(style, weights[code]);
	}
	return style;
}

const weights: Record<number, Style> = {
	1: { bold: true },
	2: { dim: true },
	3: { italic: true },
	4: { underline: true },
	7: { inverse: true },
	22: { bold: false, dim: false },
	23: { italic: false },
	24: { underline: false },
	27: { inverse: false },
};

/** Takes the rest of a 256-colour (`5;n`) or true-colour (`2;r;g;b`) code. */
function takeColor(codes: number[]): string {
	if (codes.shift() === 5) return paletteColor(codes.shift() ?? 0);
	const [red = 0, green = 0, blue = 0] = codes.splice(0, 3);
	return `rgb(${red},${green},${blue})`;
}

const basicColors = `#2e3436 #cc4444 #5f9f4f #c4a000 #4f7fbf #8f6fa0 #3f9fa0 #d3d7cf
	#6f7376 #ef5f5f #8ae234 #fce94f #729fcf #ad7fa8 #34e2e2 #eeeeec`.split(/\s+/);

function paletteColor(index: number): string {
	if (index < 16) return basicColors[index] ?? "#d4d7dd";
	if (index >= 232) {
		const grey = 8 + (index - 232) * 10;
		return `rgb(${grey},${grey},${grey})`;
	}
	const cube = index - 16;
	return `rgb(${colorLevel(Math.floor(cube / 36))},${colorLevel(Math.floor(cube / 6) % 6)},${colorLevel(cube % 6)})`;
}

/** Brightness of one of the six steps of the 256-colour cube. */
const colorLevel = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
