/** Session files on a real disk: lineage at any depth, damage, hostile files, and reading only what was appended. */
import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import type { Binding } from "../../src/core/records.ts";
import { encodeForkPending, encodeTurn } from "../../src/core/records.ts";
import { resolvePoint } from "../../src/core/lineage.ts";
import type { SessionRead } from "../../src/sessions/log.ts";
import { createSessionLog, lineageDepthMax, readForkPending } from "../../src/sessions/log.ts";

const a = trustedObjectId("a".repeat(40));
const b = trustedObjectId("b".repeat(40));
const c = trustedObjectId("c".repeat(64));

let dir = "";
beforeEach(async () => {
	dir = await mkdtemp(join(tmpdir(), "rewind-log-"));
});
afterEach(() => rm(dir, { recursive: true }));

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
const json = (value: unknown): string => `${JSON.stringify(value)}\n`;
const header = (id: string, minute: number, parentSession?: string): string =>
	json({ type: "session", version: 3, id, timestamp: at(minute), cwd: dir, parentSession });
const custom = (customType: string, data: unknown, id = "e1"): string =>
	json({ type: "custom", customType, data, id, parentId: null, timestamp: at(1) });
const turn = (...bindings: Binding[]): string => custom("rewind-turn", encodeTurn(bindings));
const message = (text: string): string =>
	json({ type: "message", id: "m1", parentId: null, message: { role: "user", content: text } });

async function write(name: string, ...lines: readonly string[]): Promise<string> {
	const file = join(dir, name);
	await writeFile(file, lines.join(""));
	return file;
}

/** What a session's bindings and counts are, or why there are none. */
function summary(read: SessionRead): unknown {
	if (read.kind === "problem") return read.problem.reason;
	const { bindings, rejected } = read.session.ledger;
	return { bindings: [...bindings], rejected };
}
const readOnce = async (file: string): Promise<unknown> =>
	summary(await createSessionLog().readSession(file));

describe("lineage", () => {
	test("follows the parents at any depth, nearest first, and points are found there", async () => {
		await write("g.jsonl", header("g", 0), message("hi"), turn(["u1", a]));
		await write("p.jsonl", header("p", 10, join(dir, "g.jsonl")), turn(["u2", b]));
		const { ancestors, problems } = await createSessionLog().readLineage("p.jsonl", {
			relativeTo: dir,
		});
		expect(problems).toEqual([]);
		expect(ancestors.map(({ sessionId }) => sessionId)).toEqual(["p", "g"]);
		expect(ancestors[0]?.startedAt).toBe(Date.parse(at(10)));
		expect(resolvePoint({ id: "u1", timestamp: at(1) }, ancestors)).toEqual({
			snapshot: a,
			from: 1,
		});
	});

	test("a session without a parent has no ancestors and no problem", async () => {
		const log = createSessionLog();
		const none = { ancestors: [], problems: [] };
		expect(await log.readLineage(undefined, { relativeTo: dir })).toEqual(none);
		expect(await log.readLineage("", { relativeTo: dir })).toEqual(none);
	});

	test("a missing grandparent is a reason; the parent's points still work", async () => {
		await write("p.jsonl", header("p", 10, "gone.jsonl"), turn(["u2", b]));
		const { ancestors, problems } = await createSessionLog().readLineage("p.jsonl", {
			relativeTo: dir,
		});
		expect(ancestors.map(({ ledger }) => [...ledger.bindings])).toEqual([[["u2", b]]]);
		expect(problems).toEqual([{ file: join(dir, "gone.jsonl"), reason: "missing" }]);
	});

	test("a cycle ends, also one through a symbolic link [R10]", async () => {
		await write("x.jsonl", header("x", 1, "y.jsonl"));
		await write("y.jsonl", header("y", 2, "link.jsonl"));
		await symlink("x.jsonl", join(dir, "link.jsonl"));
		const lineage = await createSessionLog().readLineage("x.jsonl", { relativeTo: dir });
		expect(lineage.ancestors.map(({ sessionId }) => sessionId)).toEqual(["x", "y"]);
		expect(lineage.problems).toEqual([{ file: join(dir, "link.jsonl"), reason: "cycle" }]);
	});

	test("a lineage without end is bounded [R10]", async () => {
		for (let n = 0; n <= lineageDepthMax; n += 1)
			await write(`${n}.jsonl`, header(`s${n}`, 0, `${n + 1}.jsonl`));
		const { ancestors, problems } = await createSessionLog().readLineage("0.jsonl", {
			relativeTo: dir,
		});
		expect(ancestors).toHaveLength(lineageDepthMax);
		expect(problems).toEqual([{ file: join(dir, `${lineageDepthMax}.jsonl`), reason: "too-deep" }]);
	});
});

describe("files that are no sessions are named, never opened for long [R10] [R13]", () => {
	test.each([
		["/dev/zero", "not-a-session"],
		["/dev/tty", "not-a-session"],
		["/proc/self/mem", "not-a-session"],
		["/proc/kmsg", "not-a-session|unreadable"],
		["/proc/kcore", "not-a-session|unreadable|missing"],
		["/", "not-a-session"],
		["/nowhere/at/all", "missing"],
		["/etc/hostname/below", "missing"],
		["a\0b", "unreadable"],
		["x".repeat(5_000), "unreadable"],
	])("%j", async (file, reason) => {
		const { ancestors, problems } = await createSessionLog().readLineage(file, {
			relativeTo: dir,
		});
		expect(ancestors).toEqual([]);
		expect(problems).toHaveLength(1);
		expect(reason.split("|")).toContain(problems[0]?.reason);
	});

	test("a FIFO, a loop of links, an empty file, text", async () => {
		execFileSync("mkfifo", [join(dir, "fifo")]);
		await symlink("loop", join(dir, "loop"));
		expect(await readOnce(join(dir, "fifo"))).toBe("not-a-session");
		expect(await readOnce(join(dir, "loop"))).toBe("unreadable");
		expect(await readOnce(await write("empty"))).toBe("not-a-session");
		expect(await readOnce(await write("text", "hello\n", "{}\n"))).toBe("not-a-session");
		expect(await readOnce(await write("entries", message("x"), header("s", 0)))).toBe(
			"not-a-session",
		);
		expect(await readOnce(await write("half", header("s", 0).trimEnd()))).toBe("not-a-session");
	});

	test("a header with values of other types is read for what it says", async () => {
		const odd = json({ type: "session", id: "s", timestamp: 5, parentSession: 7, cwd: null });
		const log = createSessionLog();
		const read = await log.readSession(await write("odd", "{torn\n", "\n", odd, turn(["u1", a])));
		expect(read).toMatchObject({
			session: { sessionId: "s", startedAt: Number.NaN, parentSession: undefined },
		});
		expect(summary(read)).toEqual({ bindings: [["u1", a]], rejected: 0 });
	});
});

describe("damage costs the line it is in, not those around it [R10]", () => {
	const one = turn(["u1", a]);
	const two = turn(["u2", b]);
	const three = turn(["u3", c]);
	const rest = [
		["u1", a],
		["u3", c],
	];
	test.each([
		["torn", `${two.slice(0, -20)}\n`, { bindings: rest, rejected: 1 }],
		["glued", two.trimEnd() + two, { bindings: rest, rejected: 1 }],
		["behind NULs", `\0\0\0\0${two}`, { bindings: rest, rejected: 1 }],
		["only NULs", `${"\0".repeat(5_000)}\n`, { bindings: rest, rejected: 0 }],
		["without an id", two.replace('"id":"e1",', ""), { bindings: rest, rejected: 1 }],
		["invalid UTF-8 and blank lines", "\n\r\n\uFFFD\n", { bindings: rest, rejected: 0 }],
		[
			"spaced",
			two.replace('"customType":"', '"customType" :\t "'),
			{
				bindings: [
					["u1", a],
					["u2", b],
					["u3", c],
				],
				rejected: 0,
			},
		],
	])("a line that is %s", async (_name, line, expected) => {
		expect(await readOnce(await write("s", header("s", 0), one, line, three))).toEqual(expected);
	});

	test("a last line that is torn counts; one that only lacks its newline is read", async () => {
		const file = await write("s", header("s", 0), one, three.slice(0, -9));
		expect(await readOnce(file)).toEqual({ bindings: [["u1", a]], rejected: 1 });
		await write("s", header("s", 0), one, three.trimEnd());
		expect(await readOnce(file)).toEqual({ bindings: rest, rejected: 0 });
	});

	test("what only talks about our records is none [R13]", async () => {
		const quoted = message(one);
		const nested = json({ type: "custom", id: "e", customType: "other", data: JSON.parse(one) });
		const shown = one.replace('"custom"', '"custom_message"');
		const file = await write("s", header("s", 0), quoted, nested, shown, three);
		expect(await readOnce(file)).toEqual({ bindings: [["u3", c]], rejected: 0 });
	});

	test("labels are found, the last one counts, and what only looks like one is none", async () => {
		const labelled = (targetId: string, label?: string): string =>
			json({ type: "label", id: "l1", parentId: "e1", timestamp: at(2), targetId, label });
		const file = await write(
			"s",
			header("s", 0),
			labelled("u1", "first"),
			message('{"type":"label","targetId":"u9","label":"quoted"}'),
			json({ type: "custom", id: "x", customType: "other", data: { type: "label", label: "n" } }),
			one,
			labelled("u1", "second"),
			labelled("u2", "gone again"),
			labelled("u2"),
			labelled("u3", "kept").replace('"type":"', '"type": "'),
		);
		const read = await createSessionLog().readSession(file);
		const ledger = read.kind === "session" ? read.session.ledger : undefined;
		expect(ledger?.labels).toEqual(
			new Map([
				["u1", "second"],
				["u3", "kept"],
			]),
		);
		expect(ledger).toMatchObject({ rejected: 0, bindings: new Map([["u1", a]]) });
	});

	test.each([
		["whole", "", false],
		["without its newline", three.trimEnd(), false],
		["torn", three.slice(0, 20), true],
	])("a file whose last line is %s", async (_name, last, isTorn) => {
		const file = await write("s", header("s", 0), one, last);
		expect(await createSessionLog().readSession(file)).toMatchObject({ session: { isTorn } });
	});

	test("a line that is too long is skipped and counted, wherever it stands", async () => {
		const limits = { chunkBytes: 64, lineBytesMax: 512 };
		const huge = message("x".repeat(3_000));
		const file = await write("s", header("s", 0), one, huge, three);
		expect(summary(await createSessionLog(limits).readSession(file))).toEqual({
			bindings: rest,
			rejected: 1,
		});
		await appendFile(file, huge.trimEnd());
		const log = createSessionLog(limits);
		expect(summary(await log.readSession(file))).toEqual({ bindings: rest, rejected: 2 });
		await appendFile(file, `\n${two}`);
		expect(summary(await log.readSession(file))).toEqual({
			bindings: [...rest, ["u2", b]],
			rejected: 2,
		});
	});
});

describe("reading again", () => {
	const one = turn(["u1", a]);
	const two = turn(["u1", b]);

	test("reads only what was appended", async () => {
		const file = await write("s", header("s", 0), one, message("x".repeat(100)));
		const log = createSessionLog();
		await log.readSession(file);
		// Goal: see that the beginning is not read again. Method: damage it, which no rescan would survive.
		const text = await readFile(file, "utf8");
		await writeFile(file, text.replace("session", "SESSION") + two);
		expect(summary(await log.readSession(file))).toEqual({ bindings: [["u1", b]], rejected: 0 });
		expect(await readOnce(file)).toBe("not-a-session");
	});

	test("a line that was torn is read once it is finished, and not counted any more", async () => {
		const file = await write("s", header("s", 0), one, two.slice(0, 150));
		const log = createSessionLog();
		expect(summary(await log.readSession(file))).toEqual({ bindings: [["u1", a]], rejected: 1 });
		await appendFile(file, two.slice(150));
		expect(summary(await log.readSession(file))).toEqual({ bindings: [["u1", b]], rejected: 0 });
	});

	test.each([
		["is shorter", [header("s", 0), turn(["u9", c])]],
		["is longer", [header("s", 0), message("y".repeat(500)), turn(["u9", c])]],
	])("reads all anew when the file was written anew and %s [R1]", async (_name, lines) => {
		const file = await write("s", header("s", 0), one, message("x"), message("x"));
		const log = createSessionLog();
		await log.readSession(file);
		await write("s", ...lines);
		expect(summary(await log.readSession(file))).toEqual({ bindings: [["u9", c]], rejected: 0 });
	});

	test("reads all anew when another file took the place [R1]", async () => {
		const file = await write("s", header("s", 0), one, message("x"));
		const log = createSessionLog();
		await log.readSession(file);
		await rename(await write("t", header("t", 0), two, message("x")), file);
		expect(await log.readSession(file)).toMatchObject({ session: { sessionId: "t" } });
		await rm(file);
		expect(summary(await log.readSession(file))).toBe("missing");
	});
});

test("a fork left for its child is read with the entry that says so", async () => {
	const file = await write(
		"s",
		header("s", 0),
		custom("rewind-fork-pending", encodeForkPending({ current: a, undo: b }), "f1"),
		custom("rewind-fork-pending", encodeForkPending({ current: b }), "f2"),
	);
	expect(await readForkPending(file)).toEqual({
		entry: "f2",
		timestamp: at(1),
		current: b,
		undo: undefined,
	});
	expect(await readForkPending(join(dir, "gone"))).toBeUndefined();
});
