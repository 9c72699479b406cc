/**
 * `node test/bench/profile.ts [sizes]`: where the time of one capture goes, process by process.
 *
 * A line is a process: when it was started and when its end was seen, in milliseconds since the capture began. The
 * gaps between are our own work. Medians over rounds whose processes were the same ones in the same order.
 */
import type { ChildProcess } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { join } from "node:path";
import { median } from "./measure.ts";
import { createEditor, makeRepository } from "./repository.ts";
import { gitStatus } from "./rivals.ts";
import { openSubject, owner } from "./subject.ts";
import { makeWorkplace } from "./workplace.ts";

interface Span {
	readonly name: string;
	readonly start: number;
	end: number;
}

let spans: Span[] = [];
let origin = 0;
channel("child_process").subscribe((message) => {
	if (typeof message !== "object" || message === null || !("process" in message)) return;
	const child = message.process as ChildProcess;
	const start = performance.now() - origin;
	const own = spans;
	child.once("close", () => {
		const end = performance.now() - origin;
		own.push({ name: nameOf(child.spawnargs), start, end });
	});
});

/** `git -c a=b --git-dir x status -z …` is "status -z …". */
function nameOf(spawnargs: readonly string[]): string {
	const words = spawnargs.slice(1);
	while (words[0]?.startsWith("-"))
		words.splice(0, /^(-c|--git-dir|--work-tree)$/.test(words[0]) ? 2 : 1);
	return words
		.map((word) => (/^[0-9a-f]{40,}$/.test(word) ? "…" : word))
		.join(" ")
		.slice(0, 60);
}

interface Round {
	readonly total: number;
	readonly spans: readonly Span[];
}

async function profile(task: () => Promise<unknown>): Promise<Round> {
	spans = [];
	origin = performance.now();
	await task();
	const total = performance.now() - origin;
	return { total, spans: spans.toSorted((a, b) => a.start - b.start) };
}

function print(title: string, rounds: readonly Round[], statusMs: number): void {
	const key = ({ spans }: Round): string => spans.map(({ name }) => name).join("|");
	const usual = rounds.map(key).toSorted()[rounds.length >> 1];
	const same = rounds.filter((round) => key(round) === usual);
	const of = (pick: (round: Round) => number): string => median(same.map(pick)).toFixed(1);
	console.log(
		`${title}: ${of(({ total }) => total)} ms, ${same[0]?.spans.length ?? 0} processes; git status ${statusMs.toFixed(1)} ms`,
	);
	for (const [i, { name }] of (same[0]?.spans ?? []).entries()) {
		const start = of((round) => round.spans[i]?.start ?? 0);
		const end = of((round) => round.spans[i]?.end ?? 0);
		const took = of((round) => (round.spans[i]?.end ?? 0) - (round.spans[i]?.start ?? 0));
		console.log(`  ${start.padStart(7)} – ${end.padStart(7)}  ${took.padStart(7)}  ${name}`);
	}
}

const sizes = (process.argv[2] ?? "1000,10000,100000").split(",").map(Number);
const roundCount = Number(process.argv[3] ?? 9);
using workplace = makeWorkplace();
for (const files of sizes) {
	const repository = await makeRepository(join(workplace.at, `files-${files}`), files);
	const edit = createEditor(repository);
	const { rewind } = await openSubject(repository.root);
	const capture = () => rewind.capture({ owner });
	await capture();
	const rounds = new Map<number, Round[]>([0, 1, 100].map((changed) => [changed, []]));
	const status: number[] = [];
	for (let round = 0; round < roundCount; round++) {
		for (const [changed, list] of rounds) {
			await capture();
			const start = performance.now();
			await gitStatus(repository.root);
			status.push(performance.now() - start);
			if (changed > 0) edit(changed);
			list.push(await profile(capture));
		}
	}
	for (const [changed, list] of rounds)
		print(`${files} files, ${changed} changed`, list, median(status));
	await rewind.close();
}
