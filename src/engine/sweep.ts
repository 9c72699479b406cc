/**
 * Sweeps: what is kept ▸ what working trees hold ▸ what sessions need ▸ decide ▸ keep the rest by one swap.
 *
 * In this order: a snapshot that is kept after the list was read makes the swap fail, and one that was kept before is
 * young, or its record is read. The loser of a swap decides again on what the winner left. [R3] [R8]
 */
import type { SnapshotId } from "../core/ids.ts";
import {
	hasLimits,
	type KeepAllReason,
	type Owner,
	planRetention,
	type RetentionPlan,
	type RetentionPolicy,
	type SessionSources,
} from "../core/retention.ts";
import type { Keeping, KeptList } from "./ports.ts";

/** Swaps lost in a row before a sweep leaves it to the next one: nothing is wrong then, others are busy. */
const triesMax = 5;

export interface SweepRequest {
	readonly policy: RetentionPolicy;
	/** The session whose lineage counts, in `ancestor-only`; absent: nobody's. */
	readonly current: string | undefined;
	/** Finds the sessions that may name snapshots of these owners. */
	readonly sources: (
		owners: readonly Owner[],
		signal: AbortSignal | undefined,
	) => Promise<SessionSources>;
	/** Heeded between steps: once the ref is being moved, it is moved. */
	readonly signal?: AbortSignal;
}

/** What a sweep would do. */
export interface SweepPlan {
	/** What was kept when it was made; absent when nothing was. */
	readonly from: KeptList | undefined;
	readonly plan: RetentionPlan;
}

export type SweepOutcome =
	| { readonly kind: "swept"; readonly dropped: readonly SnapshotId[]; readonly live: number }
	/** Nothing was to be dropped. */
	| { readonly kind: "nothing-to-drop" }
	| { readonly kind: "keep-all"; readonly why: KeepAllReason }
	/** Others moved the ref again and again. */
	| { readonly kind: "contended" };

/** Decides and changes nothing. Throws `object-missing`, or the reason of an aborted signal. */
export async function planSweep(
	keeping: Keeping,
	now: () => number,
	{ policy, current, sources, signal }: SweepRequest,
): Promise<SweepPlan> {
	const keepAll = (why: KeepAllReason, from?: KeptList): SweepPlan => ({
		from,
		plan: { kind: "keep-all", why },
	});
	// The common case: nobody asked for anything to go, so nothing is looked at.
	if (!hasLimits(policy)) return keepAll({ kind: "no-limits" });
	const from = await keeping.list(signal);
	if (from === undefined) return keepAll({ kind: "nothing-live" });
	const { pins, running, hidden } = await keeping.held();
	const owners = uniqueOwners(from);
	signal?.throwIfAborted();
	const known = await sources(owners, signal);
	signal?.throwIfAborted();
	const plan = planRetention({
		...known,
		hidden: [...known.hidden, ...hidden],
		policy,
		kept: from.snapshots,
		pins,
		running,
		current,
		now: now(),
	});
	return { from, plan };
}

/** Sweeps. Throws what `planSweep` throws, and what git says; the ref is then as it was. */
export async function sweep(
	keeping: Keeping,
	now: () => number,
	request: SweepRequest,
): Promise<SweepOutcome> {
	for (let tries = 0; tries < triesMax; tries++) {
		const { from, plan } = await planSweep(keeping, now, request);
		if (plan.kind === "keep-all") return plan;
		if (from === undefined || plan.dropped.length === 0) return { kind: "nothing-to-drop" };
		const live = from.snapshots.filter(({ id }) => plan.live.has(id));
		if (await keeping.rewrite(from, live))
			return { kind: "swept", dropped: plan.dropped, live: live.length };
	}
	return { kind: "contended" };
}

/**
 * Keeps for an owner what its records name and others kept: a forked session has them all copied, and its own need of
 * them must outlive the others'. What is not kept any more stays so.
 */
export async function claimRecorded(
	keeping: Keeping,
	owner: Owner,
	recorded: ReadonlySet<SnapshotId>,
): Promise<void> {
	if (recorded.size === 0) return;
	const list = await keeping.list();
	const others = (list?.snapshots ?? []).filter(
		({ id, owners }) => recorded.has(id) && !owners.some((each) => isSame(each, owner)),
	);
	if (others.length === 0) return;
	await keeping.claim(
		others.map(({ id }) => id),
		owner,
	);
}

const isSame = (a: Owner, b: Owner): boolean =>
	a.sessionId === b.sessionId && a.sessionFile === b.sessionFile;

function uniqueOwners({ snapshots }: KeptList): Owner[] {
	const owners = new Map<string, Owner>();
	for (const owner of new Set(snapshots.flatMap((snapshot) => snapshot.owners)))
		owners.set(`${owner.sessionId}\n${owner.sessionFile ?? ""}`, owner);
	return [...owners.values()];
}
