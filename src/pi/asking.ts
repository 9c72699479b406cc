/**
 * The same steps asked in two ways: on screens of ours in a terminal, by Pi's dialogs over RPC.
 *
 * Each gives the answer, or nothing when the person left it. What is asked, and in which words, is said elsewhere.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { FileChange, FilePatch } from "../core/changes.ts";
import { displayPath } from "../core/ids.ts";
import { backWords, type Proposal } from "../core/rewind.ts";
import {
	createSelection,
	pickAll,
	pickedChanges,
	pickNone,
	rowAt,
	type Selection,
	toggleRow,
} from "../core/selection.ts";
import { type RowText, span } from "../core/spans.ts";
import { markOf } from "../core/changes.ts";
import { checklistRow, createChecklist } from "../screens/checklist.ts";
import { createDiff } from "../screens/diff.ts";
import { boundKey } from "../screens/keys.ts";
import { createQuestion } from "../screens/question.ts";
import { showScreen } from "../screens/screen.ts";

export interface Answer<T> {
	readonly label: string;
	readonly value: T;
}

export interface Asking {
	/** One of a few. The safe answer first; labels differ. */
	choose<T>(title: string, answers: readonly Answer<T>[]): Promise<T | undefined>;
	/** Some of the changes, at least one. */
	pick(title: string, changes: readonly FileChange[]): Promise<readonly FileChange[] | undefined>;
	/** A last look at what would be done. */
	confirm(proposal: Proposal, patch: (change: FileChange) => Promise<FilePatch>): Promise<boolean>;
}

/** In a terminal. */
export const onScreens = ({ ui }: ExtensionContext): Asking => ({
	choose: (title, answers) =>
		showScreen(ui, title, (env, close) => createQuestion(env, { title, answers, close })),
	pick: (title, changes) =>
		showScreen<readonly FileChange[]>(ui, title, (env, close) =>
			createChecklist(env, { title, changes, does: "go on", words: backWords, close }),
		),
	async confirm({ title, notes, changes }, patch) {
		const answer = await showScreen<boolean>(ui, title, (env, close) =>
			createDiff(env, {
				title: [span(title, "strong")],
				notes: notes.map((note) => [span(note, "warning")]),
				changes,
				patch,
				hints: () => [
					{ key: boundKey(env.keybindings, "tui.select.confirm"), does: "go back" },
					{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "cancel" },
					{ key: "↑↓", does: "scroll" },
					{ key: "PgUp/PgDn", does: "page" },
					{ key: "g/G", does: "top/end" },
				],
				onCommand(command) {
					if (command.kind !== "char") close(command.kind === "confirm");
				},
			}),
		);
		return answer === true;
	},
});

/** Paths in one dialog; a client draws them all at once. */
const pathsAtOnce = 50;
/** Names in a confirmation. */
const namesMax = 20;

/** By dialogs of Pi. */
export const byDialogs = ({ ui }: ExtensionContext): Asking => ({
	async choose(title, answers) {
		const labels = answers.map(({ label }) => label);
		const picked = await ui.select(title, labels);
		return answers.find(({ label }) => label === picked)?.value;
	},
	pick: (title, changes) => pickByDialogs(ui, title, changes),
	async confirm({ title, notes, changes }) {
		const names = changes.slice(0, namesMax).map((change) => `${markOf(change)} ${nameOf(change)}`);
		const more = changes.length > namesMax ? [`… and ${changes.length - namesMax} more`] : [];
		return await ui.confirm(title, [...notes, ...names, ...more].join("\n"));
	},
});

const nameOf = ({ path, renamedFrom }: FileChange): string =>
	renamedFrom === undefined
		? displayPath(path)
		: `${displayPath(renamedFrom)} → ${displayPath(path)}`;

const textOf = ({ left }: RowText): string => left.map(({ text }) => text).join("");

/** One dialog after another, each turning one row over, until the person is content. */
async function pickByDialogs(
	ui: ExtensionContext["ui"],
	title: string,
	changes: readonly FileChange[],
): Promise<readonly FileChange[] | undefined> {
	let selection = createSelection(changes);
	let from = 0;
	for (;;) {
		const shown = shownRows(selection, from);
		const size = selection.picked.size;
		const done = `Go on with ${size} of ${changes.length}`;
		const further = from + pathsAtOnce < selection.rows.length ? ["More …"] : [];
		const earlier = from > 0 ? ["… Earlier"] : [];
		const picked = await ui.select(title, [
			...(size > 0 ? [done] : []),
			...earlier,
			...shown.map(({ label }) => label),
			...further,
			"Pick all",
			"Pick none",
			"Cancel",
		]);
		const row = shown.find(({ label }) => label === picked)?.row;
		if (row !== undefined) selection = toggleRow(selection, row);
		else if (picked === "More …") from += pathsAtOnce;
		else if (picked === "… Earlier") from -= pathsAtOnce;
		else if (picked === "Pick all") selection = pickAll(selection);
		else if (picked === "Pick none") selection = pickNone(selection);
		else return picked === done ? pickedChanges(selection) : undefined;
	}
}

/** Folders by their whole path, files by theirs: each label stands once. */
function shownRows(selection: Selection, from: number): { row: number; label: string }[] {
	return selection.rows.slice(from, from + pathsAtOnce).flatMap((_, i) => {
		const row = rowAt(selection, from + i);
		if (row === undefined) return [];
		const label =
			row.kind === "folder"
				? textOf(checklistRow(row))
				: `${row.isPicked ? "[x]" : "[ ]"} ${row.mark} ${nameOf(row.change)}`;
		return [{ row: from + i, label }];
	});
}
