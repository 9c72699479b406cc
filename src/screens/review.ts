/** The screens of `/review`: the files that changed, how one of them did, and its hunks. */
import type { FileChange, FilePatch } from "../core/changes.ts";
import { hunkDetail, hunkRows, hunkRowText } from "../core/hunk-list.ts";
import type { Hunk } from "../core/hunks.ts";
import {
	describePath,
	describeTotal,
	type LineCountsByPath,
	type ReviewAnswer,
	reviewDetail,
	type ReviewPlace,
	type ReviewRow,
	reviewRowText,
} from "../core/review.ts";
import { type Span, span } from "../core/spans.ts";
import { createDiff } from "./diff.ts";
import { type ScreenEnv, together } from "./frame.ts";
import { boundKey, type Hint } from "./keys.ts";
import { createList } from "./list.ts";
import type { Screen } from "./screen.ts";

export interface ReviewListOptions {
	readonly title: string;
	readonly notes: readonly Span[];
	readonly rows: readonly ReviewRow[];
	/** Counted in the background; must not fail. */
	readonly lines: Promise<LineCountsByPath>;
	readonly place: ReviewPlace;
	/** What was told a moment ago; shown until the person does something. */
	readonly said?: string;
	/** Absent when it was left. */
	close(answer: ReviewAnswer | undefined): void;
}

export function createReviewList(env: ScreenEnv, options: ReviewListOptions): Screen {
	const { rows } = options;
	const picked = new Set(options.place.picked);
	// There can be fewer rows than there were.
	const start = Math.min(options.place.cursor, rows.length - 1);
	let { said } = options;
	let lines: LineCountsByPath | undefined;
	let total = describeTotal(rows);
	void options.lines.then((counted) => {
		lines = counted;
		total = describeTotal(rows, counted);
		env.tui.requestRender();
	});

	const revert = (some: readonly number[], cursor: number): void =>
		options.close({ kind: "revert", rows: some, place: { cursor, picked } });
	const pickedOr = (index: number): number[] =>
		picked.size === 0 ? [index] : [...picked].toSorted((a, b) => a - b);
	const pickText = (): string => (picked.size === 0 ? "" : `  ${picked.size} picked`);

	return createList(env, {
		title: () => [
			span(options.title, "strong"),
			span(`  ${together(total)}${pickText()}`, "quiet"),
			...options.notes,
		],
		count: () => rows.length,
		start,
		row(index) {
			const row = rows[index];
			if (row === undefined) return { left: [] };
			return reviewRowText(row, picked.has(index), lines?.get(row.change.path));
		},
		detail(index) {
			if (index !== start) said = undefined;
			if (said !== undefined) return [span(said, "warning")];
			const row = rows[index];
			return row === undefined ? [] : reviewDetail(row);
		},
		hints: () => [
			{ key: boundKey(env.keybindings, "tui.select.confirm"), does: "diff" },
			{ key: "space", does: "pick" },
			{ key: "r", does: picked.size === 0 ? "revert" : "revert picked" },
			{ key: "R", does: "revert all" },
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "close" },
			{ key: "a/n", does: "all/none" },
			...moving,
		],
		onCommand(command, index) {
			said = undefined;
			if (command.kind === "cancel") options.close(undefined);
			else if (command.kind === "confirm")
				options.close({ kind: "open", row: index, place: { cursor: index, picked } });
			else if (command.char === " ") toggle(picked, index);
			else if (command.char === "a") for (const each of rows.keys()) picked.add(each);
			else if (command.char === "n") picked.clear();
			else if (command.char === "r") revert(pickedOr(index), index);
			else if (command.char === "R") revert([...rows.keys()], index);
		},
	});
}

const moving: readonly Hint[] = [
	{ key: "↑↓", does: "move" },
	{ key: "PgUp/PgDn g/G", does: "jump" },
];

function toggle(picked: Set<number>, index: number): void {
	if (!picked.delete(index)) picked.add(index);
}

export interface FileDiffOptions {
	readonly title: string;
	readonly notes: readonly Span[];
	readonly change: FileChange;
	readonly patch: FilePatch;
	/** How many hunks may be chosen from; 0 when the file goes back whole or not at all. */
	readonly hunks: number;
	/** Absent when it was left. */
	close(answer: "revert" | "hunks" | undefined): void;
}

export function createFileDiff(env: ScreenEnv, options: FileDiffOptions): Screen {
	const { title, notes, change, patch, hunks } = options;
	return createDiff(env, {
		title: [span(title, "strong"), ...notes],
		notes: [],
		changes: [change],
		patch: () => Promise.resolve(patch),
		hints: () => [
			{ key: "r", does: "revert" },
			...(hunks === 0 ? [] : [{ key: "h", does: "choose hunks" }]),
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "back" },
			...moving,
		],
		onCommand(command) {
			if (command.kind === "cancel") options.close(undefined);
			else if (command.kind === "char" && command.char === "r") options.close("revert");
			else if (command.kind === "char" && command.char === "h" && hunks > 0) options.close("hunks");
		},
	});
}

export interface HunkListOptions {
	readonly change: FileChange;
	readonly hunks: readonly Hunk[];
	/** Absent when it was left. Never empty. */
	close(picked: ReadonlySet<number> | undefined): void;
}

export function createHunkList(env: ScreenEnv, { change, hunks, close }: HunkListOptions): Screen {
	const rows = hunkRows(hunks);
	const picked = new Set<number>();
	let warned = false;

	return createList(env, {
		title: () => [
			span(`Hunks of ${describePath(change)}`, "strong"),
			span(`  ${picked.size} of ${hunks.length} picked`, "quiet"),
		],
		count: () => rows.length,
		row(index) {
			const row = rows[index];
			return row === undefined ? { left: [] } : hunkRowText(hunks, row, picked.has(row.hunk));
		},
		detail(index) {
			if (warned) return [span("Nothing is picked: space picks, esc leaves", "warning")];
			return [span(hunkDetail(hunks, rows[index]?.hunk ?? 0), "quiet")];
		},
		hints: () => [
			{ key: "space", does: "pick" },
			{ key: boundKey(env.keybindings, "tui.select.confirm"), does: "revert picked" },
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "back" },
			{ key: "a/n", does: "all/none" },
			...moving,
		],
		onCommand(command, index) {
			warned = false;
			if (command.kind === "cancel") close(undefined);
			else if (command.kind === "confirm") {
				warned = picked.size === 0;
				if (!warned) close(picked);
			} else if (command.char === " ") toggle(picked, rows[index]?.hunk ?? 0);
			else if (command.char === "a") for (const each of hunks.keys()) picked.add(each);
			else if (command.char === "n") picked.clear();
		},
	});
}
