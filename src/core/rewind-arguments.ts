/**
 * The arguments of `/rewind`, and what completes them.
 *
 *   /rewind                                              looks around, asks
 *   /rewind POINT --files|--conversation|--both [--path P…] [--dry-run] [--yes]
 *   /rewind undo [--dry-run] [--yes]
 *
 * POINT is the number of a prompt in the list, 1 being the newest, or the id of an entry.
 */
import { type BytePath, bytePathFromText } from "./ids.ts";

export type What = "files" | "conversation" | "both";

export type RewindArguments =
	| { readonly kind: "browse" }
	| {
			readonly kind: "point";
			readonly point: string;
			/** Absent when it is to be asked. */
			readonly what?: What;
			/** Empty for all. */
			readonly paths: readonly BytePath[];
			readonly dryRun: boolean;
			readonly yes: boolean;
	  }
	| { readonly kind: "undo"; readonly dryRun: boolean; readonly yes: boolean }
	| { readonly kind: "wrong"; readonly message: string };

export const rewindUsage =
	"/rewind POINT --files|--conversation|--both [--path P…] [--dry-run] [--yes] · /rewind undo [--dry-run] [--yes] · POINT is a number of the list that /rewind shows, or an entry's id";

const whats: Readonly<Record<string, What>> = {
	"--files": "files",
	"--conversation": "conversation",
	"--both": "both",
};

const wrong = (message: string): RewindArguments => ({ kind: "wrong", message });

export function parseRewindArguments(text: string): RewindArguments {
	const words = splitWords(text);
	if (words === undefined) return wrong("a quote is not closed");
	const [point, ...rest] = words;
	if (point === undefined) return { kind: "browse" };
	if (point.startsWith("--")) return wrong(`${point} needs a point before it`);
	let what: What | undefined;
	let [dryRun, yes] = [false, false];
	const paths: BytePath[] = [];
	for (let i = 0; i < rest.length; i++) {
		const word = rest[i] ?? "";
		const named = whats[word];
		if (named !== undefined) {
			if (what !== undefined && what !== named)
				return wrong("only one of --files, --conversation and --both");
			what = named;
		} else if (word === "--dry-run") dryRun = true;
		else if (word === "--yes") yes = true;
		else if (word === "--path") {
			const before = paths.length;
			for (; i + 1 < rest.length && rest[i + 1]?.startsWith("--") === false; i++)
				paths.push(pathOf(rest[i + 1] ?? ""));
			if (paths.length === before) return wrong("--path needs a path");
		} else return wrong(`${word} is not known`);
	}
	if (point === "undo") {
		if (what !== undefined || paths.length > 0) return wrong("undo takes --dry-run and --yes only");
		return { kind: "undo", dryRun, yes };
	}
	if (paths.length > 0 && (what === undefined || what === "conversation"))
		return wrong("--path goes with --files or --both");
	return { kind: "point", point, paths, dryRun, yes, ...(what === undefined ? {} : { what }) };
}

/** From the root of the repository, as all lists show them; empty for the root itself. */
const pathOf = (text: string): BytePath =>
	bytePathFromText(`${text}/`.replace(/^(\.\/+)+/, "").replace(/\/+$/, ""));

/** Words between spaces; quotes and backslashes as in a shell. Absent when a quote is not closed. */
function splitWords(text: string): string[] | undefined {
	const words: string[] = [];
	let word: string | undefined;
	let quote: string | undefined;
	for (let i = 0; i < text.length; i++) {
		const char = text[i] ?? "";
		if (char === "\\" && quote !== "'" && i + 1 < text.length) {
			i += 1;
			word = (word ?? "") + (text[i] ?? "");
		} else if (quote !== undefined) {
			if (char === quote) quote = undefined;
			else word = (word ?? "") + char;
		} else if (char === '"' || char === "'") {
			quote = char;
			word ??= "";
		} else if (/\s/.test(char)) {
			if (word !== undefined) words.push(word);
			word = undefined;
		} else word = (word ?? "") + char;
	}
	if (quote !== undefined) return undefined;
	return word === undefined ? words : [...words, word];
}

export interface Completion {
	/** The whole of the arguments, once it is taken. */
	readonly value: string;
	readonly label: string;
	readonly description?: string;
}

/** What may come next; `points` are the prompts, newest first, by what they say. */
export function completeRewind(typed: string, points: readonly string[]): Completion[] {
	const at = typed.lastIndexOf(" ") + 1;
	const [before, word] = [typed.slice(0, at), typed.slice(at)];
	const offer = (label: string, description: string): Completion[] =>
		label.startsWith(word) ? [{ value: before + label, label, description }] : [];
	if (before.trim() === "")
		return [
			...offer("undo", "the files as they were before the last rewind"),
			...points.flatMap((text, i) => offer(String(i + 1), text)),
		];
	const isUndo = /^\s*undo\s/.test(before);
	const has = (flag: string): boolean => before.split(/\s+/).includes(flag);
	const hasWhat = Object.keys(whats).some(has);
	return [
		...(isUndo || hasWhat
			? []
			: [
					...offer("--both", "files and conversation"),
					...offer("--files", "files only"),
					...offer("--conversation", "conversation only, the files stay"),
				]),
		...(isUndo || has("--conversation") || !hasWhat
			? []
			: offer("--path", "only these files or folders")),
		...(has("--dry-run") ? [] : offer("--dry-run", "say what would be done, and do nothing")),
		...(has("--yes") ? [] : offer("--yes", "do not ask")),
	];
}
