/** What `/rewind` asks and proposes. */
import { describe, expect, test } from "vitest";
import type { FileChange } from "../../src/core/changes.ts";
import {
	type NavigationFacts,
	type RestoreOffer,
	rewindQuestion,
	warningsOf,
} from "../../src/core/choices.ts";
import { bytePathFromText, trustedObjectId } from "../../src/core/ids.ts";
import type { Plan, Step } from "../../src/core/plan.ts";
import { pathsAt, partOfOffer, plannedChanges, proposalOf } from "../../src/core/rewind.ts";

const entry = { mode: 0o100644, id: trustedObjectId("a".repeat(40)) };
const paths = (...names: string[]) => names.map(bytePathFromText);
const deleted = (path: string): FileChange => ({ path: bytePathFromText(path), from: entry });
const renamed: FileChange = {
	path: bytePathFromText("new"),
	renamedFrom: bytePathFromText("lib/old"),
	from: entry,
	to: entry,
};
const planOf = (...names: string[]): Plan => ({
	steps: names.map((name): Step => ({
		kind: "delete",
		path: bytePathFromText(name),
		from: entry,
	})),
	skips: [],
	counts: { changed: 0, added: 0, deleted: names.length },
});
const offer: RestoreOffer = {
	kind: "available",
	counts: { changed: 0, added: 0, deleted: 3 },
	skips: [{ path: bytePathFromText("vendor"), reason: { kind: "other-repository" } }],
	changedSince: paths("b", "lib/old"),
	taken: { branch: "refs/heads/main" },
	standing: { branch: "refs/heads/other" },
	notCovered: [],
};

describe("the question", () => {
	const facts: NavigationFacts = {
		target: "the point before your message “x”",
		restore: offer,
		running: false,
	};

	test("is as safe as the others: conversation only first, cancelling last, numbers where files move", () => {
		const { title, options } = rewindQuestion(facts);
		expect(title.split("\n")).toEqual([
			"Rewind to the point before your message “x” · what should go back?",
			...warningsOf(offer),
		]);
		expect(options.map(({ choice }) => choice)).toEqual([
			"keep",
			"keep-summary",
			"restore",
			"code-only",
			"cancel",
		]);
		expect(options.filter(({ label }) => label.endsWith("(3 deleted)"))).toHaveLength(2);
	});

	test("without a point offers the conversation, and says why not the files", () => {
		const restore = { kind: "unavailable", reason: "no point was taken there" } as const;
		const { title, options } = rewindQuestion({ ...facts, restore });
		expect(title).toMatch(/Files cannot be restored there: no point was taken there\.$/);
		expect(options.map(({ choice }) => choice)).toEqual(["keep", "keep-summary", "cancel"]);
	});
});

test("shown is what the plan does: what it leaves alone is not shown", () => {
	const compared = [deleted("a"), deleted("b"), renamed];
	expect(plannedChanges(compared, planOf("a", "new", "lib/old"))).toEqual([deleted("a"), renamed]);
	expect(plannedChanges(compared, planOf())).toEqual([]);
});

test("an offer of some paths has their numbers and names, and the same position", () => {
	const part = partOfOffer(offer, planOf("b"));
	expect(part).toEqual({
		...offer,
		counts: { changed: 0, added: 0, deleted: 1 },
		skips: [],
		changedSince: paths("b"),
	});
});

test("a last look names first what was changed by hand, in words and in files", () => {
	const { title, notes, changes } = proposalOf(
		offer,
		[deleted("a"), deleted("b"), deleted("c"), renamed],
		{ target: "the point before “x”", movesConversation: true },
	);
	expect(title).toBe("Go back to the point before “x”? files and conversation, 3 deleted");
	expect(notes[0]).toBe("Also reverts 2 files changed since the last answer: b, lib/old.");
	expect(notes.toSorted()).toEqual(warningsOf(offer).toSorted());
	expect(changes).toEqual([deleted("b"), renamed, deleted("a"), deleted("c")]);
});

test("paths that a person names: files and what lies below folders, and nothing else; what names nothing is given back", () => {
	const all = paths("a", "lib/x", "lib2/y", "new");
	const found = (...names: string[]) => pathsAt(all, paths(...names));
	expect(found("lib")).toEqual({ kind: "found", paths: new Set(["lib/x"]) });
	expect(found("new", "a")).toEqual({ kind: "found", paths: new Set(["a", "new"]) });
	expect(found("")).toEqual({ kind: "found", paths: new Set(all) });
	expect(found("a", "li", "zzz")).toEqual({ kind: "unknown", paths: paths("li", "zzz") });
});
