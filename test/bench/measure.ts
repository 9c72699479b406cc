/** Measures tasks in turn, A B C A B C: a busy machine slows all of them, so their ratios hold. */
import { channel } from "node:diagnostics_channel";

export interface Sample {
	readonly ms: number;
	/** Processes started meanwhile. */
	readonly processes: number;
}

export interface Measured {
	readonly name: string;
	readonly samples: readonly Sample[];
}

let processes = 0;
channel("child_process").subscribe(() => void processes++);

export const processesStarted = (): number => processes;

export async function measure(task: () => Promise<unknown>): Promise<Sample> {
	const before = processes;
	const start = performance.now();
	await task();
	return { ms: performance.now() - start, processes: processes - before };
}

/**
 * How many rounds there are: as many as asked for, or, when nobody asked, until the time is up; never fewer than three,
 * or a median says nothing.
 */
export interface Rounds {
	readonly most: number;
	readonly untilMs: number;
}

const roundsMin = 3;

export async function inRounds(
	{ most, untilMs }: Rounds,
	round: () => Promise<void>,
): Promise<void> {
	const end = performance.now() + untilMs;
	for (let done = 0; done < most && (done < roundsMin || performance.now() < end); done++)
		await round();
}

/** Collects samples under names, in the order in which the names first came. */
export function createCollector(): {
	add(name: string, sample: Sample): void;
	all(): Measured[];
} {
	const samples = new Map<string, Sample[]>();
	return {
		add(name, sample) {
			const list = samples.get(name);
			if (list === undefined) samples.set(name, [sample]);
			else list.push(sample);
		},
		all: () => [...samples].map(([name, list]) => ({ name, samples: list })),
	};
}

export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const upper = sorted[sorted.length >> 1] ?? Number.NaN;
	if (sorted.length % 2 === 1) return upper;
	return ((sorted[(sorted.length >> 1) - 1] ?? Number.NaN) + upper) / 2;
}

export const medianMs = ({ samples }: Measured): number => median(samples.map(({ ms }) => ms));

/** The median of the rounds' own ratios: what a busy moment did to one round does not reach the others. */
export const ratio = (of: Measured, to: Measured): number =>
	median(of.samples.map(({ ms }, round) => ms / (to.samples[round]?.ms ?? Number.NaN)));
