/** The same facts in JSON, whichever command tells them. Field names are an interface. */
import type { NotCovered, Snapshot } from "../core/coverage.ts";
import { describeEntry } from "../core/entries.ts";
import { type BytePath, displayPath, pathBytes } from "../core/ids.ts";
import type { Skip } from "../core/plan.ts";
import type { Target } from "./points.ts";
import { plainText } from "./text.ts";

/** A name that is not UTF-8 is given twice: for people, and its bytes. */
export function pathFacts(path: BytePath): { path: string; pathBase64?: string } {
	const bytes = pathBytes(path);
	const text = bytes.toString("utf8");
	if (Buffer.from(text, "utf8").equals(bytes)) return { path: text };
	return { path: displayPath(path), pathBase64: bytes.toString("base64") };
}

export const skipFacts = ({ path, reason }: Skip): object => ({
	...pathFacts(path),
	reason: reason.kind,
});

export const notCoveredFacts = ({ path, reason, size }: NotCovered): object => ({
	...pathFacts(path),
	reason,
	...(size === undefined ? {} : { size }),
});

/** What a snapshot says of itself. */
export const snapshotFacts = ({ id, tree, head }: Snapshot): object => ({
	snapshot: id,
	tree,
	takenAt: head === undefined ? null : new Date(head.takenAt).toISOString(),
	branch: head?.branch ?? null,
	head: head?.head ?? null,
	scope: head?.scope ?? null,
});

export const targetFacts = ({ snapshot, entry, found, label }: Target): object => ({
	snapshot,
	entry: entry?.id ?? null,
	time: entry?.timestamp ?? null,
	label,
	session: found?.session.file ?? null,
});

export const entryFacts = (entry: NonNullable<Target["entry"]>): object => ({
	entry: entry.id,
	time: entry.timestamp,
	kind: entry.message?.role ?? entry.type,
	text: plainText(describeEntry(entry)),
});

/** One line of JSON that drives no terminal: what JSON itself leaves bare is escaped. [R13] */
export const jsonText = (facts: object): string =>
	`${JSON.stringify(facts, undefined, 2).replace(/[\x7f-\x9f\u2028\u2029\p{Cf}]/gu, (char) =>
		Array.from(
			{ length: char.length },
			(_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`,
		).join(""),
	)}\n`;
