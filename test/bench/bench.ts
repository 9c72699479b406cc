/**
 * `npm run bench`: how long rewind takes, beside `git status` and a capture the predecessor's way.
 *
 *   --sizes 1000,10000,100000   numbers of files
 *   --rounds N                  rounds of each measurement; without, as many as half a minute allows, at most 15
 *   --kept N --sessions N       snapshots for a sweep (10,000), sessions of 5 MB to read (200); 0 leaves both out
 *   --json FILE                 also writes everything that was measured
 *
 * Read the ratios: everything in a block ran in turns, on warm caches, on this machine and under its load of the
 * moment. Nothing here fails for being slow; it fails when a capture or a restore is wrong.
 */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchCaptures } from "./captures.ts";
import { benchKeeping } from "./keeping.ts";
import { measure, type Rounds } from "./measure.ts";
import { keepingRows, renderTable, rowsOf, type SizeResult, titleOf } from "./report.ts";
import { createEditor, makeRepository } from "./repository.ts";
import { benchRestores } from "./restores.ts";
import { openSubject, owner } from "./subject.ts";
import { benchTurns } from "./turns.ts";
import { makeWorkplace } from "./workplace.ts";

const { values } = parseArgs({
	options: {
		sizes: { type: "string", default: "1000,10000,100000" },
		rounds: { type: "string" },
		kept: { type: "string", default: "10000" },
		sessions: { type: "string", default: "200" },
		json: { type: "string" },
	},
});
const sizes = values.sizes.split(",").map(Number);
const roundsAsked = values.rounds === undefined ? undefined : Number(values.rounds);
if ([...sizes, roundsAsked ?? 1].some((n) => !Number.isInteger(n) || n < 1))
	throw new Error("--sizes and --rounds take whole numbers above 0");

/** Enough for steady medians; on a busy machine and in large trees the time is up before. */
const roundsUsual = 15;
const rounds = (seconds: number): Rounds => ({
	most: roundsAsked ?? roundsUsual,
	untilMs: roundsAsked === undefined ? seconds * 1000 : Number.POSITIVE_INFINITY,
});
const prompts = 2;
/** A quick model, and one of usual speed. */
const modelsMs = [400, 1_500];

async function benchSize(at: string, files: number): Promise<SizeResult> {
	const root = join(at, `files-${files}`);
	const repository = await makeRepository(root, files);
	const edit = createEditor(repository);
	const subject = await openSubject(root);
	try {
		const first = await measure(() => subject.rewind.capture({ owner }));
		const captures = await benchCaptures(repository, subject, edit, rounds(35));
		const restores = await benchRestores(repository, subject, edit, rounds(15));
		const turns = [];
		for (const modelMs of modelsMs) turns.push(await benchTurns(subject, edit, prompts, modelMs));
		return {
			files,
			repository,
			first: { name: "first", samples: [first] },
			captures,
			restores,
			turns,
		};
	} finally {
		await subject.rewind.close();
		rmSync(root, { recursive: true, force: true });
	}
}

using workplace = makeWorkplace();
const git = execFileSync("git", ["version"], { encoding: "utf8" }).trim();
console.log(`node ${process.version} · ${git} · ${cpus().length} cores\n`);
const results: object[] = [];
for (const files of sizes) {
	const result = await benchSize(workplace.at, files);
	const rows = rowsOf(result);
	console.log(renderTable(titleOf(result), rows));
	const { repository, ...measured } = result;
	results.push({ ...measured, tracked: repository.tracked.length, rows });
}
const keeping = { live: Number(values.kept), sessions: Number(values.sessions) };
if (keeping.live > 0 && keeping.sessions > 0) {
	const measured = await benchKeeping(workplace.at, keeping, rounds(20));
	const rows = keepingRows(measured);
	console.log(renderTable("keeping", rows));
	results.push({ keeping: measured, rows });
}
if (values.json !== undefined)
	writeFileSync(values.json, `${JSON.stringify(results, undefined, "\t")}\n`);
