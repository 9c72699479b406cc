/**
 * Finds the point that a person means: `@2`, an entry id, a snapshot id, or the beginning of one.
 *
 * What fits more than one point is refused with all that it fits; what fits none is refused with what would.
 */
import { describeEntry } from "../core/entries.ts";
import { RewindError } from "../core/errors.ts";
import { shortId, type SnapshotId } from "../core/ids.ts";
import { resolvePoint } from "../core/lineage.ts";
import type { FoundSession, Point } from "./sessions.ts";
import { plainText } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** What a POINT can be, for help and errors. */
export const pointForms =
	"@2 (the second newest in `pi-rewind list`), an entry id, or a snapshot id of at least 7 digits";

/** Digits of an entry id below which nobody means one. */
const entryPrefixMin = 4;
const snapshotPrefixMin = 7;
const ambiguousShownMax = 10;

/** A snapshot that was asked for, with what is known of where it belongs. */
export interface Target {
	readonly snapshot: SnapshotId;
	/** The session whose records name it, the one used last first; absent for a snapshot that no session here names. */
	readonly found: FoundSession | undefined;
	readonly entry: Point["entry"] | undefined;
	/** What a person calls it. */
	readonly label: string;
}

/** Throws `no-such-point` where nothing, or more than one thing, fits. */
export async function findTarget(place: Workplace, asked: string): Promise<Target> {
	const number = /^@(\d{1,9})$/.exec(asked)?.[1];
	if (number !== undefined) return numbered(place, Number(number));
	const word = asked.toLowerCase();
	const fitting = [...(await byEntry(place, asked)), ...(await bySnapshot(place, word))];
	const [first] = fitting;
	if (first === undefined) throw await unknownPoint(place, asked);
	const exact = fitting.filter(({ entry, snapshot }) => entry?.id === asked || snapshot === word);
	const meant = exact.length > 0 ? exact : fitting;
	const [best = first] = meant;
	if (meant.every(({ snapshot }) => snapshot === best.snapshot)) return best;
	throw ambiguous(asked, meant);
}

async function numbered(place: Workplace, number: number): Promise<Target> {
	let seen = 0;
	for (const found of (await place.sessions()).found) {
		const points = await found.points();
		const point = points[number - seen - 1];
		if (point !== undefined) return targetOf(point);
		seen += points.length;
	}
	const there = seen === 0 ? "there are no points" : `there are @1 to @${seen}`;
	throw new RewindError("no-such-point", `There is no point @${number}: ${there}`, {
		hint: "pi-rewind list shows them",
	});
}

async function byEntry(place: Workplace, asked: string): Promise<Target[]> {
	if (asked.length < entryPrefixMin) return [];
	const targets: Target[] = [];
	for (const found of (await place.sessions()).found) {
		const chain = await found.chain();
		const isBound = chain.some(({ ledger }) =>
			[...ledger.bindings.keys()].some((id) => id.startsWith(asked)),
		);
		if (!isBound) continue;
		for (const entry of (await found.transcript()).entries) {
			const snapshot = entry.id.startsWith(asked)
				? resolvePoint(entry, chain)?.snapshot
				: undefined;
			if (snapshot !== undefined) targets.push(targetOf({ found, entry, snapshot }));
		}
	}
	return targets;
}

async function bySnapshot(place: Workplace, word: string): Promise<Target[]> {
	if (word.length < snapshotPrefixMin || !/^[0-9a-f]+$/.test(word)) return [];
	const named = new Map<SnapshotId, FoundSession | undefined>();
	for (const found of (await place.sessions()).found)
		for (const { ledger } of await found.chain())
			for (const id of ledger.snapshots)
				if (id.startsWith(word) && !named.has(id)) named.set(id, found);
	// Also what no session of this folder names: of another folder's, or of one that was deleted.
	for (const id of await place.care.kept())
		if (id.startsWith(word) && !named.has(id)) named.set(id, undefined);
	return [...named].map(([snapshot, found]) => ({
		snapshot,
		found,
		entry: undefined,
		label: `snapshot ${shortId(snapshot)}`,
	}));
}

const targetOf = ({ found, entry, snapshot }: Point): Target => ({
	found,
	entry,
	snapshot,
	label: describeEntry(entry),
});

function ambiguous(asked: string, fitting: readonly Target[]): RewindError {
	const unique = [
		...new Map(
			fitting.map((target) => [`${target.entry?.id} ${target.snapshot}`, target]),
		).values(),
	];
	const shown = unique
		.slice(0, ambiguousShownMax)
		.map(({ entry, snapshot, label }) => `${entry?.id ?? shortId(snapshot)} ${label}`);
	const more = unique.length > shown.length ? `, and ${unique.length - shown.length} more` : "";
	return new RewindError(
		"no-such-point",
		`${plainText(asked)} is more than one point: ${shown.join(", ")}${more}`,
		{ hint: "Give more of the id", data: { fitting: unique.map(({ snapshot }) => snapshot) } },
	);
}

/** Says more where the entry is there and only its point is not. */
async function unknownPoint(place: Workplace, asked: string): Promise<RewindError> {
	const hint = `A POINT is ${pointForms}; pi-rewind list shows them`;
	for (const found of (await place.sessions()).found) {
		const { entries } = await found.transcript();
		const entry = entries.find(({ id }) => id === asked);
		if (entry === undefined) continue;
		const chain = await found.chain();
		const before = entries
			.slice(0, entries.indexOf(entry))
			.findLast((each) => resolvePoint(each, chain) !== undefined);
		const nearest =
			before === undefined
				? ""
				: `; the nearest before it is ${before.id}, ${describeEntry(before)}`;
		const message = `No point was taken at ${describeEntry(entry)}${nearest}`;
		return new RewindError("no-such-point", message, { hint });
	}
	return new RewindError("no-such-point", `There is no point ${plainText(asked)} here`, { hint });
}
