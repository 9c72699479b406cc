/** How things look in text: times, sizes, counts, names. Control characters never come out of here. [R13] */
import type { LineCounts } from "../core/changes.ts";
import { shortId, type SnapshotId } from "../core/ids.ts";

/** On one line, without what could drive a terminal. */
export const plainText = (text: string): string =>
	text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();

const two = (n: number): string => String(n).padStart(2, "0");

/** `2026-11-30 14:02:31`, in the person's time zone; `unknown time` for what is none. */
export function localTime(ms: number): string {
	const at = new Date(ms);
	if (Number.isNaN(at.getTime())) return "unknown time";
	const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
	return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `812 bytes`, `3.4 MiB`. */
export function sizeText(bytes: number): string {
	let size = bytes;
	let unit = 0;
	while (size >= 1024 && unit < units.length - 1) {
		size /= 1024;
		unit += 1;
	}
	const digits = unit === 0 || size >= 100 ? 0 : 1;
	return `${size.toFixed(digits)} ${units[unit]}`;
}

export const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** `+12 −3`; `not text` where lines were not counted. */
export const linesText = (counts: LineCounts | undefined): string =>
	counts === undefined ? "not text" : `+${counts.added} −${counts.removed}`;

/** `main`, `feature/x`, `detached`, or nothing where a snapshot does not say. */
export const branchText = (branch: string | undefined): string =>
	branch === undefined ? "" : plainText(branch.replace(/^refs\/heads\//, ""));

export const snapshotText = (id: SnapshotId): string => shortId(id);

/** Columns as wide as their widest cell; the last one is not padded. */
export function table(rows: readonly (readonly string[])[], indent = "  "): string {
	const widths: number[] = [];
	for (const row of rows)
		for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell));
	const lines = rows.map((row) =>
		row
			.map((cell, i) =>
				i === row.length - 1 ? cell : cell + " ".repeat((widths[i] ?? 0) - width(cell)),
			)
			.join("  ")
			.trimEnd(),
	);
	return lines.map((line) => `${indent}${line}\n`).join("");
}

/** Characters that take two columns: Hangul, kana, Han and the full-width forms. */
const wide =
	/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/u;
const wideEmoji = /\p{Emoji_Presentation}/u;

/** Columns that a text takes on a terminal. */
function width(text: string): number {
	let columns = 0;
	for (const { segment } of new Intl.Segmenter().segment(text))
		columns += wide.test(segment) || wideEmoji.test(segment) ? 2 : 1;
	return columns;
}
