/** `sweep`: lets go of the snapshots that the settings allow to go and nobody can need; or shows which those are. [R8] */
import { dirname, join } from "node:path";
import { shortId, type SnapshotId } from "../core/ids.ts";
import type { KeepAllReason, LiveReason } from "../core/retention.ts";
import type { SweepOutcome, SweepPlan, SweepRequest } from "../engine/sweep.ts";
import { createCatalog, type SessionRoot } from "../sessions/catalog.ts";
import { createSessionLog } from "../sessions/log.ts";
import { readSources } from "../sessions/sources.ts";
import type { CommandLine } from "./arguments.ts";
import { exitCodes, type Report } from "./io.ts";
import { localTime, plainText, plural, table } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** With `--dry-run` it only shows, and says of each snapshot that stays why. */
export async function sweep(place: Workplace, { dryRun }: CommandLine): Promise<Report> {
	const request = await sweepRequest(place);
	if (dryRun) {
		const planned = await place.rewind.planSweep(request);
		return { exit: exitCodes.done, facts: planFacts(planned), text: planText(planned) };
	}
	const outcome = await place.rewind.sweep(request);
	const exit = outcome.kind === "contended" ? exitCodes.failed : exitCodes.done;
	return { exit, facts: { ...outcome }, text: outcomeText(outcome) };
}

/** As Pi's own sweep would ask for the session that was used last here, or that was named. */
export async function sweepRequest(place: Workplace): Promise<SweepRequest> {
	const { found, folders } = await place.sessions();
	const [last] = found;
	const ancestors = last === undefined ? [] : (await last.lineage()).ancestors;
	const flat = (folder: string): SessionRoot => ({ folder, nested: false });
	const roots = [
		{ folder: join(place.agentDir, "sessions"), nested: true },
		...folders.map(flat),
		...[...ancestors, ...found.map(({ session }) => session)].map(({ file }) =>
			flat(dirname(file)),
		),
	];
	const catalog = createCatalog(createSessionLog());
	const current = last?.session.sessionId;
	const { scanMode } = place.retention;
	return {
		policy: place.retention,
		current,
		sources: (owners, signal) => readSources(catalog, { roots, scanMode, current, owners, signal }),
	};
}

// ---- Words ----

const keepAllText = (why: KeepAllReason): string => {
	switch (why.kind) {
		case "no-limits":
			return "Everything stays: no limit is set (rewind.retention.maxSnapshots or maxAgeDays in Pi's settings).\n";
		case "nothing-live":
			return "Everything stays: nothing would be left, which nobody can have meant.\n";
		case "hidden":
			return `Everything stays: what cannot be read may hide a session that needs it.\n${why.hidden
				.map((each) => `  ${plainText(each.path)} ${plainText(each.why)}\n`)
				.join("")}`;
	}
};

/** Completes "stays: …". */
function reasonText(reason: LiveReason): string {
	switch (reason.kind) {
		case "head":
			return "a working tree's newest";
		case "restore":
			return "a restore that is not ended";
		case "young":
			return "younger than the grace period";
		case "not-recorded-yet":
			return "just kept, its record may be on its way";
		case "unknown-owner":
			return "nobody knows whose it is";
		case "label":
			return `labelled “${plainText(reason.label)}” in ${session(reason.session)}`;
		case "bound":
			return `a point of ${session(reason.session)} within the limits`;
		case "current":
			return `the files of ${session(reason.session)} as they were last`;
		case "undo":
			return `the undo of ${session(reason.session)}`;
		case "fork-pending":
			return `a fork of ${session(reason.session)} that is to take it over`;
		case "running":
			return `${session(reason.session)} is open`;
		case "another-lineage":
			return `${session(reason.session)} is of another lineage (scanMode ancestor-only)`;
		case "session-unreadable":
			return `${session(reason.session)} cannot be read, or is not where it was`;
		case "records-unreadable":
			return `${session(reason.session)} has records that cannot be read`;
	}
}

const session = (id: string): string => `session ${plainText(id)}`;

function planText({ from, plan }: SweepPlan): string {
	if (plan.kind === "keep-all") return keepAllText(plan.why);
	const takenAt = new Map(from?.snapshots.map(({ id, takenAt }) => [id, takenAt]));
	const row = (id: SnapshotId, words: string): string[] => [
		shortId(id),
		localTime(takenAt.get(id) ?? Number.NaN),
		words,
	];
	const going = plan.dropped.map((id) => row(id, "would go"));
	const staying = [...plan.live].map(([id, reasons]) =>
		row(id, `stays: ${reasons.map(reasonText).join("; ")}`),
	);
	const sum = `${plural(going.length, "snapshot")} would go, ${staying.length} would stay.\n`;
	return table([...going, ...staying], "") + sum;
}

const planFacts = ({ plan }: SweepPlan): object =>
	plan.kind === "keep-all"
		? plan
		: {
				kind: plan.kind,
				dropped: plan.dropped,
				live: [...plan.live].map(([snapshot, reasons]) => ({ snapshot, reasons })),
			};

function outcomeText(outcome: SweepOutcome): string {
	switch (outcome.kind) {
		case "swept":
			return `${plural(outcome.dropped.length, "snapshot")} let go, ${outcome.live} kept. git gc gives the space back, in its own time.\n`;
		case "nothing-to-drop":
			return "Everything stays: all of it is needed. --dry-run says by whom.\n";
		case "keep-all":
			return keepAllText(outcome.why);
		case "contended":
			return "Everything stays: other processes keep at the store; try again.\n";
	}
}
