/** A question with a few answers, the safe one first. */
import { visibleWidth } from "@earendil-works/pi-tui";
import { span } from "../core/spans.ts";
import type { ScreenEnv } from "./frame.ts";
import { boundKey } from "./keys.ts";
import { createList } from "./list.ts";
import type { Screen } from "./screen.ts";

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
		// Where it is cut off, the marked answer is said in full.
		detail(index) {
			const label = answers[index]?.label ?? "";
			return visibleWidth(label) + 2 > env.tui.terminal.columns ? [span(label, "quiet")] : [];
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
