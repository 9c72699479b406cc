import { describe, expect, test } from "vitest";
import { noCoverage, type NotCovered, type Snapshot } from "../../src/core/coverage.ts";
import { type BytePath, bytePathFromText, trustedObjectId } from "../../src/core/ids.ts";
import {
	type DiskFact,
	fileModes,
	planRestore,
	type TreeChange,
	type TreeEntry,
	withoutPaths,
} from "../../src/core/plan.ts";

const p = bytePathFromText;
const blob = (content: string): TreeEntry => ({
	mode: fileModes.file,
	id: trustedObjectId(Buffer.from(content.padEnd(20)).toString("hex").slice(0, 40)),
});
const executable = (content: string): TreeEntry => ({
	...blob(content),
	mode: fileModes.executable,
});
const gitlink: TreeEntry = { ...blob("sub"), mode: fileModes.gitlink };

interface Case {
	changes: TreeChange[];
	disk?: Record<string, DiskFact>;
	notCoveredNow?: NotCovered[];
	notCoveredThen?: NotCovered[];
	ignoredThen?: string[];
	only?: string[];
	modesThen?: [string, number][];
	scopeThen?: "tracked";
	takenAt?: number;
}

function plan(given: Case) {
	const snapshot = (
		notCovered: readonly NotCovered[],
		modes: ReadonlyMap<BytePath, number>,
		scope: "all" | "tracked",
	): Snapshot => ({
		id: blob("snapshot").id,
		tree: blob("tree").id,
		head: { v: 1, worktree: "worktree", place: ".", scope, takenAt: given.takenAt ?? 0 },
		coverageId: undefined,
		coverage: { ...noCoverage, notCovered, modes },
		rules: { infoExclude: undefined, excludesFile: undefined },
	});
	const modes = new Map((given.modesThen ?? []).map(([path, mode]) => [p(path), mode]));
	const planned = planRestore({
		changes: given.changes,
		now: snapshot(given.notCoveredNow ?? [], new Map(), "all"),
		target: snapshot(given.notCoveredThen ?? [], modes, given.scopeThen ?? "all"),
		ignoredThen: new Set((given.ignoredThen ?? []).map(p)),
		disk: (path) => given.disk?.[path] ?? factFor(given.changes, path),
		...(given.only === undefined ? {} : { only: new Set(given.only.map(p)) }),
	});
	return {
		...planned,
		did: planned.steps.map((step) => `${step.kind} ${step.path}`),
		left: planned.skips.map(({ path, reason }) => `${path}: ${reason.kind}`),
	};
}

/** Unless a case says otherwise, the disk is as the capture says. */
function factFor(changes: readonly TreeChange[], path: string): DiskFact {
	const from = changes.find((change) => change.path === path)?.from;
	if (from === undefined) return { kind: "absent" };
	return { kind: from.mode === fileModes.link ? "link" : "file" };
}

const changed = (path: string): TreeChange => ({
	path: p(path),
	from: blob("new"),
	to: blob("old"),
});
const goes = (path: string): TreeChange => ({ path: p(path), from: blob("new") });
const comes = (path: string): TreeChange => ({ path: p(path), to: blob("old") });

describe("a plan", () => {
	test("is empty when nothing differs", () => {
		expect(plan({ changes: [] })).toMatchObject({
			steps: [],
			skips: [],
			counts: { changed: 0, added: 0, deleted: 0 },
		});
	});

	test("deletes deepest first, then writes shallowest first, so a folder may become a file and back", () => {
		const { did, counts } = plan({
			changes: [
				goes("lib/a"),
				goes("lib/deep/b"),
				comes("lib"),
				goes("file"),
				comes("file/x/y"),
				comes("file/z"),
			],
			disk: { lib: { kind: "folder", inside: [p("lib/a"), p("lib/deep/b")] } },
		});
		expect(did).toEqual([
			"delete lib/deep/b",
			"delete lib/a",
			"delete file",
			"write lib",
			"write file/z",
			"write file/x/y",
		]);
		expect(counts).toEqual({ changed: 0, added: 3, deleted: 3 });
	});

	test("only flips the bit when the content is the same, so inode and times stay", () => {
		const { did, counts } = plan({
			changes: [{ path: p("run"), from: blob("same"), to: executable("same") }],
		});
		expect(did).toEqual(["chmod run"]);
		expect(counts).toEqual({ changed: 1, added: 0, deleted: 0 });
	});

	test("creates a file with the bits it had, or with those that the umask of then left [R14]", () => {
		const { steps } = plan({
			changes: [comes("secret"), comes("usual")],
			modesThen: [["secret", 0o600]],
		});
		expect(steps).toMatchObject([
			{ path: "secret", bits: 0o600 },
			{ path: "usual", bits: 0o644 },
		]);
	});

	test("keeps to the paths asked for", () => {
		expect(plan({ changes: [changed("a"), changed("b"), goes("c")], only: ["b"] }).did).toEqual([
			"write b",
		]);
	});
});

describe("a plan leaves alone", () => {
	const rows: [string, Case, string[]][] = [
		[
			"what is not covered now [R7]",
			{ changes: [changed("big")], notCoveredNow: [{ path: p("big"), reason: "too-large" }] },
			["big: not-covered"],
		],
		[
			"what was not covered then, rather than deleting it [R7]",
			{ changes: [goes("big")], notCoveredThen: [{ path: p("big"), reason: "too-large" }] },
			["big: not-covered"],
		],
		[
			"what lies in a folder that was not covered then [R7]",
			{ changes: [goes("off/x/y")], notCoveredThen: [{ path: p("off/"), reason: "sparse" }] },
			["off/x/y: not-covered"],
		],
		[
			"what was ignored then [R7]",
			{ changes: [goes("data/x")], ignoredThen: ["data/x"] },
			["data/x: ignored-then"],
		],
		[
			"every file that only tracked ones would be missing, where only those were covered [R7]",
			{ changes: [goes("u")], scopeThen: "tracked" },
			["u: untracked-scope"],
		],
		[
			"a file that was there before the point was taken, and yet is not in it [R7]",
			{
				changes: [goes("venv/x")],
				disk: { "venv/x": { kind: "file", changedAt: 5_000 } },
				takenAt: 9_000,
			},
			["venv/x: older-than-point"],
		],
		[
			"the inside of another repository [R5]",
			{ changes: [changed("v/a")], disk: { "v/a": { kind: "file", repository: p("v") } } },
			["v/a: other-repository"],
		],
		[
			"a gitlink, which stands for another repository [R5]",
			{ changes: [{ path: p("v"), from: gitlink }] },
			["v: other-repository"],
		],
		[
			"something that is there but in no capture [R5]",
			{ changes: [comes("a")], disk: { a: { kind: "file" } } },
			["a: not-in-capture"],
		],
		[
			"a special file [R5]",
			{ changes: [changed("pipe")], disk: { pipe: { kind: "special" } } },
			["pipe: not-in-capture"],
		],
		[
			"what is behind a link that stays [R5]",
			{ changes: [comes("d/f")], disk: { "d/f": { kind: "absent", blockedBy: p("d") } } },
			["d/f: behind-link"],
		],
	];
	test.each(rows)("%s", (_name, given, left) => {
		expect(plan(given).left).toEqual(left);
	});

	test("a folder with other files in it, whole: nothing below it is deleted [R7]", () => {
		const { did, left } = plan({
			changes: [goes("lib/a"), comes("lib"), changed("b")],
			disk: { lib: { kind: "folder", inside: [p("lib/a"), p("lib/z.log")] } },
		});
		expect(did).toEqual(["write b"]);
		expect(left).toEqual(["lib: folder-in-the-way", "lib/a: folder-in-the-way"]);
	});

	test("what belongs below a file that stays", () => {
		const { did, left } = plan({
			changes: [goes("lib"), comes("lib/a")],
			notCoveredNow: [{ path: p("lib"), reason: "too-large" }],
			disk: { "lib/a": { kind: "absent", blockedBy: p("lib") } },
		});
		expect(did).toEqual([]);
		expect(left).toEqual(["lib: not-covered", "lib/a: not-covered"]);
	});
});

describe("a plan goes on where", () => {
	test("a link in the way is taken away by the plan itself", () => {
		const { did } = plan({
			changes: [goes("d"), comes("d/f")],
			disk: { d: { kind: "link" }, "d/f": { kind: "absent", blockedBy: p("d") } },
		});
		expect(did).toEqual(["delete d", "write d/f"]);
	});

	test("a folder was only renamed: its old files at new paths are the target's own", () => {
		const moved: TreeChange = { path: p("b/f"), from: blob("old") };
		const { did } = plan({
			changes: [comes("a/f"), moved],
			disk: { "b/f": { kind: "file", changedAt: 5_000 } },
			takenAt: 9_000,
		});
		expect(did).toEqual(["delete b/f", "write a/f"]);
	});

	test("a path changed since the plan was shown: that one is left out and named [R4]", () => {
		const { steps, skips, counts } = withoutPaths(
			plan({ changes: [changed("a"), goes("b")] }),
			new Set([p("a")]),
		);
		expect(steps.map(({ path }) => path)).toEqual(["b"]);
		expect(skips).toEqual([{ path: "a", reason: { kind: "changed-meanwhile" } }]);
		expect(counts).toEqual({ changed: 0, added: 0, deleted: 1 });
	});
});
