/**
 * `/review` on a terminal, and by Pi's own dialogs where there is none to draw on: the same choices, there one question
 * at a time.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { patchText } from "../core/diff-text.ts";
import { hunkDetail, hunkLines } from "../core/hunk-list.ts";
import {
	describePath,
	describeTotal,
	type ReviewAnswer,
	reviewLine,
	type ReviewPlace,
	reviewTags,
} from "../core/review.ts";
import { span } from "../core/spans.ts";
import { createFileDiff, createHunkList, createReviewList } from "../screens/review.ts";
import { showScreen } from "../screens/screen.ts";
import type { ReviewView, Shown } from "./review.ts";

type Ui = ExtensionContext["ui"];

export function reviewScreens(ui: Ui): ReviewView {
	return {
		list: (shown, place, said) =>
			showScreen<ReviewAnswer>(ui, shown.title, (env, close) =>
				createReviewList(env, {
					title: shown.title,
					notes: shown.notes.map((note) => span(`  ${note}`, "warning")),
					rows: shown.rows,
					lines: shown.lines,
					place,
					...(said === undefined ? {} : { said }),
					close,
				}),
			),
		file: (row, { title }, patch, hunks) =>
			showScreen<"revert" | "hunks">(ui, describePath(row.change), (env, close) =>
				createFileDiff(env, {
					title,
					notes: reviewTags(row).map((tag) => span(`  ${tag}`, "quiet")),
					change: row.change,
					patch,
					hunks,
					close,
				}),
			),
		hunks: (row, hunks) =>
			showScreen<ReadonlySet<number>>(ui, describePath(row.change), (env, close) =>
				createHunkList(env, { change: row.change, hunks, close }),
			),
	};
}

/** Lines of a diff that a dialog shows. */
const dialogLinesMax = 200;

export function reviewDialogs(ui: Ui): ReviewView {
	return {
		list: (shown, place) => askWhat(ui, shown, place),
		async file({ change }, _shown, patch, hunks) {
			const { notes, diff } = patchText(change, patch);
			const lines = [...(diff === "" ? [] : diff.split("\n")), ...notes.map(({ text }) => text)];
			const more = lines.length - dialogLinesMax;
			const shown = [
				describePath(change),
				...lines.slice(0, dialogLinesMax),
				...(more > 0 ? [`… ${more} more lines`] : []),
			];
			const labels = [
				"Back",
				"Revert this file",
				...(hunks === 0 ? [] : ["Choose hunks to revert"]),
			];
			const answer = labels.indexOf((await ui.select(shown.join("\n"), labels)) ?? "");
			return [undefined, "revert" as const, "hunks" as const][answer];
		},
		hunks: (row, hunks) => {
			const labels = hunks.map((_, hunk) => hunkDetail(hunks, hunk));
			const title = [`Hunks of ${describePath(row.change)}`, ...hunkLines(hunks)];
			return pick(ui, title.slice(0, dialogLinesMax).join("\n"), labels);
		},
	};
}

/** The files, each of them one option, and what else there is. */
async function askWhat(
	ui: Ui,
	{ title, notes, rows, lines }: Shown,
	place: ReviewPlace,
): Promise<ReviewAnswer | undefined> {
	const counts = await lines;
	const labels = rows.map((row) => reviewLine(row, counts.get(row.change.path)));
	const [some, all, close] = ["Pick files to revert", "Revert everything", "Close"];
	const heading = [`${title} · ${describeTotal(rows, counts)}`, ...notes].join("\n");
	const more = [...(rows.length > 1 ? [some] : []), all, close];
	for (;;) {
		const answer = await askInPages(ui, heading, labels, more);
		if (answer === undefined || answer === close) return undefined;
		if (answer === all) return { kind: "revert", rows: [...rows.keys()], place };
		if (typeof answer === "number") return { kind: "open", row: answer, place };
		const picked = await pick(ui, heading, labels);
		if (picked !== undefined) return { kind: "revert", rows: [...picked], place };
	}
}

/** A checklist, one dialog for each turn; absent when it was left. Never empty. */
async function pick(
	ui: Ui,
	title: string,
	labels: readonly string[],
): Promise<ReadonlySet<number> | undefined> {
	const picked = new Set<number>();
	for (let start = 0; ;) {
		const boxes = labels.map((label, i) => `${picked.has(i) ? "[x]" : "[ ]"} ${label}`);
		const revert = `Revert the picked (${picked.size})`;
		const more = [...(picked.size === 0 ? [] : [revert]), "Pick all", "Pick none", "Back"];
		const answer = await askInPages(ui, title, boxes, more, start);
		if (answer === undefined || answer === "Back") return undefined;
		if (answer === revert) return new Set([...picked].toSorted((a, b) => a - b));
		if (answer === "Pick all") for (const each of labels.keys()) picked.add(each);
		else if (typeof answer === "number") {
			start = answer;
			if (!picked.delete(answer)) picked.add(answer);
		} else picked.clear();
	}
}

/** Rows in one dialog; a client draws them all at once. */
const rowsAtOnce = 50;

/** The place of a row, or one of the other options; `start` is a row of the page that comes first. */
async function askInPages(
	ui: Ui,
	title: string,
	rows: readonly string[],
	others: readonly string[],
	start = 0,
): Promise<number | string | undefined> {
	for (let from = start - (start % rowsAtOnce); ;) {
		const page = rows.slice(from, from + rowsAtOnce);
		const further = from + rowsAtOnce < rows.length ? ["More …"] : [];
		const earlier = from > 0 ? ["… Earlier"] : [];
		const answer = await ui.select(title, [...earlier, ...page, ...further, ...others]);
		const index = answer === undefined ? -1 : page.indexOf(answer);
		if (index !== -1) return from + index;
		if (answer === "More …") from += rowsAtOnce;
		else if (answer === "… Earlier") from -= rowsAtOnce;
		else return answer;
	}
}
