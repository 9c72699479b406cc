/**
 * What to offer where, with the words. The words are an interface: people and tests know them; numbers follow in
 * parentheses.
 *
 * Invariants: the safe option comes first, so Enter changes nothing on disk; cancelling is always the last. One point
 * has the same options, numbers and reasons wherever it is met. [R15] numbers come from the plan that would be done.
 */
import type { NotCovered, NotCoveredReason } from "./coverage.ts";
import { type BytePath, displayPath, shortId } from "./ids.ts";
import type { ObjectId } from "./ids.ts";
import type { Counts, Skip, SkipReason } from "./plan.ts";
import type { Restored } from "./records.ts";

export type Choice = "keep" | "keep-summary" | "restore" | "code-only" | "undo" | "cancel";

export interface Option {
	readonly choice: Choice;
	readonly label: string;
}

/** One dialog: what is at stake, and what may be chosen. Labels differ from one another. */
export interface Question {
	readonly title: string;
	readonly options: readonly Option[];
}

/** Where a snapshot was taken, against where HEAD is. */
export interface Position {
	readonly head?: ObjectId;
	readonly branch?: string;
}

/** What a restore would do, with what it costs. */
export interface RestoreOffer {
	readonly kind: "available";
	readonly counts: Counts;
	readonly skips: readonly Skip[];
	/** Paths that it would revert although they changed after the last boundary: by hand, or by another session. */
	readonly changedSince: readonly BytePath[];
	/** Where HEAD was when the point was taken. */
	readonly taken: Position;
	/** Where it is. */
	readonly standing: Position;
	/** Commits that HEAD has and the point's HEAD has not; absent when unknown. */
	readonly commitsSince?: number;
	readonly notCovered: readonly NotCovered[];
}

export type Offer = RestoreOffer | { readonly kind: "unavailable"; readonly reason: string };

export interface NavigationFacts {
	/** What is gone to, in words: `the answer “said one”`. */
	readonly target: string;
	readonly restore: Offer;
	/** Absent when there is nothing to undo, or it is not to be offered. */
	readonly undo?: Offer;
	/** An agent is at work: files may not be touched. */
	readonly running: boolean;
}

/** Names shown before the rest is counted. */
const namesMax = 5;

export function treeQuestion(facts: NavigationFacts): Question {
	return {
		title: titleOf(`Go to ${facts.target} · what about the files?`, facts),
		options: [
			{ choice: "keep", label: "Keep current files" },
			...offered("restore", "Restore files to that point", facts.restore),
			...offered("undo", "Undo last file rewind", facts.undo),
			{ choice: "cancel", label: "Cancel navigation" },
		],
	};
}

export function forkQuestion(facts: NavigationFacts): Question {
	const keep: Option = { choice: "keep", label: "Conversation only (keep current files)" };
	const cancel: Option = { choice: "cancel", label: "Cancel" };
	const title = titleOf(`Fork from ${facts.target} · what about the files?`, facts);
	if (facts.running) return { title, options: [keep, cancel] };
	return {
		title,
		options: [
			keep,
			...offered("restore", "Restore all (files + conversation)", facts.restore),
			...offered("code-only", "Code only (restore files, keep conversation)", facts.restore),
			...offered("undo", "Undo last file rewind", facts.undo),
			cancel,
		],
	};
}

/** `/rewind`, where *undo* stands in the list of points already. */
export function rewindQuestion({ target, restore, running }: NavigationFacts): Question {
	const facts: NavigationFacts = { target, restore, running };
	return {
		title: titleOf(`Rewind to ${target} · what should go back?`, facts),
		options: [
			{ choice: "keep", label: "Conversation only (keep current files)" },
			{ choice: "keep-summary", label: "Conversation only, with a summary of what is left behind" },
			...offered("restore", "Restore all (files + conversation)", facts.restore),
			...offered("code-only", "Code only (restore files, keep conversation)", facts.restore),
			{ choice: "cancel", label: "Cancel" },
		],
	};
}

function offered(choice: Choice, words: string, offer: Offer | undefined): Option[] {
	if (offer?.kind !== "available") return [];
	return [{ choice, label: `${words} (${describeCounts(offer.counts)})` }];
}

/** Warnings stand in the title: a notification around a navigation is wiped off the screen. */
function titleOf(first: string, { restore, undo, running }: NavigationFacts): string {
	const lines = [first];
	if (running) lines.push("An agent is running: finish or abort it to restore files.");
	else if (restore.kind === "unavailable")
		lines.push(`Files cannot be restored there: ${restore.reason}.`);
	else lines.push(...warningsOf(restore));
	if (!running && undo?.kind === "unavailable") lines.push(`Undo is not possible: ${undo.reason}.`);
	if (!running && undo?.kind === "available" && undo.changedSince.length > 0)
		lines.push(`Undo also reverts what changed since: ${listNames(undo.changedSince)}.`);
	return lines.join("\n");
}

/** What a person should know before the files go back. */
export const warningsOf = (offer: RestoreOffer): string[] => [
	...moveWarning(offer),
	...changedSinceWarning(offer),
	...leftAloneWarnings(offer),
];

/** The same, with what the person changed by hand first. */
export const warningsByHandFirst = (offer: RestoreOffer): string[] => [
	...changedSinceWarning(offer),
	...moveWarning(offer),
	...leftAloneWarnings(offer),
];

function moveWarning(offer: RestoreOffer): string[] {
	const moved = describeMove(offer);
	return moved === undefined ? [] : [`${moved}.`];
}

function changedSinceWarning({ changedSince }: RestoreOffer): string[] {
	if (changedSince.length === 0) return [];
	const files = changedSince.length === 1 ? "1 file" : `${changedSince.length} files`;
	return [`Also reverts ${files} changed since the last answer: ${listNames(changedSince)}.`];
}

function leftAloneWarnings({ skips, notCovered }: RestoreOffer): string[] {
	return [
		...(skips.length > 0 ? [`Left as is: ${describeSkips(skips)}.`] : []),
		...(notCovered.length > 0 ? [`Not covered: ${describeNotCovered(notCovered)}.`] : []),
	];
}

/** `2 changed, 1 added, 1 deleted`, without the zeros; `nothing to change` when all are. */
export function describeCounts({ changed, added, deleted }: Counts): string {
	const parts = [
		...(changed > 0 ? [`${changed} changed`] : []),
		...(added > 0 ? [`${added} added`] : []),
		...(deleted > 0 ? [`${deleted} deleted`] : []),
	];
	return parts.length > 0 ? parts.join(", ") : "nothing to change";
}

function describeMove({ taken, standing, commitsSince }: RestoreOffer): string | undefined {
	if (taken.head === standing.head && taken.branch === standing.branch) return undefined;
	if (taken.branch !== standing.branch)
		return `That point was taken on ${positionName(taken)}, you are on ${positionName(standing)}; HEAD stays`;
	const count =
		commitsSince === undefined || commitsSince === 0 ? "" : ` (${plural(commitsSince, "commit")})`;
	return `HEAD moved since that point${count}; it stays where it is`;
}

function positionName({ head, branch }: Position): string {
	const at = head === undefined ? "without commits" : `@${shortId(head)}`;
	return branch === undefined
		? `a detached HEAD ${at}`
		: `${branch.replace(/^refs\/heads\//, "")} ${at}`;
}

const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** The first few names, then how many more. */
export function listNames(paths: readonly BytePath[]): string {
	const shown = paths.slice(0, namesMax).map(displayPath).join(", ");
	return paths.length > namesMax ? `${shown} and ${paths.length - namesMax} more` : shown;
}

const notCoveredWords: Record<NotCoveredReason, string> = {
	"nested-repository": "another repository",
	"too-large": "too large",
	"turn-limit": "too much new in one turn",
	unreadable: "cannot be read",
	"special-file": "a special file",
	vanished: "vanished while it was read",
	sparse: "outside the sparse checkout",
	"unsupported-name": "a name that git does not take",
};

export function describeNotCovered(list: readonly NotCovered[]): string {
	const shown = list
		.slice(0, namesMax)
		.map(
			({ path, reason, size }) =>
				`${displayPath(path)} (${notCoveredWords[reason]}${size === undefined ? "" : `, ${mebibytes(size)}`})`,
		)
		.join(", ");
	return list.length > namesMax ? `${shown} and ${list.length - namesMax} more` : shown;
}

const mebibytes = (bytes: number): string =>
	`${(bytes / (1 << 20)).toFixed(bytes < 10 << 20 ? 1 : 0)} MiB`;

/** Skips grouped by reason: `vendor/x (another repository)`. */
export function describeSkips(skips: readonly Skip[]): string {
	const groups = new Map<string, BytePath[]>();
	for (const { path, reason } of skips) {
		const words = skipWords(reason);
		groups.set(words, [...(groups.get(words) ?? []), path]);
	}
	return [...groups].map(([words, paths]) => `${listNames(paths)} (${words})`).join("; ");
}

function skipWords(reason: SkipReason): string {
	switch (reason.kind) {
		case "not-covered":
			return reason.when === "now"
				? notCoveredWords[reason.why]
				: `not covered then: ${notCoveredWords[reason.why]}`;
		case "ignored-then":
			return "ignored at that point";
		case "older-than-point":
			return "there already at that point, but not covered";
		case "untracked-scope":
			return "untracked files were not covered then";
		case "other-repository":
			return "inside another repository";
		case "session-file":
			return "a session of Pi's";
		case "not-in-capture":
			return "something ignored is there now";
		case "behind-link":
			return `${displayPath(reason.link)} is in the way`;
		case "folder-in-the-way":
			return "a folder with other files is there now";
		case "changed-meanwhile":
			return "changed in the meantime";
	}
}

/** One line after a restore, for the transcript and for notices; `isPartial` says that it was one of chosen paths. */
export function describeOutcome(outcome: Restored, isPartial = false): string {
	const { what, skipped, label } = outcome;
	const verb = {
		restore: isPartial ? "Chosen files restored" : "Files restored",
		undo: "Last file rewind undone: files restored",
		recovery: "Interrupted restore ended: files restored",
	}[what];
	const where = label === undefined ? "" : ` to ${label}`;
	const left = skipped === 0 ? "" : ` · ${plural(skipped, "path")} left alone`;
	return `${verb}${where} (${describeCounts(outcome)})${left}`;
}
