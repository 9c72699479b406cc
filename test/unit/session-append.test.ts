/** An entry is added to a session file whole or not at all, as Pi itself would add it. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appendCustomEntry, checkAppendable } from "../../src/sessions/append.ts";
import { readTranscript } from "../../src/sessions/transcript.ts";

let at: string;
let file: string;
beforeEach(() => {
	at = mkdtempSync(join(tmpdir(), "append-"));
	file = join(at, "s.jsonl");
});
afterEach(() => rmSync(at, { recursive: true, force: true }));

const header = `${JSON.stringify({ type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" })}\n`;
const message = (id: string, parentId: string | null, text = "hello"): string =>
	`${JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-01T00:00:01.000Z", message: { role: "user", content: text } })}\n`;
const record = { customType: "rewind-op", data: { v: 2, snapshots: [] } };

test("Pi reads it as the newest entry, child of the one before, and goes on from there", async () => {
	writeFileSync(file, header + message("aaaaaaaa", null));
	const id = await appendCustomEntry(file, record, Date.parse("2026-01-02T03:04:05.678Z"));
	const manager = SessionManager.open(file);
	expect(manager.getLeafId()).toBe(id);
	expect(manager.getEntry(id)).toEqual({
		type: "custom",
		customType: "rewind-op",
		data: { v: 2, snapshots: [] },
		id,
		parentId: "aaaaaaaa",
		timestamp: "2026-01-02T03:04:05.678Z",
	});
	expect(id).toMatch(/^[0-9a-f]{8}$/);
	expect(readFileSync(file, "utf8").startsWith(header + message("aaaaaaaa", null))).toBe(true);
});

test("a torn line in the middle is passed by, as Pi does; a torn end is refused and left as it is", async () => {
	writeFileSync(file, `${header}${message("aaaaaaaa", null)}{"torn\n`);
	const id = await appendCustomEntry(file, record, 0);
	expect((await readTranscript(file)).entries.at(-1)).toMatchObject({ id, parentId: "aaaaaaaa" });
	appendFileSync(file, '{"type":"mess');
	const before = readFileSync(file, "utf8");
	await expect(checkAppendable(file)).rejects.toMatchObject({ code: "io-failed" });
	await expect(appendCustomEntry(file, record, 0)).rejects.toMatchObject({ code: "io-failed" });
	expect(readFileSync(file, "utf8")).toBe(before);
	await expect(checkAppendable(join(at, "none"))).rejects.toMatchObject({ code: "io-failed" });
});

test("two processes that append at once both keep their lines whole", async () => {
	writeFileSync(file, header + message("aaaaaaaa", null));
	const all = await Promise.allSettled(
		Array.from({ length: 8 }, () => appendCustomEntry(file, record, 0)),
	);
	const added = all.filter(({ status }) => status === "fulfilled").length;
	const { entries, unreadable } = await readTranscript(file);
	expect([entries.length, unreadable]).toEqual([1 + added, 0]);
	expect(added).toBeGreaterThan(0);
});

test("a transcript keeps the beginning of each message, and counts what it cannot read", async () => {
	writeFileSync(
		file,
		`${header}${message("a", null, "x".repeat(10_000))}no json\n[1]\n${message("b", "a").trimEnd()}`,
	);
	const { entries, unreadable } = await readTranscript(file);
	expect(entries.map(({ id, parentId }) => [id, parentId])).toEqual([
		["a", null],
		["b", "a"],
	]);
	expect(JSON.stringify(entries[0]).length).toBeLessThan(1_000);
	expect(unreadable).toBe(2);
});
