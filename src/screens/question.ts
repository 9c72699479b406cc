/** A question with a few answers, the safe one first. */
import { sliceByColumn, visibleWidth } from "@earendil-works/pi-tui";
import { span } from "../core/spans.ts";
import type { ScreenEnv } from "./frame.ts";
import { boundKey } from "./keys.ts";
import { createList } from "./list.ts";
import type { Screen } from "./screen.ts";

const markWidth = 2;

export interface QuestionOptions<T> {
	/** The first line is the question; what follows should be known before it is answered. */
	readonly title: string;
	readonly answers: readonly { readonly label: string; readonly value: T }[];
	/** Absent when it was left. */
	close(answer: T | undefined): void;
}

export function createQuestion<T>(env: ScreenEnv, options: QuestionOptions<T>): Screen {
	const { answers } = options;
	const [question = "", ...known] = options.title.split("\n");
	return createList(env, {
		title: () => [
			span(question, "strong"),
			...known.flatMap((line) => [span("\n"), span(line, "warning")]),
		],
		rowsNeeded: answers.length,
		count: () => answers.length,
		row: (index) => ({ left: [span(answers[index]?.label ?? "")] }),
		// Where the marked answer is cut off, its end is said here: numbers stand there.
		detail(index) {
			const label = answers[index]?.label ?? "";
			const room = env.tui.terminal.columns - markWidth;
			if (visibleWidth(label) <= room) return [];
			// From a whole word on: half a number would be another number.
			const cut = sliceByColumn(label, 0, room - 1).lastIndexOf(" ") + 1;
			return [span(`…${label.slice(cut)}`, "quiet")];
		},
		hints: () => [
			{ key: boundKey(env.keybindings, "tui.select.confirm"), does: "choose" },
			{ key: boundKey(env.keybindings, "tui.select.cancel"), does: "back" },
			{ key: "↑↓", does: "move" },
		],
		onCommand(command, index) {
			if (command.kind === "confirm") options.close(answers[index]?.value);
			else if (command.kind === "cancel") options.close(undefined);
		},
	});
}
