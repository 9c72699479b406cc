/**
 * The order of Pi's events, by hand, against a session and an engine that only count: which capture each entry gets.
 */
import { expect, test } from "vitest";
import { noCoverage, type Snapshot } from "../../src/core/coverage.ts";
import { RewindError } from "../../src/core/errors.ts";
import { type ObjectId, trustedObjectId } from "../../src/core/ids.ts";
import { foldLedger } from "../../src/core/ledger.ts";
import type { Captured } from "../../src/engine/ports.ts";
import { createRecorder } from "../../src/pi/recorder.ts";

const idOf = (n: number): ObjectId => trustedObjectId(n.toString(16).padStart(40, "0"));

/** An entry appears in the session some time after its message was announced, as in Pi. */
function scene(options: { failures?: number[] } = {}) {
	const entries: { type: "message"; id: string; message: object }[] = [];
	const bound: string[] = [];
	const failed: unknown[] = [];
	const gates: (() => void)[] = [];
	let captures = 0;
	let held = false;
	const recorder = createRecorder({
		session: {
			owner: { sessionId: "s" },
			ledger: () => foldLedger([]),
			entries: () => entries,
			appendTurn: (bindings) =>
				bound.push(...bindings.map(([entry, id]) => `${entry}=${Number.parseInt(id, 16)}`)),
			appendOp: ({ bindings = [] }) =>
				bound.push(...bindings.map(([entry, id]) => `op ${entry}=${Number.parseInt(id, 16)}`)),
		},
		async capture(): Promise<Captured> {
			const n = ++captures;
			if (held) await new Promise<void>((resolve) => gates.push(resolve));
			if (options.failures?.includes(n)) throw new RewindError("no-space", "full");
			const snapshot: Snapshot = {
				id: idOf(n),
				tree: idOf(n),
				head: undefined,
				coverageId: undefined,
				coverage: noCoverage,
				rules: { infoExclude: undefined, excludesFile: undefined },
			};
			return { snapshot, reused: false, notCovered: [] };
		},
		onFailure: (error) => failed.push(error),
		onPoint: () => undefined,
	});
	return {
		recorder,
		bound,
		failed,
		captures: () => captures,
		appear: (id: string, message: object) => entries.push({ type: "message", id, message }),
		hold: () => void (held = true),
		open: () => gates.splice(0).forEach((gate) => gate()),
	};
}

test("a prompt's message has the files before its run, its answers those after their tools [R2]", async () => {
	const { recorder, bound, appear } = scene();
	const [user, first, last] = [{}, {}, {}];
	recorder.promptBegins(); // capture 1
	recorder.userMessageStarts(user);
	appear("u", user);
	recorder.bindWaiting();
	await recorder.beforeChange();
	expect(bound).toEqual(["u=1"]); // on record before the tool runs
	appear("a1", first);
	recorder.turnEnds(first, undefined); // capture 2
	appear("a2", last);
	recorder.turnEnds(last, "a2"); // no tool ran: the point before it
	recorder.runEnds();
	await recorder.settled();
	expect(bound).toEqual(["u=1", "a1=2", "a2=2"]);
});

test("nothing is bound before its entry is there", async () => {
	const { recorder, bound, appear } = scene();
	const message = {};
	recorder.promptBegins();
	recorder.userMessageStarts(message);
	recorder.bindWaiting();
	await recorder.settled();
	expect(bound).toEqual([]);
	appear("u", message);
	recorder.bindWaiting();
	await recorder.settled();
	expect(bound).toEqual(["u=1"]);
});

test("a steered message has the files when it came, not those of the prompt", async () => {
	const { recorder, bound, appear, captures } = scene();
	const [user, answer, steered] = [{}, {}, {}];
	recorder.promptBegins(); // 1
	recorder.userMessageStarts(user);
	appear("u", user);
	await recorder.beforeChange();
	appear("a", answer);
	recorder.turnEnds(answer, "a"); // 2
	recorder.userMessageStarts(steered); // right after the turn: shares 2
	appear("s", steered);
	recorder.bindWaiting();
	await recorder.settled();
	expect(bound).toEqual(["u=1", "a=2", "s=2"]);
	expect(captures()).toBe(2);
});

test("a steered message after a turn without tools gets a capture of its own: files may have been edited by hand", async () => {
	const { recorder, bound, appear } = scene();
	const [user, answer, steered] = [{}, {}, {}];
	recorder.promptBegins(); // 1
	recorder.userMessageStarts(user);
	appear("u", user);
	appear("a", answer);
	recorder.turnEnds(answer, "a"); // still 1
	recorder.userMessageStarts(steered); // 2
	appear("s", steered);
	recorder.bindWaiting();
	await recorder.settled();
	expect(bound.toSorted()).toEqual(["a=1", "s=2", "u=1"]);
});

test("a retry does not move the prompt's point", async () => {
	const { recorder, bound, appear } = scene();
	const [user, failedAnswer, answer] = [{}, {}, {}];
	recorder.promptBegins(); // 1
	recorder.userMessageStarts(user);
	appear("u", user);
	await recorder.beforeChange();
	appear("e", failedAnswer);
	recorder.turnEnds(failedAnswer, "e"); // 2
	recorder.runEnds();
	recorder.bindWaiting(); // the retried run: no message of the person's
	await recorder.beforeChange();
	appear("a", answer);
	recorder.turnEnds(answer, "a"); // 3
	await recorder.settled();
	expect(bound).toEqual(["u=1", "e=2", "a=3"]);
});

test("the agent does not wait where a capture begins, only before something may change files", async () => {
	const { recorder, bound, appear, hold, open } = scene();
	hold();
	const user = {};
	recorder.promptBegins();
	recorder.userMessageStarts(user);
	appear("u", user);
	recorder.bindWaiting();
	let changing = false;
	const change = recorder.beforeChange().then(() => (changing = true));
	await new Promise((resolve) => setTimeout(resolve, 20));
	expect([changing, bound]).toEqual([false, []]);
	open();
	await change;
	expect(bound).toEqual(["u=1"]);
});

test("a capture that fails is told, leaves its boundary without a point, and the next one tries again [R12]", async () => {
	const { recorder, bound, failed, appear } = scene({ failures: [1] });
	const [user, answer] = [{}, {}];
	recorder.promptBegins(); // 1 fails
	recorder.userMessageStarts(user);
	appear("u", user);
	recorder.bindWaiting();
	await recorder.settled();
	appear("a", answer);
	recorder.turnEnds(answer, "a"); // no tool ran, yet there is no point before it to take: 2
	await recorder.settled();
	expect(failed).toHaveLength(1);
	expect(bound).toEqual(["a=2"]);
});

test("an entry bound outside a prompt has the files as they are now, in an op record", async () => {
	const { recorder, bound } = scene();
	recorder.bindNow("compaction");
	await recorder.settled();
	expect(bound).toEqual(["op compaction=1"]);
});

test("a capture while a tool is at work is nobody's boundary: the answer gets its own", async () => {
	const { recorder, bound, appear } = scene();
	const [user, answer] = [{}, {}];
	recorder.promptBegins(); // 1
	recorder.userMessageStarts(user);
	appear("u", user);
	await recorder.beforeChange(); // a tool begins …
	recorder.bindNow("marker"); // 2, in the middle of it
	await recorder.capture(); // 3
	appear("a", answer);
	recorder.turnEnds(answer, "a"); // 4, when it has ended
	await recorder.settled();
	expect(bound).toEqual(["u=1", "op marker=2", "a=4"]);
});

test("an answer after an entry bound in the middle of a run does not take a point before that entry", async () => {
	const { recorder, bound, appear } = scene();
	const [user, first, last] = [{}, {}, {}];
	recorder.promptBegins(); // 1
	recorder.userMessageStarts(user);
	appear("u", user);
	await recorder.beforeChange();
	appear("a1", first);
	recorder.turnEnds(first, "a1"); // 2
	recorder.bindNow("compaction"); // 3, and it may have taken minutes
	appear("a2", last);
	recorder.turnEnds(last, "a2"); // 4, though no tool ran
	await recorder.settled();
	expect(bound).toEqual(["u=1", "a1=2", "op compaction=3", "a2=4"]);
});

test("no boundary is captured in the middle of a restore", async () => {
	const { recorder, bound, appear } = scene();
	const user = {};
	let restored = false;
	const restore = recorder.restoringFiles(async () => {
		await new Promise((resolve) => setTimeout(resolve, 30));
		restored = true;
	});
	recorder.promptBegins();
	recorder.userMessageStarts(user);
	appear("u", user);
	recorder.bindWaiting();
	await new Promise((resolve) => setTimeout(resolve, 5));
	expect([restored, bound]).toEqual([false, []]);
	await restore;
	await recorder.settled();
	expect(bound).toEqual(["u=1"]);
});
