import { expect, test } from "vitest";
import { noCoverage } from "../../src/core/coverage.ts";
import { type BytePath, bytePathFromText as p } from "../../src/core/ids.ts";
import { bitsNow } from "../../src/git/bits.ts";
import type { Classified } from "../../src/git/classify.ts";

const staged = (bits: [string, number][], gone: string[] = []): Classified => ({
	stage: [...bits.map(([path]) => p(path)), ...gone.map(p)],
	drop: [],
	notCovered: [],
	repositories: new Set(),
	bits: new Map(bits.map(([path, mode]): [BytePath, number] => [p(path), mode])),
	signatures: new Map(),
	sizes: new Map(),
});
const failed: never[] = [];
const before = { ...noCoverage, umask: 0o022, modes: new Map([[p("secret"), 0o600]]) };

test("only what differs from the usual is listed", () => {
	const found = staged([
		["plain", 0o644],
		["run", 0o755],
		["open", 0o666],
		["key", 0o400],
	]);
	expect([...bitsNow(before, found, failed, new Map()).modes]).toEqual([
		["secret", 0o600],
		["open", 0o666],
		["key", 0o400],
	]);
});

test("what is gone, or usual again, is not listed any more", () => {
	expect(bitsNow(before, staged([], ["secret"]), failed, new Map()).modes.size).toBe(0);
	expect(bitsNow(before, staged([["secret", 0o644]]), failed, new Map()).modes.size).toBe(0);
});

test("a file of a session with another umask keeps its bits: the first umask stays the yardstick [R7]", () => {
	const then = { ...before, umask: 0o077, modes: new Map() };
	const now = bitsNow(then, staged([["new", 0o644]]), failed, new Map());
	expect(now.umask).toBe(0o077);
	expect(now.modes.get(p("new"))).toBe(0o644);
});
