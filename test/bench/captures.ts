/** How long a capture takes when nothing, one file, a hundred files changed, beside its rivals. */
import { setTimeout as sleep } from "node:timers/promises";
import { createCollector, inRounds, measure, type Measured, type Rounds } from "./measure.ts";
import type { BenchRepository } from "./repository.ts";
import { createFreshIndexCapture, gitStatus } from "./rivals.ts";
import { owner, type Subject } from "./subject.ts";

export interface CaptureResult {
	readonly changed: number;
	readonly ours: Measured;
	readonly status: Measured;
	readonly fresh: Measured;
}

const cases = [0, 1, 100];
/** Nothing changed since a while: what the next prompt finds. */
const quietMs = 1_500;

export async function benchCaptures(
	repository: BenchRepository,
	{ rewind }: Subject,
	edit: (count: number) => void,
	rounds: Rounds,
): Promise<CaptureResult[]> {
	const fresh = createFreshIndexCapture(repository.root);
	const collected = createCollector();
	const capture = () => rewind.capture({ owner });
	await inRounds(rounds, async () => {
		for (const changed of cases) {
			// Both start from the files as they are; then each gets a change of its own to find.
			fresh.startFrom((await capture()).snapshot.tree);
			if (changed > 0) edit(changed);
			else await sleep(quietMs);
			collected.add(`status ${changed}`, await measure(() => gitStatus(repository.root)));
			if (changed > 0) edit(changed);
			let tree = "";
			collected.add(`fresh ${changed}`, await measure(async () => (tree = await fresh.capture())));
			if (changed > 0) await assertSame(tree, async () => (await capture()).snapshot.tree);
			if (changed > 0) edit(changed);
			collected.add(`ours ${changed}`, await measure(capture));
		}
	});
	const all = collected.all();
	const named = (name: string): Measured => {
		const found = all.find((each) => each.name === name);
		if (found === undefined) throw new Error(`BUG: nothing measured as ${name}`);
		return found;
	};
	return cases.map((changed) => ({
		changed,
		ours: named(`ours ${changed}`),
		status: named(`status ${changed}`),
		fresh: named(`fresh ${changed}`),
	}));
}

/** A fast capture of something else would be worth nothing. */
async function assertSame(expected: string, actual: () => Promise<string>): Promise<void> {
	const got = await actual();
	if (got !== expected) throw new Error(`The capture's tree is ${got}, git's own ${expected}`);
}
