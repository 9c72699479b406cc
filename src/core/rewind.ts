/**
 * What `/rewind` proposes before it does anything: which paths, with which words.
 *
 * Invariant: [R15] names and numbers come from the plan that would be done; a comparison for people only orders and
 * pairs them.
 */
import type { ChangeMark, FileChange } from "./changes.ts";
import { describeCounts, type RestoreOffer, warningsByHandFirst } from "./choices.ts";
import type { BytePath } from "./ids.ts";
import { isWithin } from "./ids.ts";
import type { Plan } from "./plan.ts";
import { changesWithin } from "./selection.ts";

/** What would be done, for a last look. */
export interface Proposal {
	readonly title: string;
	/** What a person should know before; what they changed by hand comes first. */
	readonly notes: readonly string[];
	/** Exactly what the plan would do, what was changed by hand first. */
	readonly changes: readonly FileChange[];
}

/** What becomes of a file that goes back, after its name. */
export const backWords = {
	M: "changes back",
	A: "comes back",
	D: "goes: it was not there then",
	R: "gets its old name back",
} as const satisfies Record<ChangeMark, string>;

/** The changes that a plan would make. `compared` goes from the files now to the target. */
export function plannedChanges(compared: readonly FileChange[], plan: Plan): FileChange[] {
	return changesWithin(compared, new Set(plan.steps.map(({ path }) => path)));
}

/** The offer for some of the paths that it is about: `part` is the plan for those alone. */
export function partOfOffer(offer: RestoreOffer, part: Plan): RestoreOffer {
	const planned = new Set(part.steps.map(({ path }) => path));
	return {
		...offer,
		counts: part.counts,
		skips: part.skips,
		changedSince: offer.changedSince.filter((path) => planned.has(path)),
	};
}

/** `target` is where the files go, in words: `the point before your message “x”`. */
export function proposalOf(
	offer: RestoreOffer,
	changes: readonly FileChange[],
	words: { readonly target: string; readonly movesConversation: boolean },
): Proposal {
	const byHand = new Set<BytePath>(offer.changedSince);
	const isByHand = ({ path, renamedFrom }: FileChange): boolean =>
		byHand.has(path) || (renamedFrom !== undefined && byHand.has(renamedFrom));
	const what = words.movesConversation ? "files and conversation" : "files only";
	return {
		title: `Go back to ${words.target}? ${what}, ${describeCounts(offer.counts)}`,
		notes: warningsByHandFirst(offer),
		changes: [...changes.filter(isByHand), ...changes.filter((change) => !isByHand(change))],
	};
}

export type PathsWanted =
	| { readonly kind: "found"; readonly paths: ReadonlySet<BytePath> }
	| { readonly kind: "unknown"; readonly paths: readonly BytePath[] };

/**
 * The differing paths at or below those that a person named, and no other: of a rename, the side that was named. Names
 * of nothing that differs are given back.
 */
export function pathsAt(differing: readonly BytePath[], wanted: readonly BytePath[]): PathsWanted {
	const unknown = wanted.filter((at) => !differing.some((path) => isWithin(path, at)));
	if (unknown.length > 0) return { kind: "unknown", paths: unknown };
	const found = differing.filter((path) => wanted.some((at) => isWithin(path, at)));
	return { kind: "found", paths: new Set(found) };
}
