import { describe, expect, test } from "vitest";
import {
	describeNotCovered,
	describeOutcome,
	forkQuestion,
	listNames,
	type NavigationFacts,
	type RestoreOffer,
	treeQuestion,
} from "../../src/core/choices.ts";
import { bytePathFromText as p, trustedObjectId } from "../../src/core/ids.ts";

const head = trustedObjectId("0123456789abcdef0123456789abcdef01234567");
const other = trustedObjectId("f".repeat(40));

const offer: RestoreOffer = {
	kind: "available",
	counts: { changed: 2, added: 0, deleted: 1 },
	skips: [],
	changedSince: [],
	taken: { head, branch: "refs/heads/main" },
	standing: { head, branch: "refs/heads/main" },
	notCovered: [],
};
const facts: NavigationFacts = { target: "the answer “one”", restore: offer, running: false };
const labels = (question: { options: readonly { label: string }[] }): string[] =>
	question.options.map(({ label }) => label);

describe("the question in /tree", () => {
	test("offers what is safe first, counts what is not, and ends with cancelling", () => {
		expect(
			treeQuestion({ ...facts, undo: { ...offer, counts: { changed: 1, added: 0, deleted: 0 } } }),
		).toEqual({
			title: "Go to the answer “one” · what about the files?",
			options: [
				{ choice: "keep", label: "Keep current files" },
				{ choice: "restore", label: "Restore files to that point (2 changed, 1 deleted)" },
				{ choice: "undo", label: "Undo last file rewind (1 changed)" },
				{ choice: "cancel", label: "Cancel navigation" },
			],
		});
	});

	test("says when there is nothing to change", () => {
		const restore = { ...offer, counts: { changed: 0, added: 0, deleted: 0 } };
		expect(labels(treeQuestion({ ...facts, restore }))).toContain(
			"Restore files to that point (nothing to change)",
		);
	});

	test("says why files cannot be restored, and still asks [R12]", () => {
		const question = treeQuestion({
			...facts,
			restore: { kind: "unavailable", reason: "no point was taken there" },
		});
		expect(question.title).toContain("Files cannot be restored there: no point was taken there.");
		expect(labels(question)).toEqual(["Keep current files", "Cancel navigation"]);
	});
});

describe("the question in /fork", () => {
	test("offers the conversation only first", () => {
		expect(labels(forkQuestion({ ...facts, undo: offer }))).toEqual([
			"Conversation only (keep current files)",
			"Restore all (files + conversation) (2 changed, 1 deleted)",
			"Code only (restore files, keep conversation) (2 changed, 1 deleted)",
			"Undo last file rewind (2 changed, 1 deleted)",
			"Cancel",
		]);
	});

	test("offers nothing that moves files while an agent is running", () => {
		const question = forkQuestion({ ...facts, undo: offer, running: true });
		expect(labels(question)).toEqual(["Conversation only (keep current files)", "Cancel"]);
		expect(question.title).toContain("An agent is running");
	});
});

describe("the title warns", () => {
	const title = (restore: RestoreOffer): string => treeQuestion({ ...facts, restore }).title;

	test("of changes made since the last answer, by name", () => {
		expect(title({ ...offer, changedSince: [p("b"), p("c")] })).toContain(
			"Also reverts 2 files changed since the last answer: b, c.",
		);
	});

	test("of another branch", () => {
		expect(title({ ...offer, standing: { head: other, branch: "refs/heads/feature" } })).toContain(
			"That point was taken on main @0123456789ab, you are on feature @ffffffffffff; HEAD stays.",
		);
	});

	test("of commits made since", () => {
		expect(
			title({ ...offer, standing: { head: other, branch: "refs/heads/main" }, commitsSince: 1 }),
		).toContain("HEAD moved since that point (1 commit); it stays where it is.");
	});

	test("of what is left as it is, by reason", () => {
		const skips = [
			{ path: p("data"), reason: { kind: "ignored-then" } },
			{ path: p("v/x"), reason: { kind: "other-repository" } },
		] as const;
		expect(title({ ...offer, skips })).toContain(
			"Left as is: data (ignored at that point); v/x (inside another repository).",
		);
	});

	test("of what is not covered", () => {
		expect(
			describeNotCovered([{ path: p("data.bin"), reason: "too-large", size: 200 << 20 }]),
		).toBe("data.bin (too large, 200 MiB)");
	});

	test("without letting a file name drive the terminal", () => {
		expect(title({ ...offer, changedSince: [p("\u001b[31mred\n")] })).toContain("\\x1b[31mred\\n");
	});
});

test("many names are counted", () => {
	expect(listNames(["a", "b", "c", "d", "e", "f", "g"].map(p))).toBe("a, b, c, d, e and 2 more");
});

test("an outcome tells what is on the disk now [R15]", () => {
	const note = {
		what: "restore",
		changed: 1,
		added: 0,
		deleted: 2,
		skipped: 1,
		label: "the answer “one”",
	} as const;
	expect(describeOutcome(note)).toBe(
		"Files restored to the answer “one” (1 changed, 2 deleted) · 1 path left alone",
	);
});
