/** `stats`: how much there is, what it weighs, what is outside of it. */
import { describeNotCovered } from "../core/choices.ts";
import type { Snapshot } from "../core/coverage.ts";
import { displayPath } from "../core/ids.ts";
import type { Weight } from "../engine/care.ts";
import { notCoveredFacts, pathFacts } from "./facts.ts";
import { exitCodes, type Report } from "./io.ts";
import { localTime, plural, sizeText, table } from "./text.ts";
import type { Workplace } from "./workplace.ts";

interface Numbers {
	readonly snapshots: number;
	readonly sessions: number;
	/** Entries with a point, in the sessions of this folder. */
	readonly points: number;
	readonly weight: Weight;
	/** The newest snapshot of this working tree. */
	readonly newest: Snapshot | undefined;
}

/** Reads only. */
export async function stats(place: Workplace): Promise<Report> {
	const [kept, { found }, weight] = await Promise.all([
		place.care.kept(),
		place.sessions(),
		place.care.weigh(),
	]);
	const numbers: Numbers = {
		snapshots: kept.length,
		sessions: found.length,
		points: found.reduce((sum, { session }) => sum + session.ledger.bindings.size, 0),
		weight,
		newest: await newestHere(place, kept),
	};
	return { exit: exitCodes.done, facts: statsFacts(numbers), text: statsText(numbers) };
}

/** Snapshots of linked worktrees are in the same store. */
async function newestHere(
	{ rewind }: Workplace,
	kept: Awaited<ReturnType<Workplace["care"]["kept"]>>,
): Promise<Snapshot | undefined> {
	for (const id of kept) {
		const snapshot = await rewind.store.resolve(id);
		if (typeof snapshot !== "string") return snapshot;
	}
	return undefined;
}

const statsFacts = ({ snapshots, sessions, points, weight, newest }: Numbers): object => ({
	snapshots,
	sessions,
	points,
	onlyInSnapshots: { objects: weight.objects, bytes: weight.bytes },
	largest: weight.largest.map(({ path, id, size }) => ({ ...pathFacts(path), id, size })),
	newest: newest?.id ?? null,
	notCovered: newest?.coverage.notCovered.map(notCoveredFacts) ?? null,
});

function statsText({ snapshots, sessions, points, weight, newest }: Numbers): string {
	const notCovered = newest?.coverage.notCovered ?? [];
	const rows = [
		["snapshots", `${snapshots} in this repository`],
		["sessions", `${sessions} of this folder, with ${plural(points, "point")}`],
		[
			"space",
			`${sizeText(weight.bytes)} that only snapshots hold (${plural(weight.objects, "object")})`,
		],
		[
			"newest",
			newest === undefined
				? "none of this working tree"
				: localTime(newest.head?.takenAt ?? Number.NaN),
		],
		["not covered", notCovered.length === 0 ? "nothing" : describeNotCovered(notCovered)],
	];
	if (weight.largest.length === 0) return table(rows, "");
	const largest = weight.largest.map(({ path, size }) => [sizeText(size), displayPath(path)]);
	return `${table(rows, "")}\nThe largest files that only snapshots hold:\n${table(largest)}`;
}
