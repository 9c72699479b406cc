/** A screen of ours without a terminal: keys in, lines of text out. Colours are left away. */
import { KeybindingsManager, TUI_KEYBINDINGS } from "@earendil-works/pi-tui";
import { stripTerminalSequences, visibleWidth } from "@earendil-works/pi-tui";
import type { ScreenEnv } from "../../src/screens/frame.ts";
import type { Screen } from "../../src/screens/screen.ts";

/** Names of keys that tests press, beside single characters. */
const keys: Readonly<Record<string, string>> = {
	up: "\x1b[A",
	down: "\x1b[B",
	pageUp: "\x1b[5~",
	pageDown: "\x1b[6~",
	home: "\x1b[H",
	end: "\x1b[F",
	enter: "\r",
	escape: "\x1b",
	space: " ",
};

export interface OpenScreen {
	/** The lines, without trailing blanks; fails when one is wider than the terminal, or there are too many. */
	lines(): string[];
	press(...names: readonly string[]): void;
	wheel(lines: number): void;
	resize(columns: number, rows: number): void;
}

export interface ScreenSize {
	readonly columns: number;
	readonly rows: number;
}

/** Opens a screen; `bindings` are the person's own keys. */
export function openScreen(
	create: (env: ScreenEnv) => Screen,
	size: ScreenSize = { columns: 80, rows: 24 },
	bindings: ConstructorParameters<typeof KeybindingsManager>[1] = {},
): OpenScreen {
	let { columns, rows } = size;
	const env: ScreenEnv = {
		tui: {
			requestRender() {},
			terminal: {
				get rows() {
					return rows;
				},
				get columns() {
					return columns;
				},
			},
		},
		theme: { fg: (_colour, text) => text, bold: (text) => text },
		keybindings: new KeybindingsManager(TUI_KEYBINDINGS, bindings),
	};
	const screen = create(env);
	const draw = (): string[] => {
		const lines = screen.render(columns).map(stripTerminalSequences);
		if (lines.length !== rows) throw new Error(`${lines.length} lines on ${rows} rows`);
		for (const line of lines)
			if (visibleWidth(line) !== columns || /[\p{Cc}]/u.test(line))
				throw new Error(`not a line of ${columns} columns: ${JSON.stringify(line)}`);
		return lines.map((line) => line.trimEnd());
	};
	draw();
	return {
		lines: draw,
		press(...names) {
			for (const name of names) {
				screen.handleInput?.(keys[name] ?? name);
				draw();
			}
		},
		wheel(lines) {
			const nothing = { x: 0, y: 0, screenX: 0, screenY: 0, width: columns, height: rows };
			screen.handleMouse?.({
				...nothing,
				type: "wheel",
				button: "none",
				shift: false,
				alt: false,
				ctrl: false,
				wheelDelta: lines,
			});
		},
		resize(toColumns, toRows) {
			columns = toColumns;
			rows = toRows;
		},
	};
}
