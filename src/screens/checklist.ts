/** The checklist of changed paths: folders and files, what becomes of each, and what is picked. */
import type { ChangeMark, FileChange } from "../core/changes.ts";
import { type BytePath, displayPath, bytePathOf, parentPath } from "../core/ids.ts";
import {
	createSelection,
	pickAll,
	pickedChanges,
	pickNone,
	rowAt,
	type SelectionRow,
	toggleRow,
} from "../core/selection.ts";
import { type RowText, type Span, span, type Tone } from "../core/spans.ts";
import type { ScreenEnv } from "./frame.ts";
import { boundKey } from "./keys.ts";
import { createList } from "./list.ts";
import type { Screen } from "./screen.ts";

export interface ChecklistOptions {
	readonly title: string;
	readonly changes: readonly FileChange[];
	/** What enter does: `go on`. */
	readonly does: string;
	/** What becomes of a file, by its mark, after its name: `comes back`. */
	readonly words: Readonly<Record<ChangeMark, string>>;
	/** Absent when it was left. Never empty. */
	close(picked: readonly FileChange[] | undefined): void;
}

export function createChecklist(env: ScreenEnv, options: ChecklistOptions): Screen {
	let selection = createSelection(options.changes);
	let warned = false;

	const title = (): Span[] => [
		span(options.title, "strong"),
		span(`  ${selection.picked.size} of ${selection.changes.length} picked`, "quiet"),
	];
	return createList(env, {
		title,
		count: () => selection.rows.length,
		start: Math.min(1, selection.rows.length - 1),
		row(index) {
			const row = rowAt(selection, index);
			return row === undefined ? { left: [] } : checklistRow(row);
		},
		detail(index) {
			if (warned) return [span("Nothing is picked: space picks, esc leaves", "warning")];
			const row = rowAt(selection, index);
			return row === undefined ? [] : [span(checklistDetail(row, options.words), "quiet")];
		},
		hints: () => [
			{ key: "space", does: "pick" },
			{ key: boundKey(env.keybindings, "tui.select.confirm"), does: options.does },
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "back" },
			{ key: "a/n", does: "all/none" },
			{ key: "↑↓", does: "move" },
			{ key: "PgUp/PgDn g/G", does: "jump" },
		],
		onCommand(command, index) {
			warned = false;
			if (command.kind === "cancel") options.close(undefined);
			else if (command.kind === "confirm") {
				warned = selection.picked.size === 0;
				if (!warned) options.close(pickedChanges(selection));
			} else if (command.char === " ") selection = toggleRow(selection, index);
			else if (command.char === "a") selection = pickAll(selection);
			else if (command.char === "n") selection = pickNone(selection);
		},
	});
}

const markTones = { M: "warning", A: "added", D: "removed", R: "warning" } as const;

/** What stands in one row. */
export function checklistRow(row: SelectionRow): RowText {
	if (row.kind === "folder") {
		const { picked, total, path } = row;
		const box = picked === 0 ? "[ ]" : picked === total ? "[x]" : "[-]";
		const tone: Tone = picked === 0 ? "quiet" : "plain";
		return {
			left: [span(`${box} `, tone), span(path === "" ? "./" : displayPath(path), "strong")],
			right: [[span(`${picked}/${total}`, "quiet")]],
		};
	}
	const { change, mark, isPicked } = row;
	const tone: Tone = isPicked ? "plain" : "quiet";
	return {
		left: [
			span(`  ${isPicked ? "[x]" : "[ ]"} `, tone),
			span(`${mark} `, markTones[mark]),
			span(displayPath(nameOf(change.path)), tone),
			...(change.renamedFrom === undefined
				? []
				: [span(` ← ${displayPath(change.renamedFrom)}`, "quiet")]),
		],
	};
}

function nameOf(path: BytePath): BytePath {
	const parent = parentPath(path);
	return parent === "" ? path : bytePathOf(path.slice(parent.length + 1));
}

/** The whole path, and what would become of it. */
export function checklistDetail(
	row: SelectionRow,
	words: Readonly<Record<ChangeMark, string>>,
): string {
	if (row.kind === "folder") {
		const where = row.path === "" ? "the root" : displayPath(row.path);
		return `All ${row.total} in ${where}`;
	}
	return `${displayPath(row.change.path)} ${words[row.mark]}`;
}
