/** When a session sweeps, and what it says of it. The engine is one that only counts. */
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { RewindError } from "../../src/core/errors.ts";
import { trustedObjectId } from "../../src/core/ids.ts";
import { emptyLedger, foldLedger, type Ledger } from "../../src/core/ledger.ts";
import { encodeTurn } from "../../src/core/records.ts";
import { defaultSettings } from "../../src/core/settings.ts";
import type { Rewind } from "../../src/engine/rewind.ts";
import type { SweepRequest } from "../../src/engine/sweep.ts";
import { createSweeper } from "../../src/pi/sweeper.ts";
import { createCatalog } from "../../src/sessions/catalog.ts";
import { createSessionLog } from "../../src/sessions/log.ts";

const a = trustedObjectId("a".repeat(40));
const named = foldLedger([
	{ type: "custom", customType: "rewind-turn", id: "r", data: encodeTurn([["e1", a]]) },
]);

interface Given {
	readonly limits?: { readonly maxSnapshots?: number; readonly startupBudgetMs?: number };
	readonly ledger?: Ledger;
	/** What a sweep comes to. */
	readonly act?: (request: SweepRequest) => Promise<void>;
}

function start({ limits = { maxSnapshots: 1 }, ledger = emptyLedger, act }: Given = {}) {
	const requests: SweepRequest[] = [];
	const claims: string[] = [];
	const failures: unknown[] = [];
	const engine: Pick<Rewind, "sweep" | "claim"> = {
		async sweep(request) {
			requests.push(request);
			await act?.(request);
			return { kind: "nothing-to-drop" };
		},
		async claim({ sessionId }, recorded) {
			claims.push(...[...recorded].map((id) => `${sessionId} ${id}`));
		},
	};
	const own = { sessionId: "s", startedAt: 0, ledger };
	const sweeper = createSweeper({
		session: {
			owner: { sessionId: "s" },
			parentFile: undefined,
			ledger: () => ledger,
			lineage: async () => ({ chain: [own], problems: [] }),
		},
		retention: { ...defaultSettings.retention, ...limits },
		catalog: createCatalog(createSessionLog()),
		agentDir: tmpdir(),
		sessionDir: "",
		engine: async () => engine,
		onFailure: (error) => void failures.push(error),
	});
	return { sweeper, requests, claims, failures };
}

test("sweeps at the start, after 50 new snapshots, and at the end", async () => {
	const { sweeper, requests } = start();
	await sweeper.begin();
	expect(requests).toHaveLength(1);
	for (let i = 0; i < 49; i++) sweeper.counted();
	await sweeper.begin();
	expect(requests).toHaveLength(2);
	sweeper.counted();
	await sweeper.begin();
	expect(requests).toHaveLength(4);
	await sweeper.end();
	expect(requests).toHaveLength(5);
	expect(requests[4]).toMatchObject({ current: "s", policy: { maxSnapshots: 1 } });
});

test("without limits never; what its records name is claimed all the same", async () => {
	const { sweeper, requests, claims } = start({ limits: {}, ledger: named });
	await sweeper.claim();
	await sweeper.begin();
	for (let i = 0; i < 60; i++) sweeper.counted();
	await sweeper.end();
	expect([requests, claims]).toEqual([[], [`s ${a}`]]);
	const without = start();
	await without.sweeper.claim();
	expect(without.claims).toEqual([]);
});

const untilAborted = ({ signal }: SweepRequest): Promise<void> =>
	new Promise((_, reject) => {
		signal?.addEventListener("abort", () => reject(signal.reason));
	});

test("the end does not wait for a sweep that runs; being out of time is no failure", async () => {
	let runs = 0;
	const { sweeper, requests, failures } = start({
		act: (request) => (runs++ === 0 ? untilAborted(request) : Promise.resolve()),
	});
	const begun = sweeper.begin();
	await new Promise((next) => setImmediate(next));
	await sweeper.end();
	await begun;
	expect([requests.length, failures]).toEqual([2, []]);
	const slow = start({ limits: { maxSnapshots: 1, startupBudgetMs: 1 }, act: untilAborted });
	await slow.sweeper.begin();
	expect([slow.requests.length, slow.failures]).toEqual([1, []]);
});

test("a failure is told once; what the doctor tells, and what others' haste brings, is not", async () => {
	const space = new RewindError("no-space", "full");
	const full = start({ act: () => Promise.reject(space) });
	await full.sweeper.begin();
	await full.sweeper.end();
	expect(full.failures).toEqual([space]);
	for (const code of ["object-missing", "keepalive-contended", "aborted"] as const) {
		const { sweeper, failures } = start({ act: () => Promise.reject(new RewindError(code, "x")) });
		await sweeper.begin();
		expect(failures).toEqual([]);
	}
});
