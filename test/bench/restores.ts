/** How long a restore takes from the choice to the record, and how much of it is not its captures. */
import { inRounds, measure, type Measured, type Rounds, type Sample } from "./measure.ts";
import type { BenchRepository } from "./repository.ts";
import { gitStatus } from "./rivals.ts";
import { owner, type Subject } from "./subject.ts";

export interface RestoreResult {
	readonly files: number;
	/** Preview, prepare, perform, complete, with the captures in them. */
	readonly whole: Measured;
	/** The same without the captures. */
	readonly beyondCaptures: Measured;
	readonly status: Measured;
}

const cases = [1, 100];

export async function benchRestores(
	repository: BenchRepository,
	subject: Subject,
	edit: (count: number) => void,
	rounds: Rounds,
): Promise<RestoreResult[]> {
	const results = cases.map((files) => ({
		files,
		whole: [] as Sample[],
		beyond: [] as Sample[],
		status: [] as Sample[],
	}));
	await inRounds(rounds, async () => {
		for (const { files, whole, beyond, status } of results) {
			status.push(await measure(() => gitStatus(repository.root)));
			const { snapshot: target } = await subject.rewind.capture({ owner });
			edit(files);
			await subject.rewind.capture({ owner }); // as at the end of a turn, before anyone can ask
			const captureMs = subject.captureMs();
			const sample = await measure(() => restore(subject, target, files));
			whole.push(sample);
			beyond.push({ ...sample, ms: sample.ms - (subject.captureMs() - captureMs) });
		}
	});
	return results.map(({ files, whole, beyond, status }) => ({
		files,
		whole: { name: `whole ${files}`, samples: whole },
		beyondCaptures: { name: `beyond ${files}`, samples: beyond },
		status: { name: `status ${files}`, samples: status },
	}));
}

type Target = Parameters<Subject["rewind"]["preview"]>[0]["target"];

async function restore({ rewind }: Subject, target: Target, files: number): Promise<void> {
	const preview = await rewind.preview({ target, owner });
	const restored = await rewind.perform(await rewind.prepare(preview), owner);
	await restored.complete();
	if (restored.counts.changed !== files)
		throw new Error(`Restored ${JSON.stringify(restored.counts)}`);
}
