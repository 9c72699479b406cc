import { describe, expect, test } from "vitest";
import {
	type CoverageLists,
	decodeCoverageLists,
	decodeSnapshotMessage,
	encodeCoverageLists,
	encodeSnapshotMessage,
	notCoveredIndex,
	type SnapshotHead,
	subjects,
} from "../../src/core/coverage.ts";
import { bytePath, bytePathFromText as p, trustedObjectId } from "../../src/core/ids.ts";

const head: SnapshotHead = {
	v: 1,
	worktree: "0b9f6c1e-1111-4222-8333-444455556666",
	place: "worktrees/linked",
	head: trustedObjectId("a".repeat(40)),
	branch: "refs/heads/main",
	scope: "all",
	takenAt: 1_700_000_000_000,
};
const lists: CoverageLists = {
	umask: 0o022,
	gone: new Set([p("gone")]),
	notCovered: [
		{ path: p("z/"), reason: "nested-repository" },
		{ path: p("big"), reason: "too-large", size: 5 },
	],
	modes: new Map([
		[bytePath(Buffer.from([0xff, 0x0a])), 0o600],
		[p("a"), 0o640],
	]),
};

describe("a snapshot's message", () => {
	test("gives back what was written, an unborn and a detached HEAD too", () => {
		expect(decodeSnapshotMessage(encodeSnapshotMessage(head))).toEqual(head);
		const { head: _head, branch: _branch, ...bare } = head;
		expect(decodeSnapshotMessage(encodeSnapshotMessage(bare))).toEqual(bare);
	});

	test.each([
		["a predecessor's commit", "pi rewind snapshot\n"],
		["a keep commit", `${subjects.keep}\n\nSession: x\n`],
		[
			"a newer version",
			`${subjects.snapshot}\n\n{"v":2,"worktree":"0b9f6c1e-1111","scope":"all","takenAt":1}\n`,
		],
		["no JSON", `${subjects.snapshot}\n\n{"v":1,\n`],
		["no message", ""],
	])("says nothing when it is %s [R10]", (_name, message) => {
		expect(decodeSnapshotMessage(message)).toBeUndefined();
	});

	test("drops a HEAD that is no object id [R13]", () => {
		const text = encodeSnapshotMessage(head).replace("a".repeat(40), "--output=x");
		expect(decodeSnapshotMessage(text)?.head).toBeUndefined();
	});
});

describe("the lists of a coverage", () => {
	test("come back sorted, names of any bytes unharmed [R14]", () => {
		const back = decodeCoverageLists(encodeCoverageLists(lists));
		expect(back?.notCovered.map(({ path }) => path)).toEqual(["big", "z/"]);
		expect(back?.modes).toEqual(lists.modes);
	});

	test("are the same bytes in whatever order they were found [R11]", () => {
		const turned = {
			...lists,
			notCovered: lists.notCovered.toReversed(),
			modes: new Map([...lists.modes].toReversed()),
		};
		expect(encodeCoverageLists(turned)).toBe(encodeCoverageLists(lists));
	});

	test("are absent, not empty, when they cannot be read [R7]", () => {
		expect(decodeCoverageLists('{"v":9}')).toBeUndefined();
		expect(decodeCoverageLists("{")).toBeUndefined();
	});

	test("keep a path out of reach for a reason that is not known yet [R10]", () => {
		const newer = encodeCoverageLists(lists).replace("too-large", "too-strange");
		expect(notCoveredIndex(decodeCoverageLists(newer)?.notCovered ?? [])(p("big"))).toBeDefined();
	});
});

test("a folder that is not covered takes along all below it, and nothing beside it [R7]", () => {
	const lookup = notCoveredIndex(lists.notCovered);
	expect(lookup(p("z/a/b"))?.reason).toBe("nested-repository");
	expect(lookup(p("zz"))).toBeUndefined();
	expect(lookup(p("bigger"))).toBeUndefined();
});
