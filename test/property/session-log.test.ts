/**
 * Scanning by bytes against a reader that parses every line.
 *
 * Random files of records, of lines that look like records, of torn, glued and over-long ones; written in pieces that
 * end anywhere, and read after each piece by one log, in chunks of any size.
 */
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import type { Ledger, LedgerEntry } from "../../src/core/ledger.ts";
import { foldLedger, withRejected } from "../../src/core/ledger.ts";
import { encodeForkPending, encodeOp, encodeTurn } from "../../src/core/records.ts";
import { createSessionLog } from "../../src/sessions/log.ts";

let dir = "";
beforeAll(async () => {
	dir = await mkdtemp(join(tmpdir(), "rewind-scan-"));
});
afterAll(() => rm(dir, { recursive: true }));

const lineBytesMax = 400;
const sessionHeader = `{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z"}\n`;

/** Parses every line, knows no offsets. */
function naiveLedger(content: Buffer): Ledger {
	const entries: LedgerEntry[] = [];
	let rejected = 0;
	for (const line of content.toString("latin1").split("\n")) {
		const read = line.length < lineBytesMax ? naiveEntry(line) : "rejected";
		if (read === "rejected") rejected += 1;
		else if (read !== undefined) entries.push(read);
	}
	return withRejected(foldLedger(entries), rejected);
}

function naiveEntry(latin1: string): LedgerEntry | "rejected" | undefined {
	const line = Buffer.from(latin1, "latin1").toString("utf8");
	try {
		const value: LedgerEntry | null = JSON.parse(line);
		if (value?.type !== "custom" || !String(value.customType).startsWith("rewind-"))
			return undefined;
		return value;
	} catch {
		return /"customType"[ \t]*:[ \t]*"rewind-/.test(line) ? "rejected" : undefined;
	}
}

const snapshot = fc
	.tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom(40, 64))
	.map(([digit, length]) => trustedObjectId(String(digit).repeat(length)));
const entryId = fc.constantFrom("e1", "e2", "e3", "é😀");
const data = fc.oneof(
	fc
		.array(fc.tuple(entryId, snapshot), { maxLength: 3 })
		.map((points) => ({ customType: "rewind-turn", data: encodeTurn(points) })),
	fc
		.record({ current: snapshot, undo: snapshot }, { requiredKeys: [] })
		.map((op) => ({ customType: "rewind-op", data: encodeOp(op) })),
	snapshot.map((current) => ({
		customType: "rewind-fork-pending",
		data: encodeForkPending({ current }),
	})),
	fc.constant({ customType: "rewind-op", data: { v: 9 } }),
	fc.constant({ customType: "rewind-other", data: {} }),
	fc.constant({ customType: "other", data: { customType: "rewind-turn" } }),
);
const record = fc
	.tuple(data, entryId, fc.constantFrom("custom", "custom", "custom", "custom_message"))
	.map(([{ customType, data: said }, id, type]) =>
		JSON.stringify({ type, customType, data: said, id }),
	);

const line = fc.oneof(
	{ weight: 6, arbitrary: record },
	{ weight: 1, arbitrary: record.map((text) => text.replaceAll(":", ": ")) },
	{
		weight: 1,
		arbitrary: record.map((text) => JSON.stringify({ type: "message", content: text })),
	},
	{ weight: 1, arbitrary: fc.tuple(record, record).map((glued) => glued.join("")) },
	{ weight: 1, arbitrary: record.map((text) => `\0\0${text}`) },
	{ weight: 1, arbitrary: record.map((text) => text.replace("{", `{"pad":"${"x".repeat(300)}",`)) },
	{ weight: 1, arbitrary: fc.tuple(record, fc.nat(200)).map(([text, end]) => text.slice(0, end)) },
	{ weight: 1, arbitrary: fc.tuple(record, fc.nat(200)).map(([text, from]) => text.slice(from)) },
	{ weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 500 }) },
);
const separator = fc.constantFrom("\n", "\n", "\n", "\r\n", "\n\n");
const content = fc
	.array(fc.tuple(line, separator), { maxLength: 10 })
	.map((lines) => Buffer.from(lines.flat().join("")));

test("finds what a reader that parses every line finds, wherever chunks and pieces end [R10]", async () => {
	let files = 0;
	await fc.assert(
		fc.asyncProperty(
			content,
			fc.array(fc.nat(3_000), { maxLength: 4 }),
			fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 1_000 })),
			async (bytes, cuts, chunkBytes) => {
				const file = join(dir, String((files += 1)));
				await writeFile(file, sessionHeader);
				const log = createSessionLog({ chunkBytes, lineBytesMax });
				const ends = [...cuts, bytes.length].map((cut) => Math.min(cut, bytes.length));
				let written = 0;
				for (const end of ends.toSorted((a, b) => a - b)) {
					await appendFile(file, bytes.subarray(written, end));
					written = end;
					const read = await log.readSession(file);
					const ledger = read.kind === "session" ? read.session.ledger : undefined;
					expect(ledger).toEqual(naiveLedger(bytes.subarray(0, written)));
				}
			},
		),
		{ numRuns: 300 },
	);
});
