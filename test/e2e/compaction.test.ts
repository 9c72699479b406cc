/**
 * Compactions that Pi makes by itself in the middle of a prompt: their point, and the run that goes on after them.
 *
 *   context over its threshold ▸ between two turns of a run, since 0.84.4      context overflow ▸ between two runs of a prompt
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newestPi, piVersions, step, type PiVersion, type Step } from "../support/pi.ts";
import type { Entry, RpcPi } from "../support/rpc.ts";
import { createWorld, type Picture, type World } from "../support/world.ts";
import { bindingsOf, bound, restoredAt, snapshotOf } from "./scenes.ts";

/** The scripted model has room for a million tokens; this many of them may be used. */
const compactAbove = (tokens: number): Record<string, unknown> => ({
	compaction: { enabled: true, reserveTokens: 1_000_000 - tokens, keepRecentTokens: 1 },
});

/** Writes a file and says so many characters; four are a token. */
const writeAndSay = (content: string, length: number): Step =>
	step.bash(`echo ${content} > a.txt; head -c ${length} /dev/zero | tr '\\0' x`);

interface Compacted {
	readonly id: string;
	/** The files when Pi compacted, with `hand`; and before somebody wrote that. */
	readonly files: Picture;
	readonly before: Picture;
}

/** Runs a prompt that Pi compacts in the middle of, when so many answers are there; writes `hand` while it does. */
async function promptCompacting(
	world: World,
	pi: RpcPi,
	steps: readonly Step[],
	answersBefore: number,
): Promise<Compacted> {
	const go = join(world.at, "summarize");
	const asked = pi.nextSummary(step.once(go, "All of it, in short."));
	const settled = pi.settled();
	const compacted = pi.next("compaction_end");
	await pi.promptUntil("go on", steps, "compaction_start");
	const answer = answers(await pi.entries())[answersBefore - 1] ?? "";
	await bound(pi, answer);
	const before = world.files();
	world.write("hand", "by hand\n");
	const files = world.files();
	writeFileSync(go, "");
	expect(await compacted).toMatchObject({ aborted: false });
	await settled;
	expect([asked(), pi.stepsLeft()]).toEqual([true, 0]);
	const [id = "", ...more] = ofType(await pi.entries(), "compaction");
	expect(more).toEqual([]);
	return { id, files, before };
}

const ofType = (entries: readonly Entry[], type: string): string[] =>
	entries.filter((entry) => entry.type === type).map(({ id }) => id);
const answers = (entries: readonly Entry[]): string[] =>
	entries.filter(({ message }) => message?.role === "assistant").map(({ id }) => id);

test("a context over its threshold is compacted between two turns, with a point of its own, and the run goes on", async () => {
	await using world = createWorld();
	const pi = await world.rpc({ version: newestPi, log: true, settings: compactAbove(6_500) });
	const start = world.files();
	const compaction = await promptCompacting(
		world,
		pi,
		[
			writeAndSay("1", 12_000),
			writeAndSay("2", 12_000),
			step.bash("echo 3 > a.txt; rm hand"),
			"done",
		],
		2,
	);
	const end = world.files();
	// In the middle: the run had not ended, and no other began.
	const types = pi.events().map(({ type }) => type);
	expect(types.filter((type) => /^(agent_(start|end)|session_compact)$/.test(type))).toEqual([
		"agent_start",
		"session_compact",
		"agent_end",
	]);
	const [first = "", second = "", , last = ""] = answers(await pi.entries());

	expect(await restoredAt(world, pi, compaction.id, compaction.files)).toEqual([]);
	expect(await restoredAt(world, pi, second, compaction.before)).toEqual([]);
	expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
	expect(await restoredAt(world, pi, last, end)).toEqual([]);
	expect(await restoredAt(world, pi, first, end)).toHaveLength(1);
	expect(world.read("a.txt")).toBe("1\n");
	const bindings = bindingsOf(await pi.entries());
	expect(bindings.filter(({ entry }) => entry === compaction.id)).toHaveLength(1);
	expect([pi.errors, pi.stderr(), pi.notifications]).toEqual([[], "", []]);
});

test("an answer right after a compaction in a run has the files of the compaction, not of the turn before", async () => {
	await using world = createWorld();
	const pi = await world.rpc({ version: newestPi, settings: compactAbove(6_500) });
	const steps = [writeAndSay("1", 12_000), writeAndSay("2", 12_000), "done"];
	const compaction = await promptCompacting(world, pi, steps, 2);
	const last = await pi.answer(0);
	await pi.prompt("next", step.bash("rm a.txt hand"), "two");
	expect(await restoredAt(world, pi, last, compaction.files)).toEqual([]);
	expect(await restoredAt(world, pi, compaction.id, compaction.files)).toEqual([]);
	expect(pi.errors).toEqual([]);
});

describe.each(piVersions)("on Pi %s", (version: PiVersion) => {
	test("an overflow is compacted in the middle of a prompt, with a point of its own, and the prompt goes on", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version, log: true, settings: compactAbove(900_000) });
		const start = world.files();
		const compaction = await promptCompacting(
			world,
			pi,
			[
				step.bash("echo 1 > a.txt"),
				step.fail("prompt is too long: 213462 tokens > 200000 maximum"),
				step.bash("echo 2 > a.txt; rm hand"),
				"done",
			],
			1,
		);
		const end = world.files();
		const types = pi.events().map(({ type }) => type);
		expect(types.filter((type) => /^(agent_(end|settled)|session_compact)$/.test(type))).toEqual([
			"agent_end",
			"session_compact",
			"agent_end",
			"agent_settled",
		]);
		const [first = "", failed = "", , last = ""] = answers(await pi.entries());
		expect(await restoredAt(world, pi, compaction.id, compaction.files)).toEqual([]);
		expect(await restoredAt(world, pi, await pi.user(0), start)).toEqual([]);
		expect(await restoredAt(world, pi, last, end)).toEqual([]);
		expect(await restoredAt(world, pi, first, compaction.before)).toEqual([]);
		expect(await snapshotOf(pi, failed)).toBe(await snapshotOf(pi, first));
		expect([pi.errors, pi.stderr(), pi.notifications]).toEqual([[], "", []]);
	});
});
