/**
 * When old points go: at a session's start, after every 50 new snapshots, and at its end; and what the session claims.
 *
 * In the background, quiet, and never in anyone's way: what is not done in time waits for the next sweep, what blocks one
 * is told by the command line. Only a sweep that fails is told, once. [R12]
 */
import { dirname, join, resolve } from "node:path";
import { isRewindError } from "../core/errors.ts";
import type { SnapshotId } from "../core/ids.ts";
import type { Chain } from "../core/lineage.ts";
import { hasLimits } from "../core/retention.ts";
import type { Retention } from "../core/settings.ts";
import type { Rewind } from "../engine/rewind.ts";
import type { SweepRequest } from "../engine/sweep.ts";
import type { Catalog, SessionRoot } from "../sessions/catalog.ts";
import { readSources } from "../sessions/sources.ts";
import type { Session } from "./session.ts";

const snapshotsBetween = 50;
/** Pi may be killed any moment when it ends: what is not decided by then stays. */
const endMs = 2_000;

export interface SweeperDeps {
	readonly session: Pick<Session, "owner" | "parentFile" | "ledger" | "lineage">;
	readonly retention: Retention;
	readonly catalog: Catalog;
	/** Pi's folder of the person. */
	readonly agentDir: string;
	/** As Pi names it: empty for an ephemeral session, and possibly relative to the process's folder. */
	readonly sessionDir: string;
	engine(): Promise<Pick<Rewind, "sweep" | "claim"> | undefined>;
	/** Told of the first sweep or claim that failed; all points are kept then. */
	onFailure(error: unknown): void;
}

export interface Sweeper {
	/** Keeps for this session what its records name: a fork has them copied, and must not need the other's. */
	claim(): Promise<void>;
	/** The sweep of the start, within its budget. */
	begin(): Promise<void>;
	/** A new snapshot was taken. */
	counted(): void;
	/** Ends what runs, and sweeps once more, for a moment. */
	end(): Promise<void>;
}

/** One per session. Nothing of it throws. */
export function createSweeper(deps: SweeperDeps): Sweeper {
	const { session, retention, catalog } = deps;
	const isOn = hasLimits(retention);
	let count = 0;
	let hasFailed = false;
	let ending = new AbortController();
	let running: Promise<void> = Promise.resolve();

	function failed(error: unknown): void {
		if (isOrdinary(error) || hasFailed) return;
		hasFailed = true;
		deps.onFailure(error);
	}

	/** One at a time: two of one process would only make each other start over. */
	function run(limitMs: number | undefined): Promise<void> {
		const { signal: ended } = ending;
		const sweepOnce = async (): Promise<void> => {
			try {
				if (ended.aborted) return;
				const limit = limitMs === undefined ? [] : [AbortSignal.timeout(limitMs)];
				const engine = await deps.engine();
				await engine?.sweep(request(AbortSignal.any([ended, ...limit])));
			} catch (error) {
				failed(error);
			}
		};
		running = running.then(sweepOnce);
		return running;
	}

	/** What is known of this session is asked when it is needed: after what is kept was listed. [R8] */
	const request = (limit: AbortSignal): SweepRequest => ({
		policy: retention,
		current: session.owner.sessionId,
		signal: limit,
		async sources(owners, signal) {
			const { owner, parentFile } = session;
			const [own, ...older] = (await session.lineage()).chain;
			// Those without a file are known here alone: the ephemeral sessions that this one was forked from.
			const inherited = older.filter(({ file }) => file === undefined);
			const mine = own === undefined ? [] : [{ ...owner, parentFile, ledger: own.ledger }];
			return readSources(catalog, {
				roots: rootsFor(older),
				scanMode: retention.scanMode,
				current: owner.sessionId,
				own: [...mine, ...inherited.map(({ sessionId, ledger }) => ({ sessionId, ledger }))],
				owners,
				signal,
			});
		},
	});

	function rootsFor(ancestors: Chain): SessionRoot[] {
		const { agentDir, sessionDir } = deps;
		const flat = (folder: string): SessionRoot => ({ folder, nested: false });
		return [
			{ folder: join(agentDir, "sessions"), nested: true },
			...(sessionDir === "" ? [] : [flat(resolve(sessionDir))]),
			...ancestors.flatMap(({ file }) => (file === undefined ? [] : [flat(dirname(file))])),
		];
	}

	return {
		async claim() {
			try {
				const { chain } = await session.lineage();
				const needed = new Set<SnapshotId>();
				for (const [place, { file, ledger }] of chain.entries())
					if (place === 0 || file === undefined) for (const id of ledger.snapshots) needed.add(id);
				if (needed.size > 0) await (await deps.engine())?.claim(session.owner, needed);
			} catch (error) {
				failed(error);
			}
		},
		begin: async () => (isOn ? run(retention.startupBudgetMs) : undefined),
		counted() {
			if (!isOn || ++count < snapshotsBetween) return;
			count = 0;
			void run(undefined);
		},
		async end() {
			if (!isOn) return;
			ending.abort();
			await running;
			ending = new AbortController();
			await run(endMs);
			ending.abort();
		},
	};
}

/** Out of time, ended, or others were faster: the next sweep does it. A store that is not whole is the doctor's. */
function isOrdinary(error: unknown): boolean {
	if (isRewindError(error))
		return ["aborted", "keepalive-contended", "object-missing"].includes(error.code);
	return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}
