/**
 * The chip in Pi's footer: how many points, what is not covered, or why there are none. Quiet on success. [R12]
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Settings } from "../core/settings.ts";

const statusKey = "rewind";

export interface ChipFacts {
	/** Entries of the session that have a point. */
	readonly points: number;
	readonly notCovered: number;
	/** Why no points are taken, in a few words; absent when they are. */
	readonly off?: string;
	/** The last boundary has no point. */
	readonly failing: boolean;
}

export function chipText({ points, notCovered, off, failing }: ChipFacts): string {
	if (off !== undefined) return `◇ no points: ${off}`;
	const count = `◆ ${points} ${points === 1 ? "point" : "points"}`;
	const gaps = notCovered > 0 ? ` · ${notCovered} not covered` : "";
	return `${count}${gaps}${failing ? " · last one failed" : ""}`;
}

export function showChip(ctx: ExtensionContext, settings: Settings, facts: ChipFacts): void {
	if (!ctx.hasUI) return;
	const hidden = !settings.showStatus || (settings.silentCheckpoints && !facts.failing);
	ctx.ui.setStatus(statusKey, hidden ? undefined : chipText(facts));
}
