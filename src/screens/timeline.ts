/** The timeline of `/rewind`: now and undo on top, then the prompts, newest first. */
import { type Span, span, type RowText } from "../core/spans.ts";
import {
	type NowFacts,
	nowDetail,
	nowRow,
	type PointFacts,
	type Prompt,
	promptDetail,
	promptRow,
	undoDetail,
	type UndoFacts,
	undoRow,
} from "../core/timeline.ts";
import type { ScreenEnv } from "./frame.ts";
import { boundKey } from "./keys.ts";
import { createList } from "./list.ts";
import type { Screen } from "./screen.ts";

export type TimelineRow =
	| { readonly kind: "now" }
	| { readonly kind: "undo" }
	| { readonly kind: "prompt"; readonly prompt: Prompt };

export interface TimelineOptions {
	/** Newest first. */
	readonly prompts: readonly Prompt[];
	readonly hasUndo: boolean;
	facts(prompt: Prompt): PointFacts | undefined;
	now(): NowFacts;
	undo(): UndoFacts | undefined;
	/** Told of the prompts that are seen, the marked one first. */
	onSeen(prompts: readonly Prompt[]): void;
	/** Milliseconds since the epoch. */
	clock(): number;
	/** The row that is marked at first; the newest prompt when absent. */
	readonly start?: TimelineRow;
	/** Absent when it was left. */
	close(row: TimelineRow | undefined): void;
}

export function createTimelineScreen(env: ScreenEnv, options: TimelineOptions): Screen {
	const { prompts, hasUndo } = options;
	const before: TimelineRow[] = hasUndo ? [{ kind: "now" }, { kind: "undo" }] : [{ kind: "now" }];
	const count = before.length + prompts.length;

	function rowOf(index: number): TimelineRow | undefined {
		const prompt = prompts[index - before.length];
		return before[index] ?? (prompt === undefined ? undefined : { kind: "prompt", prompt });
	}

	function indexOf(row: TimelineRow): number {
		if (row.kind === "prompt") {
			const at = prompts.findIndex(({ id }) => id === row.prompt.id);
			return at === -1 ? 0 : before.length + at;
		}
		return before.findIndex(({ kind }) => kind === row.kind);
	}

	function drawn(row: TimelineRow | undefined): RowText {
		switch (row?.kind) {
			case undefined:
				return { left: [] };
			case "now":
				return nowRow(options.now());
			case "undo":
				return undoRow(options.undo());
			case "prompt":
				return promptRow(row.prompt, options.facts(row.prompt), options.clock());
		}
	}

	function detail(row: TimelineRow | undefined): Span[] {
		switch (row?.kind) {
			case undefined:
				return [];
			case "now":
				return nowDetail(options.now());
			case "undo":
				return undoDetail(options.undo());
			case "prompt":
				return promptDetail(row.prompt, options.facts(row.prompt));
		}
	}

	return createList(env, {
		title: () => [
			span("Rewind", "strong"),
			span(prompts.length === 0 ? "  no prompts yet" : "  to before which prompt?", "quiet"),
		],
		count: () => count,
		start:
			options.start === undefined ? Math.min(before.length, count - 1) : indexOf(options.start),
		row: (index) => drawn(rowOf(index)),
		detail: (index) => detail(rowOf(index)),
		onSeen: (rows) =>
			options.onSeen(
				rows.flatMap((index) => {
					const row = rowOf(index);
					return row?.kind === "prompt" ? [row.prompt] : [];
				}),
			),
		hints: () => [
			{ key: boundKey(env.keybindings, "tui.select.confirm"), does: "choose" },
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "close" },
			{ key: "↑↓", does: "move" },
			{ key: "PgUp/PgDn", does: "page" },
			{ key: "g/G", does: "top/end" },
		],
		onCommand(command, index) {
			if (command.kind === "confirm") options.close(rowOf(index));
			else if (command.kind === "cancel") options.close(undefined);
		},
	});
}
