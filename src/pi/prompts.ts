/** The prompts of a branch with the points around their runs. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { pointKind } from "../core/entries.ts";
import type { SnapshotId } from "../core/ids.ts";
import { type Chain, resolvePoint } from "../core/lineage.ts";
import type { PromptPoints } from "../core/review.ts";

/** Newest first. What was recorded last before the next prompt stands for the end of a run. */
export function* promptsOf(
	branch: readonly SessionEntry[],
	chain: Chain,
): Generator<PromptPoints, void> {
	let after: SnapshotId | undefined;
	for (const entry of branch.toReversed()) {
		const point = resolvePoint(entry, chain)?.snapshot;
		if (pointKind(entry) === "user") {
			yield { entry: entry.id, before: point, after };
			after = undefined;
		} else after ??= point;
	}
}
