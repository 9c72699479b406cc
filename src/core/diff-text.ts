/**
 * What a screen shows of one changed file: a heading, notes, and numbered lines as Pi numbers them in its own diffs.
 *
 * Pure. [R14] is about what is stored and restored; here bytes become text for the eye, and nothing in them may drive
 * the terminal.
 */
import { type FileChange, type FilePatch, markOf } from "./changes.ts";
import { displayPath } from "./ids.ts";
import { fileModes, type TreeEntry } from "./plan.ts";
import { type Span, span } from "./spans.ts";

/** What nobody reads to its end is cut, and the cut is said. */
export const shownLinesMax = 5_000;
const shownCharsMax = 2_000;

export interface PatchText {
	/** `M src/a.ts` and what else there is to say in one line. */
	readonly heading: readonly Span[];
	/** Lines that are no part of the content. */
	readonly notes: readonly Span[];
	/** In the form that Pi's own diff drawing takes: a sign, a line number, a space, the line. Empty without hunks. */
	readonly diff: string;
}

/** `patch` is absent while it is being read, and a text when it could not be. */
export function patchText(change: FileChange, patch: FilePatch | string | undefined): PatchText {
	const heading = headingOf(change);
	if (patch === undefined) return { heading, notes: [span("…", "faint")], diff: "" };
	if (typeof patch === "string") return { heading, notes: [span(patch, "error")], diff: "" };
	if (patch.kind !== "text") {
		const kind = patch.kind === "binary" ? "binary file" : "too large to show";
		return {
			heading,
			notes: [span(`${kind}, ${sizes(patch.fromSize, patch.toSize)}`, "quiet")],
			diff: "",
		};
	}
	if (patch.hunks.length === 0)
		return { heading, notes: [span(withoutContent(change), "quiet")], diff: "" };
	const { lines, more } = numberedLines(patch.hunks);
	const cut = `${more} more lines are not shown`;
	return {
		heading,
		notes: more === 0 ? [] : [span(cut, "quiet")],
		diff: lines.join("\n"),
	};
}

function headingOf(change: FileChange): Span[] {
	const { path, renamedFrom, from, to } = change;
	const mark = markOf(change);
	const tone = mark === "A" ? "added" : mark === "D" ? "removed" : "warning";
	const was = renamedFrom === undefined ? "" : `${displayPath(renamedFrom)} → `;
	const mode = modeChange(from, to);
	return [
		span(`${mark} `, tone),
		span(`${was}${displayPath(path)}`, "strong"),
		...(mode === undefined ? [] : [span(`  ${mode}`, "quiet")]),
	];
}

function modeChange(from: TreeEntry | undefined, to: TreeEntry | undefined): string | undefined {
	if (from === undefined || to === undefined || from.mode === to.mode) return undefined;
	return `${modeWord(from.mode)} → ${modeWord(to.mode)}`;
}

function modeWord(mode: number): string {
	switch (mode) {
		case fileModes.executable:
			return "executable";
		case fileModes.link:
			return "link";
		case fileModes.gitlink:
			return "another repository";
		default:
			return "plain";
	}
}

function withoutContent({ renamedFrom, from, to }: FileChange): string {
	if (from?.mode === fileModes.gitlink || to?.mode === fileModes.gitlink)
		return "another repository";
	if (from === undefined || to === undefined) return "empty file";
	return renamedFrom === undefined ? "same content" : "same content under another name";
}

function sizes(from: number | undefined, to: number | undefined): string {
	if (from === undefined) return bytesWord(to ?? 0);
	return to === undefined ? bytesWord(from) : `${bytesWord(from)} → ${bytesWord(to)}`;
}

/** `980 bytes`, `1.5 KiB`, `12 MiB`. */
export function bytesWord(bytes: number): string {
	if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
	const [size, unit] = bytes < 1 << 20 ? [bytes / 1024, "KiB"] : [bytes / (1 << 20), "MiB"];
	return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

/** Unified hunks with a number before each line, as Pi's edit tool shows them; `more` is how many were cut. */
function numberedLines(hunks: Buffer): { lines: string[]; more: number } {
	const all = hunks.toString("latin1").split("\n");
	if (all.at(-1) === "") all.pop();
	const width = String(lastNumber(all)).length;
	const lines: string[] = [];
	let [old, now] = [0, 0];
	for (const line of all.slice(0, shownLinesMax)) {
		const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
		if (header !== null) {
			[old, now] = [Number(header[1]), Number(header[2])];
			if (lines.length > 0) lines.push(` ${" ".repeat(width)} ...`);
			continue;
		}
		const sign = line[0] ?? " ";
		const text = visibleText(line.slice(1));
		if (sign === "\\") {
			lines.push(` ${" ".repeat(width)} ${text.trim()}`);
			continue;
		}
		const number = sign === "-" ? old : now;
		lines.push(`${sign}${String(number).padStart(width)} ${text}`);
		if (sign !== "+") old += 1;
		if (sign !== "-") now += 1;
	}
	return { lines, more: Math.max(0, all.length - shownLinesMax) };
}

function lastNumber(lines: readonly string[]): number {
	const header = lines.findLast((line) => line.startsWith("@@ "));
	const match = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?/.exec(header ?? "");
	if (match === null) return 1;
	const [, oldStart, oldCount = "1", newStart, newCount = "1"] = match;
	return Math.max(Number(oldStart) + Number(oldCount), Number(newStart) + Number(newCount));
}

/** Content as text, at most so long; what is no text of a line stands there escaped, but for tabs. */
export function visibleText(bytes: string): string {
	const text = Buffer.from(bytes, "latin1").toString("utf8");
	const shown =
		text.length > shownCharsMax
			? `${text.slice(0, shownCharsMax)}… (${text.length - shownCharsMax} more)`
			: text;
	return shown.replace(/[^\P{Cc}\t]|[\p{Cf}\u2028\u2029]/gu, (char) => {
		const code = char.codePointAt(0) ?? 0;
		return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
	});
}
