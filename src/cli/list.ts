/** `list`: the sessions of the folder and their points, newest first, numbered for the other commands. */
import { type ChangeMark, type FileChange, markOf } from "../core/changes.ts";
import type { Snapshot } from "../core/coverage.ts";
import { describeEntry, excerpt } from "../core/entries.ts";
import { unavailableWords } from "../engine/offers.ts";
import type { OpenSession } from "../engine/presence.ts";
import type { Unavailable } from "../engine/ports.ts";
import type { CommandLine } from "./arguments.ts";
import { entryFacts } from "./facts.ts";
import { exitCodes, type Report } from "./io.ts";
import type { FoundSession, Point, Sessions } from "./sessions.ts";
import { branchText, localTime, plainText, plural, snapshotText, table } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** Points shown when nobody says how many. */
const shownDefault = 30;

export interface ListedPoint {
	/** What `@N` stands for. */
	readonly number: number;
	readonly point: Point;
	readonly label: string | undefined;
	readonly snapshot: Snapshot | Unavailable;
	/** Paths that differ from the point before it on its branch, by mark; absent where that cannot be told. */
	readonly changed: Readonly<Record<ChangeMark, number>> | undefined;
}

export interface ListedSession {
	readonly found: FoundSession;
	readonly openIn: OpenSession | undefined;
	readonly points: readonly ListedPoint[];
	/** Points of it that are not shown. */
	readonly more: number;
}

/** Reads the sessions until as many points are found as are to be shown. */
export async function list(place: Workplace, asked: CommandLine): Promise<Report> {
	const sessions = await place.sessions();
	let left = asked.all ? Number.POSITIVE_INFINITY : (asked.max ?? shownDefault);
	let number = 0;
	let unread = 0;
	const listed: ListedSession[] = [];
	for (const found of sessions.found) {
		if (left <= 0) {
			unread += 1;
			continue;
		}
		const points = await found.points();
		const shown = points.slice(0, left);
		listed.push({
			found,
			openIn: await place.openedBy(found.session.file),
			points: await listPoints(place, shown, number),
			more: points.length - shown.length,
		});
		number += points.length;
		left -= shown.length;
	}
	return {
		exit: exitCodes.done,
		facts: listFacts(listed, sessions, unread),
		text: listText(listed, sessions, unread),
	};
}

/** One after another: each comparison is a process. */
async function listPoints(
	place: Workplace,
	points: readonly Point[],
	before: number,
): Promise<ListedPoint[]> {
	const listed: ListedPoint[] = [];
	for (const [i, point] of points.entries())
		listed.push(await listPoint(place, point, before + i + 1));
	return listed;
}

async function listPoint(place: Workplace, point: Point, number: number): Promise<ListedPoint> {
	const { found, entry } = point;
	const { labels } = found.session.ledger;
	const { store } = place.rewind;
	const snapshot = await store.resolve(point.snapshot);
	const before = await found.snapshotAbove(entry);
	const from = before === undefined ? undefined : await store.resolve(before);
	const isComparable =
		typeof snapshot !== "string" && from !== undefined && typeof from !== "string";
	const changed = isComparable ? countMarks(await store.compare(from, snapshot)) : undefined;
	return { number, point, label: labels.get(entry.id), snapshot, changed };
}

export function countMarks(changes: readonly FileChange[]): Record<ChangeMark, number> {
	const counts = { M: 0, A: 0, D: 0, R: 0 };
	for (const change of changes) counts[markOf(change)] += 1;
	return counts;
}

function listFacts(listed: readonly ListedSession[], { problems }: Sessions, unread: number) {
	return {
		sessions: listed.map(({ found, openIn, points, more }) => ({
			session: found.session.file,
			id: found.session.sessionId,
			folder: found.session.cwd ?? null,
			startedAt: isoOrNull(found.session.startedAt),
			usedAt: isoOrNull(found.modifiedAt),
			parent: found.session.parentSession ?? null,
			openIn: openIn === undefined ? null : { pid: openIn.pid, host: openIn.host },
			points: points.map(({ number, point, label, snapshot, changed }) => ({
				number,
				...entryFacts(point.entry),
				label: label ?? null,
				snapshot: point.snapshot,
				state: typeof snapshot === "string" ? snapshot : "there",
				branch: typeof snapshot === "string" ? null : (snapshot.head?.branch ?? null),
				changed: changed ?? null,
			})),
			morePoints: more,
		})),
		moreSessions: unread,
		unreadable: problems,
	};
}

const isoOrNull = (ms: number): string | null =>
	Number.isFinite(ms) ? new Date(ms).toISOString() : null;

function listText(listed: readonly ListedSession[], sessions: Sessions, unread: number): string {
	const parts = listed.map(sessionText);
	const { problems, folders } = sessions;
	if (listed.length === 0)
		parts.push(
			`No sessions of this folder in ${folders.map(plainText).join(", ")}\nName one with --session FILE.\n`,
		);
	for (const { path, why } of problems) parts.push(`Left out: ${plainText(path)} ${why}\n`);
	const hidden = listed.reduce((sum, { more }) => sum + more, 0);
	const rest = [
		...(hidden > 0 ? [plural(hidden, "older point")] : []),
		...(unread > 0 ? [plural(unread, "older session")] : []),
	];
	if (rest.length > 0) parts.push(`Not shown: ${rest.join(", ")}; --all shows everything.\n`);
	return parts.join("\n");
}

function sessionText({ found, openIn, points }: ListedSession): string {
	const { file, startedAt, parentSession } = found.session;
	const open = openIn === undefined ? "" : ` · open in Pi (process ${openIn.pid})`;
	const forked = parentSession === undefined ? "" : " · a fork";
	const head = `Session of ${localTime(startedAt)}${forked} · last used ${localTime(found.modifiedAt)}${open}\n`;
	const none = points.length === 0 ? "  no points of its own\n" : "";
	return `${head}  ${plainText(file)}\n${none}${table(points.map(pointRow))}`;
}

function pointRow({ number, point, label, snapshot, changed }: ListedPoint): string[] {
	const { entry } = point;
	const there = typeof snapshot !== "string";
	return [
		`@${number}`,
		localTime(Date.parse(entry.timestamp)),
		plainText(entry.id),
		snapshotText(point.snapshot),
		there ? branchText(snapshot.head?.branch) : "",
		there ? marksText(changed) : "gone",
		[
			describeEntry(entry),
			...(label === undefined ? [] : [`[${excerpt(label)}]`]),
			...(there ? [] : [`· ${unavailableWords[snapshot]}`]),
		].join(" "),
	];
}

/** `~2 +1 −1`, renames as `→1`; `=` when nothing differs, `?` when it cannot be told. */
export function marksText(changed: ListedPoint["changed"]): string {
	if (changed === undefined) return "?";
	const signs = { M: "~", A: "+", D: "−", R: "→" } as const;
	const parts = (["M", "A", "D", "R"] as const).flatMap((mark) =>
		changed[mark] > 0 ? [`${signs[mark]}${changed[mark]}`] : [],
	);
	return parts.length === 0 ? "=" : parts.join(" ");
}
