/** Prints what was measured, as a table for people, with the aims beside; and gives the same as data. */
import type { CaptureResult } from "./captures.ts";
import type { KeepingResult } from "./keeping.ts";
import { median, type Measured, medianMs, ratio } from "./measure.ts";
import type { BenchRepository } from "./repository.ts";
import type { RestoreResult } from "./restores.ts";
import type { TurnsResult } from "./turns.ts";

export interface SizeResult {
	readonly files: number;
	readonly repository: BenchRepository;
	readonly first: Measured;
	readonly captures: readonly CaptureResult[];
	readonly restores: readonly RestoreResult[];
	/** One for each speed of the model. */
	readonly turns: readonly TurnsResult[];
}

export interface Row {
	readonly what: string;
	readonly ms: number;
	readonly lowest: number;
	readonly highest: number;
	/** Against `git status --porcelain -uall` in the same rounds. */
	readonly toStatus?: number;
	/** Against a capture with a fresh index in the same rounds. */
	readonly toFresh?: number;
	readonly processes?: number;
	readonly aim?: string;
	readonly reached?: boolean;
}

const aims = {
	nothingToStatus: 0.6,
	restoreOneMs: 60,
	turnMs: 10,
	/** For 10,000 snapshots, and for 200 sessions of 5 MB. */
	sweepMs: 1_000,
	ledgerMs: 2_000,
	unchangedMs: 100,
};

export function rowsOf({ files, first, captures, restores, turns }: SizeResult): Row[] {
	const rows: Row[] = [];
	for (const { changed, status, fresh, ours } of captures) {
		const name = changed === 0 ? "nothing" : changed === 1 ? "1 file" : `${changed} files`;
		const toStatus = ratio(ours, status);
		rows.push(
			{ ...row(`git status, ${name} changed`, status), toStatus: 1 },
			{
				...row(`fresh-index capture, ${name} changed`, fresh),
				toStatus: ratio(fresh, status),
				toFresh: 1,
			},
			{
				...row(`rewind capture, ${name} changed`, ours),
				toStatus,
				toFresh: ratio(ours, fresh),
				...(changed === 0
					? {
							aim: `≤ ${aims.nothingToStatus} of git status`,
							reached: toStatus <= aims.nothingToStatus,
						}
					: {}),
			},
		);
	}
	for (const { files: restored, whole, beyondCaptures, status } of restores) {
		const name = restored === 1 ? "1 file" : `${restored} files`;
		rows.push({ ...row(`restore of ${name}, whole`, whole), toStatus: ratio(whole, status) });
		const beyond = row(`restore of ${name}, beyond its captures`, beyondCaptures);
		const aimed = restored === 1 && files === 100_000;
		rows.push({
			...beyond,
			toStatus: ratio(beyondCaptures, status),
			...(aimed
				? { aim: `≤ ${aims.restoreOneMs} ms`, reached: beyond.ms <= aims.restoreOneMs }
				: {}),
		});
	}
	for (const { modelMs, turn, prompt, capture, settle } of turns) {
		const model = `model ${modelMs / 1000} s`;
		const waits = row(`agent waits, a turn, ${model} (usual, and worst in “to”)`, turn);
		rows.push(
			{ ...waits, aim: `< ${aims.turnMs} ms`, reached: waits.ms < aims.turnMs },
			row(`agent waits, start of a prompt, ${model}`, prompt),
			row(`capture at a turn's end, ${model} (overlaps it)`, capture),
			row(`last point, after the run, ${model}`, settle),
		);
	}
	rows.push(row("first capture of the working tree", first));
	return rows;
}

function row(what: string, measured: Measured): Row {
	const times = measured.samples.map(({ ms }) => ms);
	const processes = median(measured.samples.map((sample) => sample.processes));
	return {
		what,
		ms: medianMs(measured),
		lowest: Math.min(...times),
		highest: Math.max(...times),
		...(processes > 0 ? { processes } : {}),
	};
}

const columns = ["", "median ms", "from", "to", "÷ status", "÷ fresh", "processes", "aim"];

/** What the sweep and the reading of sessions took; there is nothing to compare them with. */
export function keepingRows({ live, sessions, sweep, ledger, unchanged }: KeepingResult): Row[] {
	const aimed = (what: string, measured: Measured, aimMs: number): Row => {
		const one = row(what, measured);
		return { ...one, aim: `< ${aimMs} ms`, reached: one.ms < aimMs };
	};
	const all = `${count(sessions)} sessions of 5 MB`;
	return [
		aimed(`sweep, ${count(live)} snapshots stay`, sweep, aims.sweepMs),
		aimed(`ledger, ${all}, first time`, ledger, aims.ledgerMs),
		aimed(`ledger, ${all}, nothing changed`, unchanged, aims.unchangedMs),
	];
}

export const titleOf = ({ repository, files }: SizeResult): string => {
	const { tracked, untracked, ignored, folders } = repository;
	return (
		`${count(files)} files (${count(tracked.length)} tracked, ${count(untracked)} untracked, ` +
		`${count(ignored)} more ignored, ${count(folders)} folders)`
	);
};

export function renderTable(title: string, rows: readonly Row[]): string {
	const cells = [columns, ...rows.map(cellsOf)];
	const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
	const lines = cells.map((line) =>
		line
			.map((cell, i) => {
				const width = widths[i] ?? 0;
				return i === 0 || i === columns.length - 1 ? cell.padEnd(width) : cell.padStart(width);
			})
			.join("  ")
			.trimEnd(),
	);
	return [title, ...lines, ""].join("\n");
}

const cellsOf = (row: Row): string[] => [
	row.what,
	shortMs(row.ms),
	shortMs(row.lowest),
	shortMs(row.highest),
	row.toStatus?.toFixed(2) ?? "",
	row.toFresh?.toFixed(2) ?? "",
	row.processes === undefined ? "" : String(row.processes),
	row.aim === undefined ? "" : `${row.reached === true ? "✓" : "✗"} ${row.aim}`,
];

const count = (n: number): string => n.toLocaleString("en");
const shortMs = (ms: number): string => ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0);
