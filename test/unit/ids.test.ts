import { describe, expect, test } from "vitest";
import {
	bytePath,
	bytePathFromText,
	decodeAnyObjectId,
	decodeObjectId,
	displayPath,
	isWithin,
	parentPaths,
	pathBytes,
} from "../../src/core/ids.ts";

const sha1 = "a".repeat(40);
const sha256 = "b".repeat(64);

describe("an object id [R13]", () => {
	test("is a full one of the repository's format", () => {
		expect(decodeObjectId(sha1, "sha1")).toBe(sha1);
		expect(decodeObjectId(sha256, "sha256")).toBe(sha256);
		expect(decodeAnyObjectId(sha256)).toBe(sha256);
	});

	test.each([
		["an option", "--output=/outside/pwn"],
		["a ref", "HEAD"],
		["a short id", "a".repeat(12)],
		["a digit too many", `${sha1}a`],
		["capital letters", "A".repeat(40)],
		["a newline at its end", `${sha1}\n`],
		["a number", 7],
		["nothing", undefined],
	])("is not %s", (_name, value) => {
		expect(decodeAnyObjectId(value)).toBeUndefined();
	});

	test("of the other format is none", () => {
		expect(decodeObjectId(sha256, "sha1")).toBeUndefined();
		expect(decodeObjectId(sha1, "sha256")).toBeUndefined();
	});
});

describe("a path is shown", () => {
	test.each([
		["as UTF-8 where it is", "ünï✓ file.txt", "ünï✓ file.txt"],
		["with its newline visible", "new\nline", "new\\nline"],
		["without driving the terminal", "\u001b[2Jx", "\\x1b[2Jx"],
		["without turning text around", "a\u202eb", "a\\u{202e}b"],
		["with a backslash told from an escape", "a\\nb", "a\\\\nb"],
	])("%s", (_name, name, shown) => {
		expect(displayPath(bytePathFromText(name))).toBe(shown);
	});

	test("with the bytes that are no UTF-8", () => {
		const bytes = Buffer.from([0x72, 0xff, 0xfe, 0x2e, 0x74]);
		expect(displayPath(bytePath(bytes))).toBe("r\\xff\\xfe.t");
		expect(pathBytes(bytePath(bytes))).toEqual(bytes);
	});
});

test("folders of a path are given nearest first, and a name that only begins alike is not inside", () => {
	expect(parentPaths(bytePathFromText("a/b/c"))).toEqual(["a/b", "a"]);
	expect(isWithin("a/b", "a")).toBe(true);
	expect(isWithin("ab", "a")).toBe(false);
	expect(isWithin("anything", "")).toBe(true);
});
