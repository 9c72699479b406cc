/** Unified diffs as `git apply` takes them, or safe to look at on a terminal. */
import { type FileChange, type FilePatch, markOf } from "../core/changes.ts";
import { type BytePath, pathBytes } from "../core/ids.ts";
import { sizeText } from "./text.ts";

/** One file's difference. `isWatched`: a person sees it, so nothing in it may drive the terminal. [R13] */
export function patchText(change: FileChange, patch: FilePatch, isWatched: boolean): Buffer {
	const hunks = patch.kind === "text" ? patch.hunks : Buffer.alloc(0);
	const head = Buffer.from(`${headLines(change, patch).join("\n")}\n`, "latin1");
	const whole = Buffer.concat([head, hunks]);
	return isWatched ? Buffer.from(escapeControls(whole.toString("utf8"))) : whole;
}

function headLines({ path, renamedFrom, from, to }: FileChange, patch: FilePatch): string[] {
	const before = renamedFrom ?? path;
	const [a, b] = [quoted("a/", before), quoted("b/", path)];
	const lines = [`diff --git ${a} ${b}`];
	const mode = (n: number): string => n.toString(8).padStart(6, "0");
	if (from === undefined && to !== undefined) lines.push(`new file mode ${mode(to.mode)}`);
	else if (from !== undefined && to === undefined)
		lines.push(`deleted file mode ${mode(from.mode)}`);
	else if (from !== undefined && to !== undefined && from.mode !== to.mode)
		lines.push(`old mode ${mode(from.mode)}`, `new mode ${mode(to.mode)}`);
	if (markOf({ path, ...(renamedFrom === undefined ? {} : { renamedFrom }) }) === "R")
		lines.push(`rename from ${quoted("", before)}`, `rename to ${quoted("", path)}`);
	if (patch.kind !== "text") {
		const size = (bytes: number | undefined): string =>
			bytes === undefined ? "nothing" : sizeText(bytes);
		const why = patch.kind === "binary" ? "Binary files" : "Files too large to show";
		lines.push(`${why} differ: ${size(patch.fromSize)}, then ${size(patch.toSize)}`);
	} else if (patch.hunks.length > 0) {
		lines.push(`--- ${from === undefined ? "/dev/null" : a}`);
		lines.push(`+++ ${to === undefined ? "/dev/null" : b}`);
	}
	return lines;
}

const escapes: Readonly<Record<string, string>> = {
	"\t": "\\t",
	"\n": "\\n",
	"\r": "\\r",
	'"': '\\"',
	"\\": "\\\\",
};

/** A name as git writes it in a diff: in quotes, bytes in octal, where it is not plain. */
function quoted(prefix: string, path: BytePath): string {
	const bytes = pathBytes(path).toString("latin1");
	if (!/[^\x20-\x7e]|["\\]/.test(bytes)) return prefix + bytes;
	const inside = bytes.replace(
		/[^\x20-\x7e]|["\\]/g,
		(char) => escapes[char] ?? `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`,
	);
	return `"${prefix}${inside}"`;
}

const escapeControls = (text: string): string =>
	text.replace(
		/(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu,
		(char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
	);
