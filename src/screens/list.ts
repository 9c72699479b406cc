/** A list to scroll through, of any length: rows are asked for when they are seen. */
import type { TuiMouseEvent, TuiMouseEventResult } from "@earendil-works/pi-tui";
import type { RowText, Span } from "../core/spans.ts";
import { span } from "../core/spans.ts";
import { drawFrame, drawRow, type ScreenEnv } from "./frame.ts";
import { type Command, type Hint, readKey } from "./keys.ts";
import type { Screen } from "./screen.ts";
import { keepInView, moveCursor, type Scroll } from "./scroll.ts";

export interface ListOptions {
	title(): readonly Span[];
	/** For a list of few rows and a long title: how many rows it needs. */
	readonly rowsNeeded?: number;
	count(): number;
	/** What stands in a row that is seen now. */
	row(index: number): RowText;
	/** What is said of the marked row below the list. */
	detail(index: number): readonly Span[];
	hints(): readonly Hint[];
	/** A command on the marked row, moving apart. */
	onCommand(command: Exclude<Command, { kind: "move" }>, index: number): void;
	/** The row that is marked at first. */
	readonly start?: number;
	/** Told which rows are seen, the marked one first, whenever that changes. */
	onSeen?(rows: readonly number[]): void;
	dispose?(): void;
}

const marked = span("→ ", "point");
const unmarked = span("  ");

export function createList(env: ScreenEnv, options: ListOptions): Screen {
	let scroll: Scroll = { cursor: options.start ?? 0, top: 0 };
	let height = 1;
	let seen = "";

	function tellSeen(rows: readonly number[]): void {
		const key = `${scroll.cursor} ${rows[0]} ${rows.length}`;
		if (key === seen) return;
		seen = key;
		options.onSeen?.([scroll.cursor, ...rows.filter((row) => row !== scroll.cursor)]);
	}

	return {
		render: (width) =>
			drawFrame(env, width, {
				title: options.title(),
				...(options.rowsNeeded === undefined
					? {}
					: { titleRows: Math.max(1, env.tui.terminal.rows - options.rowsNeeded - 3) }),
				detail: options.count() === 0 ? [] : options.detail(scroll.cursor),
				hints: options.hints(),
				body(rows) {
					height = rows;
					scroll = keepInView(scroll, options.count(), height);
					const length = Math.max(0, Math.min(height, options.count() - scroll.top));
					const shown = Array.from({ length }, (_, i) => scroll.top + i);
					tellSeen(shown);
					return shown.map((index) => {
						const { left, right } = options.row(index);
						const mark = index === scroll.cursor ? marked : unmarked;
						const row = { left: [mark, ...left], ...(right === undefined ? {} : { right }) };
						const line = drawRow(env.theme, row, width);
						return index === scroll.cursor ? env.theme.bold(line) : line;
					});
				},
			}),
		handleInput(data) {
			const command = readKey(data, env.keybindings);
			if (command === undefined) return;
			if (command.kind === "move")
				scroll = moveCursor(scroll, command.move, options.count(), height);
			else options.onCommand(command, scroll.cursor);
			env.tui.requestRender();
		},
		handleMouse: (event) =>
			wheel(event, (lines) => {
				const cursor = scroll.cursor + lines;
				scroll = keepInView({ ...scroll, cursor }, options.count(), height);
				env.tui.requestRender();
			}),
		invalidate() {},
		dispose: () => options.dispose?.(),
	};
}

/** Pi sends the wheel in its fullscreen mode only; elsewhere the terminal keeps it. */
export function wheel(
	event: TuiMouseEvent,
	scrollBy: (lines: number) => void,
): TuiMouseEventResult | undefined {
	if (event.type !== "wheel" || event.wheelDelta === undefined) return undefined;
	scrollBy(event.wheelDelta);
	return { handled: true };
}
