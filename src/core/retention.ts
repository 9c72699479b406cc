/**
 * Decides which snapshots stay, each with the reasons, and which may go. Pure: sweeps, dry runs and tests ask here.
 *
 * Invariants: [R8] only what is known to be unneeded goes: every session that could name it was read, or is known to be
 * over, and none of them needs it. What is unknown, unreadable or young stays. Limits count per session; what one
 * session drops another may keep. An empty live set drops nothing.
 *
 * Limit: a session that names a snapshot without having claimed it, has no parent in common with an owner, and lies in
 * none of the known folders, cannot be known of.
 */
import { familiesOf, type Relative } from "./families.ts";
import type { EntryId, SnapshotId } from "./ids.ts";
import type { Ledger } from "./ledger.ts";

/** Who a snapshot is kept for: written into the keep commit, so that a sweep knows whose it is. */
export interface Owner {
	/** Empty for "somebody": whoever kept it did not say who they are. */
	readonly sessionId: string;
	/** Absolute path of the session file; absent for an ephemeral session. */
	readonly sessionFile?: string;
}

/** Somebody who is not known, so never known to be over. */
export const unknownOwner: Owner = { sessionId: "" };

export interface RetentionPolicy {
	/** Points of each session that stay, newest first; absent: all. */
	readonly maxSnapshots: number | undefined;
	/** Points stay for so many days; absent: for ever. */
	readonly maxAgeDays: number | undefined;
	/** Points of entries that a person labelled stay, and are not counted. */
	readonly pinLabeledEntries: boolean;
	/** Whose snapshots may go: those of this lineage alone, or those of every session that was found. */
	readonly scanMode: "ancestor-only" | "repo-sessions";
	/** Nothing younger goes. */
	readonly graceHours: number;
}

/** A snapshot that the keepalive ref reaches. Times are ms since the epoch, NaN when not known. */
export interface KeptSnapshot {
	readonly id: SnapshotId;
	readonly takenAt: number;
	/** When it was last kept for somebody. */
	readonly keptAt: number;
	readonly owners: readonly Owner[];
}

/** A session that was found. */
export interface SeenSession extends Relative {
	/** What its records say; absent when they were not read, or could not be. */
	readonly ledger?: Ledger | undefined;
	/** Its last line is not whole: a record may be missing. */
	readonly isTorn: boolean;
}

/** What is at the place that an owner was recorded with. */
export interface OwnerPlace {
	/** Canonical, as far as it can be told. */
	readonly file: string;
	/** `deleted`: its folder is there and can be read, and the file is not in it. */
	readonly state: "there" | "deleted" | "unknown";
}

/** A file or folder that may hide sessions. */
export interface Hidden {
	readonly path: string;
	readonly why: string;
}

/** What could be learned about the sessions that may name snapshots. */
export interface SessionSources {
	readonly sessions: readonly SeenSession[];
	readonly hidden: readonly Hidden[];
	/** By session file, as owners record it. */
	readonly places: ReadonlyMap<string, OwnerPlace>;
}

/** What holds a snapshot besides sessions. */
export type Pin = "head" | "restore";

export interface RetentionInput extends SessionSources {
	readonly policy: RetentionPolicy;
	readonly kept: readonly KeptSnapshot[];
	/** What the private HEADs of all working trees, and the journals of restores, name. */
	readonly pins: ReadonlyMap<SnapshotId, Pin>;
	/** Sessions of processes that live. */
	readonly running: ReadonlySet<string>;
	/** The session whose lineage counts, in `ancestor-only`; absent: nobody's. */
	readonly current: string | undefined;
	/** Milliseconds since the epoch. */
	readonly now: number;
}

/** Why a snapshot stays. `session` is the id of the one that needs it, or that cannot be judged. */
export type LiveReason =
	| { readonly kind: Pin | "young" | "not-recorded-yet" | "unknown-owner" }
	| {
			readonly kind:
				| "bound"
				| "current"
				| "undo"
				| "fork-pending"
				| "running"
				| "another-lineage"
				| "session-unreadable"
				| "records-unreadable";
			readonly session: string;
	  }
	| { readonly kind: "label"; readonly session: string; readonly label: string };

/** Why nothing is dropped at all. */
export type KeepAllReason =
	/** Neither number nor age is limited. */
	| { readonly kind: "no-limits" }
	| { readonly kind: "hidden"; readonly hidden: readonly Hidden[] }
	/** Nothing would be left: that is a mistake, whoever made it. */
	| { readonly kind: "nothing-live" };

export type RetentionPlan =
	| {
			readonly kind: "plan";
			/** Every snapshot that stays, with all its reasons. */
			readonly live: ReadonlyMap<SnapshotId, readonly LiveReason[]>;
			readonly dropped: readonly SnapshotId[];
	  }
	| { readonly kind: "keep-all"; readonly why: KeepAllReason };

const dayMs = 24 * 60 * 60 * 1000;
const hourMs = 60 * 60 * 1000;
/** A snapshot is kept before a record names it; no record takes longer than this. [R2] */
const recordingMs = 10 * 60 * 1000;

export const hasLimits = ({ maxSnapshots, maxAgeDays }: RetentionPolicy): boolean =>
	maxSnapshots !== undefined || maxAgeDays !== undefined;

/** Decides. */
export function planRetention(input: RetentionInput): RetentionPlan {
	const { policy, kept, hidden } = input;
	if (!hasLimits(policy)) return { kind: "keep-all", why: { kind: "no-limits" } };
	if (hidden.length > 0) return { kind: "keep-all", why: { kind: "hidden", hidden } };
	const reasonsOf = judge(input);
	const live = new Map<SnapshotId, readonly LiveReason[]>();
	const dropped: SnapshotId[] = [];
	for (const snapshot of kept) {
		const reasons = reasonsOf(snapshot);
		if (reasons.length > 0) live.set(snapshot.id, reasons);
		else dropped.push(snapshot.id);
	}
	if (live.size === 0) return { kind: "keep-all", why: { kind: "nothing-live" } };
	return { kind: "plan", live, dropped };
}

/** Of the sessions found, those whose records a plan asks for; the others may stay unread. */
export function sessionsToRead(
	policy: Pick<RetentionPolicy, "scanMode">,
	current: string | undefined,
	owners: Iterable<Owner>,
	{ sessions, places }: Pick<SessionSources, "sessions" | "places">,
): ReadonlySet<SeenSession> {
	const owning = [...owners];
	const familyOf = familiesOf(relativesOf(sessions, owning, places));
	const from =
		policy.scanMode === "repo-sessions"
			? owning.map(({ sessionId }) => sessionId)
			: current === undefined
				? []
				: [current];
	const wanted = new Set(from.map(familyOf));
	return new Set(sessions.filter(({ sessionId }) => wanted.has(familyOf(sessionId))));
}

/** Sessions found, and owners at the places where they were recorded: a deleted one still ties its forks together. */
function* relativesOf(
	sessions: readonly SeenSession[],
	owners: Iterable<Owner>,
	places: SessionSources["places"],
): Generator<Relative> {
	yield* sessions;
	for (const { sessionId, sessionFile } of owners) {
		const file = sessionFile === undefined ? undefined : places.get(sessionFile)?.file;
		if (sessionId !== "" && file !== undefined) yield { sessionId, file };
	}
}

/** The question that is asked of each snapshot, with what is the same for all of them worked out before. */
function judge(input: RetentionInput): (snapshot: KeptSnapshot) => LiveReason[] {
	const { policy, kept, pins, sessions, places, now } = input;
	const owners = new Set(kept.flatMap((snapshot) => snapshot.owners));
	const familyOf = familiesOf(relativesOf(sessions, owners, places));
	const family = input.current === undefined ? undefined : familyOf(input.current);
	const isInScope = (sessionId: string): boolean =>
		policy.scanMode === "repo-sessions" || (family !== undefined && familyOf(sessionId) === family);
	const byId = Map.groupBy(sessions, ({ sessionId }) => sessionId);
	const takenAt = new Map(kept.map((snapshot) => [snapshot.id, snapshot.takenAt]));
	const labels = policy.pinLabeledEntries ? labelsByFamily(sessions, familyOf) : new Map();
	const needs = new Map<SnapshotId, LiveReason[]>();
	for (const session of sessions)
		for (const [id, reason] of needsOf(session, {
			policy,
			now,
			takenAt,
			labels: labels.get(familyOf(session.sessionId)) ?? new Map(),
			isInScope,
		})) {
			const known = needs.get(id);
			if (known === undefined) needs.set(id, [reason]);
			else known.push(reason);
		}

	function ofOwner({ sessionId, sessionFile }: Owner, snapshot: KeptSnapshot): LiveReason[] {
		if (sessionId === "") return [{ kind: "unknown-owner" }];
		if (!isInScope(sessionId)) return [{ kind: "another-lineage", session: sessionId }];
		const found = byId.get(sessionId) ?? [];
		if (found.length === 0) {
			if (input.running.has(sessionId)) return [{ kind: "running", session: sessionId }];
			// An ephemeral session is over with its process: nobody can go back there.
			if (sessionFile === undefined || places.get(sessionFile)?.state === "deleted") return [];
			return [{ kind: "session-unreadable", session: sessionId }];
		}
		return found.flatMap((session): LiveReason[] => {
			if (session.ledger === undefined) return [{ kind: "session-unreadable", session: sessionId }];
			if (isIncomplete(session)) return [{ kind: "records-unreadable", session: sessionId }];
			const isRecorded = session.ledger.snapshots.has(snapshot.id);
			return isRecorded || isOld(snapshot, recordingMs) ? [] : [{ kind: "not-recorded-yet" }];
		});
	}

	// Written so that a time that is not known (NaN) is young.
	const isOld = ({ keptAt, takenAt }: KeptSnapshot, ms: number): boolean =>
		now - Math.max(keptAt, takenAt) >= ms;

	return (snapshot) => {
		const reasons: LiveReason[] = [...(needs.get(snapshot.id) ?? [])];
		const pin = pins.get(snapshot.id);
		if (pin !== undefined) reasons.push({ kind: pin });
		if (!isOld(snapshot, policy.graceHours * hourMs)) reasons.push({ kind: "young" });
		if (snapshot.owners.length === 0) reasons.push({ kind: "unknown-owner" });
		for (const owner of snapshot.owners) reasons.push(...ofOwner(owner, snapshot));
		return unique(reasons);
	};
}

/** Each reason once: an owner that also names a snapshot has the same to say twice. */
const unique = (reasons: LiveReason[]): LiveReason[] =>
	reasons.length < 2
		? reasons
		: [...new Map(reasons.map((reason) => [JSON.stringify(reason), reason])).values()];

/** Whether a session may name more than its ledger says. */
const isIncomplete = ({ ledger, isTorn }: SeenSession): boolean =>
	isTorn || (ledger !== undefined && ledger.rejected + ledger.dropped > 0);

/** What a person labelled in any session of a family; which of two names an entry goes by makes no difference. */
function labelsByFamily(
	sessions: readonly SeenSession[],
	familyOf: (sessionId: string) => string,
): Map<string, Map<EntryId, string>> {
	const byFamily = new Map<string, Map<EntryId, string>>();
	for (const { sessionId, ledger } of sessions) {
		const labels = byFamily.get(familyOf(sessionId)) ?? new Map<EntryId, string>();
		byFamily.set(familyOf(sessionId), labels);
		for (const [entry, label] of ledger?.labels ?? []) labels.set(entry, label);
	}
	return byFamily;
}

interface Judging {
	readonly policy: RetentionPolicy;
	readonly now: number;
	readonly takenAt: ReadonlyMap<SnapshotId, number>;
	readonly labels: ReadonlyMap<EntryId, string>;
	readonly isInScope: (sessionId: string) => boolean;
}

/** What one session needs, whoever kept it; a snapshot comes once for each reason. */
function* needsOf(
	session: SeenSession,
	{ policy, now, takenAt, labels, isInScope }: Judging,
): Generator<readonly [SnapshotId, LiveReason]> {
	const { sessionId, ledger } = session;
	if (ledger === undefined) return;
	const all = isInScope(sessionId)
		? isIncomplete(session)
			? "records-unreadable"
			: undefined
		: "another-lineage";
	if (all !== undefined) {
		for (const id of ledger.snapshots) yield [id, { kind: all, session: sessionId }];
		return;
	}
	const { current, latest, undo, undoAfter, forkPending, bindings, namedAt } = ledger;
	for (const [kind, id] of [
		["current", current],
		["current", latest],
		["undo", undo],
		["undo", undoAfter],
		["fork-pending", forkPending?.current],
		["fork-pending", forkPending?.undo],
		["fork-pending", forkPending?.undoAfter],
	] as const)
		if (id !== undefined) yield [id, { kind, session: sessionId }];

	const pinned = new Set<SnapshotId>();
	for (const [entry, id] of bindings) {
		const label = labels.get(entry);
		if (label === undefined || pinned.has(id)) continue;
		pinned.add(id);
		yield [id, { kind: "label", session: sessionId, label }];
	}
	const bound = new Set(bindings.values());
	const { maxSnapshots = Number.POSITIVE_INFINITY, maxAgeDays = Number.POSITIVE_INFINITY } = policy;
	let count = 0;
	for (const [id, at] of [...namedAt].toReversed()) {
		if (!bound.has(id) || pinned.has(id)) continue;
		count++;
		const usedAt = Math.max(at, takenAt.get(id) ?? Number.NaN);
		// Written so that a time that is not known (NaN) keeps the point.
		const isTooOld = now - usedAt > maxAgeDays * dayMs;
		if (count <= maxSnapshots && !isTooOld) yield [id, { kind: "bound", session: sessionId }];
	}
}
