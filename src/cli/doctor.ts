/**
 * `doctor`: holds the sessions' records against the store and the store against the disk; says what is true and what to
 * do. `--fix` removes what processes that are gone left behind, and nothing else.
 */
import { isRewindError } from "../core/errors.ts";
import { type EntryId, shortId, type SnapshotId } from "../core/ids.ts";
import { hasLimits } from "../core/retention.ts";
import { unavailableWords } from "../engine/offers.ts";
import type { Remnant } from "../engine/care.ts";
import type { Unavailable } from "../engine/ports.ts";
import { problemWords } from "../sessions/log.ts";
import type { CommandLine } from "./arguments.ts";
import { exitCodes, type Report } from "./io.ts";
import { interruptedFacts } from "./recover.ts";
import type { FoundSession } from "./sessions.ts";
import { sweepRequest } from "./sweep.ts";
import { plainText, plural } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** One thing that is not as it should be, or is worth knowing. */
export interface Finding {
	readonly kind:
		| "missing-objects"
		| "dangling-binding"
		| "broken-lineage"
		| "unreadable-session"
		| "unreadable-records"
		| "interrupted-restore"
		| "restore-elsewhere"
		| "broken-journal"
		| "stale-lock"
		| "held-lock"
		| "leftover"
		| "stale-private-dir"
		| "open-session"
		| "unnamed-snapshots"
		| "blocked-sweep";
	/** `note`: nothing is wrong. `fixable`: `--fix` ends it. `problem`: a person is needed. */
	readonly level: "note" | "fixable" | "problem";
	/** What is so, and what is still true. */
	readonly what: string;
	/** What to do. */
	readonly advice?: string;
	/** What it is about, for programs. */
	readonly about: object;
}

/** Reads everything; changes nothing without `--fix`. */
export async function doctor(place: Workplace, { fix }: CommandLine): Promise<Report> {
	const findings = await examine(place);
	const fixable = findings.filter(({ level }) => level === "fixable");
	if (fix && fixable.length > 0) await place.care.clear();
	const left = fix ? await examine(place) : findings;
	const problems = left.filter(({ level }) => level !== "note");
	return {
		exit: problems.length === 0 ? exitCodes.done : exitCodes.findings,
		facts: { healthy: problems.length === 0, findings: left, fixed: fix ? fixable : [] },
		text: doctorText(left, fix ? fixable : []),
	};
}

async function examine(place: Workplace): Promise<Finding[]> {
	return [
		...(await interrupted(place)),
		...(await begunElsewhere(place)),
		...(await store(place)),
		...(await ledgers(place)),
		...(await lineages(place)),
		...(await blockedSweeps(place)),
		...(await remnants(place)),
		...(await openSessions(place)),
	];
}

async function interrupted({ rewind }: Workplace): Promise<Finding[]> {
	return (await rewind.interrupted()).map((each) => ({
		kind: "interrupted-restore",
		level: "problem",
		what: `A restore of ${plural(each.journal.paths.length, "file")} to snapshot ${shortId(each.journal.target)} was interrupted: some of them may be restored and some not; the old content is kept`,
		advice: "pi-rewind recover names the ways to end it",
		about: interruptedFacts(each),
	}));
}

/** Nobody here can tell whether such a process lives. */
async function begunElsewhere({ rewind }: Workplace): Promise<Finding[]> {
	return (await rewind.elsewhere()).map((each) => ({
		kind: "restore-elsewhere",
		level: "note",
		what: `A restore begun by process ${each.journal.pid} on ${plainText(each.journal.host)} is not ended; it may still be at it`,
		about: interruptedFacts(each),
	}));
}

async function store({ care }: Workplace): Promise<Finding[]> {
	return (await care.incomplete()).map(({ snapshot, missing }) => ({
		kind: "missing-objects",
		level: "problem",
		what: `Snapshot ${shortId(snapshot)} is not whole: ${plural(missing.length, "object")} of it are not in the repository; what else it holds can be restored`,
		advice:
			"Fetch them from a clone or a backup of .git/objects; else restore the paths that are there, one by one",
		about: { snapshot, missing },
	}));
}

async function ledgers(place: Workplace): Promise<Finding[]> {
	const { found, problems } = await place.sessions();
	const findings: Finding[] = problems.map((problem) => ({
		kind: "unreadable-session",
		level: "note",
		what: `${plainText(problem.path)} ${problem.why}; it is left out`,
		about: problem,
	}));
	const named = new Set<SnapshotId>();
	for (const each of found) {
		findings.push(...(await danglingBindings(place, each)));
		const { ledger, file } = each.session;
		for (const id of ledger.snapshots) named.add(id);
		const unread = ledger.rejected + ledger.dropped;
		if (unread > 0)
			findings.push({
				kind: "unreadable-records",
				level: "note",
				what: `${plural(unread, "record")} in ${plainText(file)} cannot be read and are ignored; all others work`,
				about: { file, records: unread },
			});
	}
	const unnamed = (await place.care.kept()).filter((id) => !named.has(id));
	if (unnamed.length > 0)
		findings.push({
			kind: "unnamed-snapshots",
			level: "note",
			what: `${plural(unnamed.length, "kept snapshot")} named by no session of this folder: of other folders, of sessions that are gone, or taken between two points`,
			about: { snapshots: unnamed.length },
		});
	return findings;
}

/** One for each session and cause: where limits are set, that old points go is what was asked for. */
async function danglingBindings(
	{ rewind, retention }: Workplace,
	{ session }: FoundSession,
): Promise<Finding[]> {
	const states = new Map<SnapshotId, Unavailable | undefined>();
	const gone = new Map<Unavailable, { entry: EntryId; snapshot: SnapshotId }[]>();
	for (const [entry, snapshot] of session.ledger.bindings) {
		if (!states.has(snapshot)) {
			const resolved = await rewind.store.resolve(snapshot);
			states.set(snapshot, typeof resolved === "string" ? resolved : undefined);
		}
		const state = states.get(snapshot);
		if (state !== undefined) gone.set(state, [...(gone.get(state) ?? []), { entry, snapshot }]);
	}
	const file = plainText(session.file);
	return [...gone].map(([state, points]) => {
		const isMeant = state === "other-worktree" || (state === "pruned" && hasLimits(retention));
		return {
			kind: "dangling-binding",
			level: isMeant ? "note" : "problem",
			what: `${plural(points.length, "point")} of ${file} cannot be gone back to: ${unavailableWords[state]}`,
			...(isMeant
				? {}
				: { advice: "pi-rewind list names them; a backup of the repository can have them" }),
			about: { session: session.file, state, points },
		};
	});
}

async function lineages(place: Workplace): Promise<Finding[]> {
	const findings: Finding[] = [];
	for (const found of (await place.sessions()).found)
		for (const { file, reason } of (await found.lineage()).problems)
			findings.push({
				kind: "broken-lineage",
				level: "problem",
				what: `${plainText(found.session.file)} was forked from ${plainText(file)}, which ${problemWords[reason]}; points from before the fork are not found`,
				advice: "Put the file back where it was; the points after the fork work",
				about: { session: found.session.file, parent: file, reason },
			});
	return findings;
}

/** Where limits are set, what keeps every sweep from its work; it may lie in a folder that nothing else looks into. */
async function blockedSweeps(place: Workplace): Promise<Finding[]> {
	if (!hasLimits(place.retention)) return [];
	const planned = await place.rewind
		.planSweep(await sweepRequest(place))
		.catch((error: unknown) => {
			// That the store is not whole has been said above.
			if (isRewindError(error) && error.code === "object-missing") return undefined;
			throw error;
		});
	if (planned?.plan.kind !== "keep-all" || planned.plan.why.kind !== "hidden") return [];
	return planned.plan.why.hidden.map((hidden) => ({
		kind: "blocked-sweep",
		level: "problem",
		what: `No sweep lets go of anything: ${plainText(hidden.path)} ${plainText(hidden.why)}, so it may hide a session that needs a snapshot`,
		advice: "Make it readable; or, if it is no session of Pi's, move it to another folder",
		about: hidden,
	}));
}

async function remnants({ care }: Workplace): Promise<Finding[]> {
	return (await care.remnants()).map((remnant) => remnantFinding(remnant));
}

function remnantFinding(remnant: Remnant): Finding {
	const { kind, holder, isStale } = remnant;
	const file = plainText(remnant.file);
	const about = remnant;
	switch (kind) {
		case "leftover":
			return { kind, level: "fixable", what: `${file} was left by a process that is gone`, about };
		case "broken-journal":
			return {
				kind,
				level: "problem",
				what: `${file} names an interrupted restore and cannot be read; no files were changed because of it`,
				advice: "Compare the files with the newest points (pi-rewind diff @1), then remove it",
				about,
			};
		case "stale-private-dir":
			return {
				kind,
				level: "note",
				what: `${file} belongs to a linked worktree that is not where it was; its points are kept`,
				advice: "git worktree repair where it was moved, git worktree prune where it is gone",
				about,
			};
		case "lock": {
			const by =
				holder === undefined ? "" : ` by process ${holder.pid} on ${plainText(holder.host)}`;
			if (isStale)
				return {
					kind: "stale-lock",
					level: "fixable",
					what: `${file} is held${by}, which is gone`,
					about,
				};
			return { kind: "held-lock", level: "note", what: `${file} is held${by}: at work now`, about };
		}
	}
}

async function openSessions({ presence }: Workplace): Promise<Finding[]> {
	return (await presence.openSessions()).map((open) => ({
		kind: "open-session",
		level: "note",
		what: `Pi has a session open here (process ${open.pid}${open.isElsewhere ? ` on ${plainText(open.host)}` : ""}): ${plainText(open.sessionFile ?? "without a file")}`,
		about: open,
	}));
}

function doctorText(findings: readonly Finding[], fixed: readonly Finding[]): string {
	const marks = { note: "·", fixable: "!", problem: "✗" } as const;
	const lines = fixed.map(({ what }) => `✓ mended: ${what}\n`);
	for (const { level, what, advice } of findings)
		lines.push(`${marks[level]} ${what}\n${advice === undefined ? "" : `    ${advice}\n`}`);
	const problems = findings.filter(({ level }) => level === "problem").length;
	const fixable = findings.filter(({ level }) => level === "fixable").length;
	if (problems > 0) lines.push(`${plural(problems, "problem")}.\n`);
	if (fixable > 0) lines.push(`${plural(fixable, "thing")} for pi-rewind doctor --fix.\n`);
	if (problems + fixable === 0) lines.push("Nothing is wrong.\n");
	return lines.join("");
}
