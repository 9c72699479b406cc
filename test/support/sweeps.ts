/** Sweeps without Pi: session files as tests need them, and a request that asks for as much as there can be. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SnapshotId } from "../../src/core/ids.ts";
import { encodeTurn } from "../../src/core/records.ts";
import type { RetentionPolicy } from "../../src/core/retention.ts";
import type { Owner } from "../../src/engine/ports.ts";
import type { SweepRequest } from "../../src/engine/sweep.ts";
import { createCatalog } from "../../src/sessions/catalog.ts";
import { createSessionLog } from "../../src/sessions/log.ts";
import { readSources } from "../../src/sessions/sources.ts";

/** Nothing is young, one point of each session stays, every session counts. */
export const strict: RetentionPolicy = {
	maxSnapshots: 1,
	maxAgeDays: undefined,
	pinLabeledEntries: true,
	scanMode: "repo-sessions",
	graceHours: 0,
};

export interface SweepMore {
	readonly policy?: Partial<RetentionPolicy>;
	readonly current?: string;
	/** Runs when the sessions are read: between what is kept and what is decided. */
	readonly during?: () => Promise<void>;
}

/** A sweep over the sessions in a folder. */
export function sweepRequest(
	folder: string,
	{ policy = {}, current, during }: SweepMore = {},
): SweepRequest {
	const whole = { ...strict, ...policy };
	const catalog = createCatalog(createSessionLog());
	return {
		policy: whole,
		current,
		async sources(owners, signal) {
			await during?.();
			const roots = [{ folder, nested: false }];
			return readSources(catalog, { roots, scanMode: whole.scanMode, current, owners, signal });
		},
	};
}

let entries = 0;

/** Appends records to a session's file, which it makes when there is none. */
export function record(
	{ sessionId, sessionFile }: Owner,
	snapshots: readonly SnapshotId[],
	parentSession?: string,
): void {
	if (sessionFile === undefined) throw new Error("an ephemeral session has no file");
	const timestamp = new Date().toISOString();
	mkdirSync(dirname(sessionFile), { recursive: true });
	try {
		const header = {
			type: "session",
			version: 3,
			id: sessionId,
			timestamp,
			cwd: "/",
			parentSession,
		};
		writeFileSync(sessionFile, `${JSON.stringify(header)}\n`, { flag: "wx" });
	} catch {
		// It is there already.
	}
	for (const id of snapshots) {
		const data = encodeTurn([[`e${entries++}`, id]]);
		const entry = {
			type: "custom",
			customType: "rewind-turn",
			data,
			id: "r",
			parentId: null,
			timestamp,
		};
		appendFileSync(sessionFile, `${JSON.stringify(entry)}\n`);
	}
}
