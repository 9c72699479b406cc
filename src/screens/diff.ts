/**
 * A text to scroll through: notes first, then how each file differs, coloured as Pi colours its own diffs.
 *
 * A file is read when it comes into view; until then it is one line. Lines are wrapped, so that nothing is out of sight
 * on a narrow screen.
 */
import { renderDiff } from "@earendil-works/pi-coding-agent";
import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { FileChange, FilePatch } from "../core/changes.ts";
import { patchText } from "../core/diff-text.ts";
import { describeError } from "../core/errors.ts";
import type { Span } from "../core/spans.ts";
import { span } from "../core/spans.ts";
import { drawFrame, paint, paintAll, type ScreenEnv } from "./frame.ts";
import { type Command, type Hint, readKey } from "./keys.ts";
import { wheel } from "./list.ts";
import type { Screen } from "./screen.ts";
import { isAfter, lastTop, type Move, movePlace, type Place, placesFrom } from "./scroll.ts";

export interface DiffOptions {
	readonly title: readonly Span[];
	/** Said before the first file. */
	readonly notes: readonly (readonly Span[])[];
	readonly changes: readonly FileChange[];
	patch(change: FileChange): Promise<FilePatch>;
	hints(): readonly Hint[];
	/** A command other than moving; `change` is the file on top of the screen, absent while only notes are there. */
	onCommand(command: Exclude<Command, { kind: "move" }>, change: FileChange | undefined): void;
}

/** Files read at a time; the rest waits until it is seen again. */
const readingMax = 4;

export function createDiff(env: ScreenEnv, options: DiffOptions): Screen {
	const { notes, changes } = options;
	const notesCount = notes.length > 0 ? 1 : 0;
	const patches = new Map<FileChange, FilePatch | string>();
	const reading = new Set<FileChange>();
	/** Drawn lines by section, for one width. */
	let drawn = new Map<number, string[]>();
	let drawnWidth = 0;
	let top: Place = { section: 0, line: 0 };
	/** Files that are read only now may make the end move. */
	let isAtEnd = false;
	let height = 1;

	const text = {
		count: notesCount + changes.length,
		lengthOf: (section: number): number => Math.max(1, linesOf(section).length),
	};

	function linesOf(section: number): readonly string[] {
		const known = drawn.get(section);
		if (known !== undefined) return known;
		const change = changes[section - notesCount];
		const lines =
			change === undefined ? drawNotes() : drawPatch(env, change, patches.get(change), drawnWidth);
		drawn.set(section, lines);
		return lines;
	}

	const drawNotes = (): string[] => [
		...notes.flatMap((note) => wrapTextWithAnsi(paintAll(env.theme, note), drawnWidth)),
		"",
	];

	function read(section: number): void {
		const change = changes[section - notesCount];
		if (change === undefined || patches.has(change) || reading.has(change)) return;
		if (reading.size >= readingMax) return;
		reading.add(change);
		const settle = (patch: FilePatch | string): void => {
			reading.delete(change);
			patches.set(change, patch);
			drawn.delete(section);
			env.tui.requestRender();
		};
		options.patch(change).then(settle, (error: unknown) => settle(describeError(error)));
	}

	function scroll(by: number): void {
		const next = movePlace(top, by, text);
		const lowest = lastTop(text, height);
		top = by > 0 && isAfter(next, lowest) ? (isAfter(top, lowest) ? top : lowest) : next;
	}

	function move(to: Move): void {
		isAtEnd = to === "last";
		if (to === "first") top = { section: 0, line: 0 };
		else if (!isAtEnd) {
			const page = Math.max(1, height - 2);
			scroll({ up: -1, down: 1, pageUp: -page, pageDown: page, last: 0 }[to]);
		}
	}

	function where(): Span[] {
		if (changes.length === 0) return [];
		const at = Math.max(1, top.section + 1 - notesCount);
		const isAll = placesFrom({ section: 0, line: 0 }, height + 1, text).length <= height;
		return [span(isAll ? "" : `file ${at} of ${changes.length}`, "faint")];
	}

	return {
		render(width) {
			if (width !== drawnWidth) drawn = new Map();
			drawnWidth = width;
			return drawFrame(env, width, {
				title: options.title,
				detail: where(),
				hints: options.hints(),
				body(rows) {
					height = rows;
					const lowest = lastTop(text, height);
					if (isAtEnd || isAfter(top, lowest)) top = lowest;
					const places = placesFrom(top, height, text);
					for (const section of new Set(places.map((place) => place.section))) read(section);
					return places.map(({ section, line }) => linesOf(section)[line] ?? "");
				},
			});
		},
		handleInput(data) {
			const command = readKey(data, env.keybindings);
			if (command === undefined) return;
			if (command.kind === "move") move(command.move);
			else options.onCommand(command, changes[top.section - notesCount]);
			env.tui.requestRender();
		},
		handleMouse: (event) =>
			wheel(event, (lines) => {
				isAtEnd = false;
				scroll(lines);
				env.tui.requestRender();
			}),
		invalidate() {
			drawn = new Map();
		},
	};
}

/** An empty line ends each file. */
function drawPatch(
	{ theme }: ScreenEnv,
	change: FileChange,
	patch: FilePatch | string | undefined,
	width: number,
): string[] {
	const { heading, notes, diff } = patchText(change, patch);
	const lines = [
		paintAll(theme, heading),
		...(diff === "" ? [] : renderDiff(diff).split("\n")),
		...notes.map((note) => paint(theme, note)),
	];
	return [...lines.flatMap((line) => wrapTextWithAnsi(line, width)), ""];
}
