/** The command `/review`: on a terminal, by dialogs, or as a list where nobody can be asked. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { describeError } from "../core/errors.ts";
import { describeTotal, reviewJson, reviewLine } from "../core/review.ts";
import { isPlanMode } from "./plan-mode.ts";
import { printText } from "./print.ts";
import { lookForReview, type ReviewDeps, type Reviewed, runReview } from "./review.ts";
import { reviewDialogs, reviewScreens } from "./review-views.ts";

const option = { value: "--json", label: "--json", description: "print the list for programs" };

/** `open` gives what the session that runs now has; absent where another copy of the extension is at work. */
export function registerReview(
	pi: ExtensionAPI,
	open: () => Omit<ReviewDeps, "isPlanMode"> | undefined,
): void {
	pi.registerCommand("review", {
		description: "Look at what the latest prompt changed, and revert some of it",
		getArgumentCompletions: (prefix) => (option.value.startsWith(prefix) ? [option] : null),
		async handler(args, ctx) {
			const opened = open();
			if (opened === undefined) return;
			const deps: ReviewDeps = { ...opened, isPlanMode: () => isPlanMode(pi) };
			const given = args.trim();
			if (given !== "" && given !== option.value)
				return deps.notify(
					ctx,
					`/review takes ${option.value} or nothing, not ${given}`,
					"warning",
				);
			const isJson = given !== "" || ctx.mode === "json";
			if (isJson || !ctx.hasUI) return await printReview(deps, ctx, isJson);
			const view = ctx.mode === "tui" ? reviewScreens(ctx.ui) : reviewDialogs(ctx.ui);
			await runReview(deps, ctx, view);
		},
	});
}

async function printReview(
	deps: ReviewDeps,
	ctx: ExtensionCommandContext,
	isJson: boolean,
): Promise<void> {
	try {
		const reviewed = await lookForReview(deps, ctx, new AbortController().signal);
		if (typeof reviewed === "string") return deps.notify(ctx, reviewed, "warning");
		const text = isJson ? await jsonOf(reviewed) : await textOf(reviewed);
		await printText(ctx, text);
	} catch (error) {
		deps.notify(ctx, describeError(error), "error");
	}
}

async function jsonOf({ review, entry, text, shown }: Reviewed): Promise<string> {
	const about = { prompt: entry.id, text, point: review.target.id };
	return JSON.stringify({
		type: "rewind-review",
		...reviewJson(shown.rows, await shown.lines, about),
	});
}

async function textOf({ shown }: Reviewed): Promise<string> {
	const lines = await shown.lines;
	return [
		`${shown.title} · ${describeTotal(shown.rows, lines)}`,
		...shown.notes,
		...shown.rows.map((row) => reviewLine(row, lines.get(row.change.path))),
	].join("\n");
}
