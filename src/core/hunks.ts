/**
 * The hunks of one text file's patch: read from bytes, and taken back one by one.
 *
 * Lines are byte strings, one char a byte, with the line feed that ends them; a last line without one has none. [R14]
 *
 * Invariants: a hunk is taken back only where the content holds exactly what the hunk says; never near it. Taking all of
 * them back gives the content before the patch, byte for byte.
 */

export interface HunkLine {
	readonly kind: "context" | "added" | "removed";
	/** Byte string, with the `\n` that ends it. */
	readonly text: string;
}

export interface Hunk {
	/** As git wrote it: `@@ -1,3 +1,4 @@ what it stands in`; a byte string. */
	readonly header: string;
	/** First line before and after the patch, from 1; the line above it where that side is empty. */
	readonly before: { readonly start: number; readonly count: number };
	readonly after: { readonly start: number; readonly count: number };
	readonly lines: readonly HunkLine[];
}

const headerShape = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const noNewline = "\\ No newline at end of file";

/** Reads unified hunks from the first `@@` on; absent when the bytes are not exactly that. */
export function parseHunks(patch: Buffer): Hunk[] | undefined {
	const lines = splitLines(patch.toString("latin1"));
	const hunks: Hunk[] = [];
	for (let at = 0; at < lines.length;) {
		const header = (lines[at] ?? "").replace(/\n$/, "");
		const [, beforeStart, beforeCount = "1", afterStart, afterCount = "1"] =
			headerShape.exec(header) ?? [];
		if (beforeStart === undefined || afterStart === undefined) return undefined;
		const before = { start: Number(beforeStart), count: Number(beforeCount) };
		const after = { start: Number(afterStart), count: Number(afterCount) };
		const body = readBody(lines, at + 1, before.count, after.count);
		if (body === undefined) return undefined;
		hunks.push({ header, before, after, lines: body.lines });
		at = body.end;
	}
	return hunks;
}

/** The lines of one hunk, by the counts in its header, not by what they look like. */
function readBody(
	lines: readonly string[],
	start: number,
	before: number,
	after: number,
): { lines: HunkLine[]; end: number } | undefined {
	const body: HunkLine[] = [];
	let [restBefore, restAfter, at] = [before, after, start];
	while (restBefore > 0 || restAfter > 0) {
		const line = lines[at];
		const kind = line === undefined ? undefined : kindOf(line);
		if (line === undefined || kind === undefined) return undefined;
		const isWhole = !isNoNewline(lines[at + 1]);
		const text = line.slice(1);
		body.push({ kind, text: isWhole ? text : text.replace(/\n$/, "") });
		if (kind !== "added") restBefore -= 1;
		if (kind !== "removed") restAfter -= 1;
		at += isWhole ? 1 : 2;
	}
	return restBefore === 0 && restAfter === 0 ? { lines: body, end: at } : undefined;
}

function kindOf(line: string): HunkLine["kind"] | undefined {
	switch (line[0]) {
		case " ":
			return "context";
		case "+":
			return "added";
		case "-":
			return "removed";
		default:
			return undefined;
	}
}

const isNoNewline = (line: string | undefined): boolean => line?.replace(/\n$/, "") === noNewline;

/**
 * `content`, which is how the file is after the patch, with the hunks at the places `chosen` taken back; absent when it
 * is not what the hunks were read for.
 */
export function revertHunks(
	content: Buffer,
	hunks: readonly Hunk[],
	chosen: ReadonlySet<number>,
): Buffer | undefined {
	const lines = splitLines(content.toString("latin1"));
	const textOf = (kept: readonly HunkLine[]): string => kept.map(({ text }) => text).join("");
	let reverted = "";
	let at = 0;
	for (const [place, hunk] of hunks.entries()) {
		if (!chosen.has(place)) continue;
		const start = hunk.after.count === 0 ? hunk.after.start : hunk.after.start - 1;
		const now = hunk.lines.filter(({ kind }) => kind !== "removed");
		if (start < at || !now.every(({ text }, i) => lines[start + i] === text)) return undefined;
		reverted += lines.slice(at, start).join("");
		reverted += textOf(hunk.lines.filter(({ kind }) => kind !== "added"));
		at = start + now.length;
	}
	return Buffer.from(reverted + lines.slice(at).join(""), "latin1");
}

/** Lines with the `\n` that ends them; a carriage return before it is a byte like any other. */
const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
