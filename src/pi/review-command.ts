/** The command `/review`: in a terminal screens, over RPC dialogs, elsewhere a list. */
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { describeError } from "../core/errors.ts";
import { describeTotal, reviewJson, reviewLine } from "../core/review.ts";
import { byDialogs, onScreens } from "./asking.ts";
import { isPlanMode } from "./plan-mode.ts";
import { markFailed, printRefusal, printText } from "./print.ts";
import { lookForReview, type Reviewed, runReview } from "./review.ts";
import { reviewDialogs, reviewScreens } from "./review-views.ts";
import type { RewindDeps } from "./rewind.ts";

export interface ReviewCommandDeps {
	/** The session of now; absent while none is open. */
	open(): Promise<RewindDeps | undefined>;
}

const json = { value: "--json", label: "--json", description: "print the list for programs" };
const planWords = "plan mode is on and files are only read: leave it first";

export function registerReview(pi: ExtensionAPI, deps: ReviewCommandDeps): void {
	pi.registerCommand("review", {
		description: "Look at what the latest prompt changed, and revert some of it",
		getArgumentCompletions: (typed) => (json.value.startsWith(typed) ? [json] : null),
		async handler(text, ctx) {
			const given = text.trim();
			if (given !== "" && given !== json.value)
				return await printRefusal(ctx, `/review: unknown: ${given}. Usage: /review [--json]`);
			const review = await deps.open();
			if (review === undefined)
				return await printRefusal(ctx, "/review: rewind is not at work in this session");
			const busy = review.whyBusy(ctx) ?? (isPlanMode(pi) ? planWords : undefined);
			if (busy !== undefined)
				return await printRefusal(ctx, `/review: ${busy}. Nothing was changed.`);
			try {
				if (given !== "" || !ctx.hasUI) await printReview(review, ctx, given !== "");
				else if (ctx.mode === "tui")
					await runReview(review, ctx, reviewScreens(ctx.ui), onScreens(ctx));
				else await runReview(review, ctx, reviewDialogs(ctx.ui), byDialogs(ctx));
			} catch (error) {
				markFailed(ctx);
				review.notify(ctx, `/review: ${describeError(error)}`, "error");
			}
		},
	});
}

async function printReview(
	deps: RewindDeps,
	ctx: ExtensionCommandContext,
	isJson: boolean,
): Promise<void> {
	const reviewed = await lookForReview(deps, ctx, new AbortController().signal);
	if (typeof reviewed === "string") await printRefusal(ctx, `/review: ${reviewed}`);
	else await printText(ctx, isJson ? await jsonOf(reviewed) : await listOf(reviewed));
}

async function jsonOf({ review, prompt, shown }: Reviewed): Promise<string> {
	const about = { prompt: prompt.id, text: prompt.text, point: review.target.id };
	return JSON.stringify(reviewJson(shown.rows, await shown.lines, about));
}

async function listOf({ shown }: Reviewed): Promise<string> {
	const lines = await shown.lines;
	return [
		`${shown.title} · ${describeTotal(shown.rows, lines)}`,
		...shown.notes,
		...shown.rows.map((row) => reviewLine(row, lines.get(row.change.path))),
	].join("\n");
}
