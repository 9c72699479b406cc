/** How long a sweep takes when much is kept, and how long it takes to learn what many long sessions say. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { trustedObjectId } from "../../src/core/ids.ts";
import { encodeTurn } from "../../src/core/records.ts";
import type { SweepRequest } from "../../src/engine/sweep.ts";
import { emptyTree } from "../../src/git/objects.ts";
import { createCatalog } from "../../src/sessions/catalog.ts";
import { createSessionLog } from "../../src/sessions/log.ts";
import { readSources } from "../../src/sessions/sources.ts";
import { inRounds, measure, type Measured, type Rounds, type Sample } from "./measure.ts";
import { openSubject } from "./subject.ts";

export interface KeepingResult {
	/** Snapshots that stay; some more go. */
	readonly live: number;
	/** From the listing of the ref to the swap. */
	readonly sweep: Measured;
	readonly sessions: number;
	/** All of their headers and records, for the first time. */
	readonly ledger: Measured;
	/** Again, when nothing was written since. */
	readonly unchanged: Measured;
}

export interface KeepingSizes {
	readonly live: number;
	/** Of 5 MB each. */
	readonly sessions: number;
}

const owners = 10;
/** Of each owner, beyond its limit. */
const surplus = 10;
const sessionBytes = 5_000_000;
const storeRef = "refs/pi-rewind/store";
const day = 24 * 60 * 60;
const then = 1_750_000_000;

export async function benchKeeping(
	at: string,
	{ live, sessions }: KeepingSizes,
	rounds: Rounds,
): Promise<KeepingResult> {
	const sweeps = await benchSweep(join(at, "kept"), live, rounds);
	const folder = join(at, "sessions");
	mkdirSync(folder);
	for (let i = 0; i < sessions; i++)
		writeSession(join(folder, `${i}.jsonl`), `s-${i}`, [], sessionBytes);
	const firsts: Sample[] = [];
	const agains: Sample[] = [];
	await inRounds(rounds, async () => {
		const catalog = createCatalog(createSessionLog());
		const read = async (): Promise<void> => {
			const found = await catalog.find([{ folder, nested: false }]);
			const reads = await catalog.read(found.sessions.map(({ file }) => file));
			if (reads.filter(({ kind }) => kind === "session").length !== sessions)
				throw new Error("A session was not read");
		};
		firsts.push(await measure(read));
		agains.push(await measure(read));
	});
	return {
		live,
		sessions,
		sweep: { name: "sweep", samples: sweeps },
		ledger: { name: "ledger", samples: firsts },
		unchanged: { name: "unchanged", samples: agains },
	};
}

async function benchSweep(root: string, live: number, rounds: Rounds): Promise<Sample[]> {
	const folder = join(root, "sessions");
	mkdirSync(folder, { recursive: true });
	const git = (args: readonly string[], input = ""): string =>
		execFileSync("git", args, { cwd: root, input, encoding: "utf8", maxBuffer: 1 << 28 }).trim();
	git(["init", "-q"]);
	git(["hash-object", "-w", "-t", "tree", "--stdin"]);
	const each = Math.ceil(live / owners);
	const names = Array.from({ length: owners }, (_, i) => join(folder, `o-${i}.jsonl`));
	git(["fast-import", "--quiet"], chain(names, each + surplus));
	const listed = git(["rev-list", "--reverse", "--format=%H %s", storeRef]).split("\n");
	const ids = listed
		.filter((line) => line.endsWith(" rewind snapshot"))
		.map((line) => line.slice(0, 40));
	for (const [i, file] of names.entries())
		writeSession(
			file,
			`o-${i}`,
			ids.filter((_, n) => n % owners === i),
			0,
		);
	const tip = git(["rev-parse", storeRef]);
	const { rewind } = await openSubject(root);
	const catalog = createCatalog(createSessionLog());
	const request: SweepRequest = {
		policy: {
			maxSnapshots: each,
			maxAgeDays: undefined,
			pinLabeledEntries: true,
			scanMode: "repo-sessions",
			graceHours: 24,
		},
		current: undefined,
		sources: (owners, signal) =>
			readSources(catalog, {
				roots: [{ folder, nested: false }],
				scanMode: "repo-sessions",
				current: undefined,
				owners,
				signal,
			}),
	};
	const samples: Sample[] = [];
	try {
		await inRounds(rounds, async () => {
			git(["update-ref", storeRef, tip]);
			samples.push(
				await measure(async () => {
					const swept = await rewind.sweep(request);
					if (swept.kind !== "swept" || swept.live !== each * owners)
						throw new Error(`Swept ${JSON.stringify(swept).slice(0, 200)}`);
				}),
			);
		});
	} finally {
		await rewind.close();
	}
	return samples;
}

/** A stream for fast-import: as captures leave it, one keep commit a snapshot, its owners in turn. */
function chain(files: readonly string[], each: number): string {
	const lines: string[] = [];
	const tree = emptyTree("sha1");
	const commit = (mark: number, seconds: number, message: string, ref = "refs/bench/x"): void => {
		lines.push(`commit ${ref}`, `mark :${mark}`, `committer b <b@b> ${seconds} +0000`);
		lines.push(`data ${Buffer.byteLength(message)}`, message);
	};
	commit(1, 0, "rewind coverage\n");
	lines.push(`M 040000 ${tree} `);
	for (let n = 0; n < files.length * each; n++) {
		const place = n % files.length;
		const seconds = then + n * 60;
		commit(2 * n + 2, seconds, `rewind snapshot\n\n{"n":${n}}\n`);
		lines.push("from :1", `M 040000 ${tree} `);
		const trailers = `Session: o-${place}\nSession-File: ${files[place] ?? ""}\n`;
		commit(2 * n + 3, seconds, `rewind keep\n\n${trailers}`, storeRef);
		if (n > 0) lines.push(`from :${2 * n + 1}`);
		lines.push(`merge :${2 * n + 2}`);
		lines.push(`M 040000 ${tree} `);
	}
	return `${lines.join("\n")}\n`;
}

/** A session that binds the snapshots, or invented ones until the file is large enough. */
function writeSession(file: string, id: string, snapshots: readonly string[], bytes: number): void {
	const handle = openSync(file, "w");
	const timestamp = new Date((then + day) * 1000).toISOString();
	const write = (value: object): number =>
		writeSync(handle, `${JSON.stringify({ ...value, timestamp })}\n`);
	const turn = (n: number, snapshot: string): number => {
		const data = encodeTurn([[`e${n}`, trustedObjectId(snapshot)]]);
		return write({ type: "custom", customType: "rewind-turn", data, id: `r${n}`, parentId: null });
	};
	write({ type: "session", version: 3, id, cwd: "/" });
	for (const [n, snapshot] of snapshots.entries()) turn(n, snapshot);
	const text = 'A line of an answer, with "quotes" and <code>.\n'.repeat(200);
	for (let n = 0, left = bytes; left > 0; n++) {
		const message = { role: "assistant", content: [{ type: "text", text }] };
		left -= write({ type: "message", id: `m${n}`, parentId: null, message });
		if (n % 5 === 0) left -= turn(n, n.toString(16).padStart(40, "0"));
	}
	closeSync(handle);
}
