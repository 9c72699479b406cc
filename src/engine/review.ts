/**
 * Looks at what a prompt changed, and weighs taking some of it back. Changes nothing.
 *
 * One look starts from one capture: what is shown is what a revert goes by, and what changed since refuses it. [R4]
 */
import type { FilePatch } from "../core/changes.ts";
import type { Snapshot } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import { type Hunk, parseHunks, revertHunks } from "../core/hunks.ts";
import type { SnapshotId } from "../core/ids.ts";
import { fileModes, type TreeEntry } from "../core/plan.ts";
import {
	pathsToRevert,
	promptToReview,
	type ReviewedPrompt,
	type ReviewRow,
	reviewRows,
	type RunOutcome,
} from "../core/review.ts";
import type { Prompt } from "../core/timeline.ts";
import { type Moment, type Weighed, weighPoint } from "./offers.ts";
import type { Owner, SnapshotStore } from "./ports.ts";
import type { Contents, Rewind } from "./rewind.ts";

/** What differs between the files before a prompt and the files at one moment. */
export interface Review {
	/** Before the prompt. */
	readonly target: Snapshot;
	readonly moment: Moment;
	readonly rows: readonly ReviewRow[];
}

/** The prompt to look at; absent when none of them has a point that can be used. */
export function findPrompt(
	newestFirst: readonly Prompt[],
	store: Pick<SnapshotStore, "resolve">,
): Promise<ReviewedPrompt | undefined> {
	async function outcomeOf(before: SnapshotId, after?: SnapshotId): Promise<RunOutcome> {
		const start = await store.resolve(before);
		if (typeof start === "string") return "unusable";
		if (before === after) return "same";
		const end = after === undefined ? "pruned" : await store.resolve(after);
		// A run whose end nobody recorded may have changed anything.
		if (typeof end === "string") return "changed";
		return start.tree === end.tree ? "same" : "changed";
	}
	return promptToReview(newestFirst, outcomeOf);
}

/** Throws `operation-in-progress`, `object-missing`, and `aborted` when `signal` says so. */
export async function lookAt(
	point: SnapshotId,
	moment: Moment,
	engine: Rewind,
	owner: Owner,
	signal: AbortSignal,
): Promise<Review> {
	const target = await engine.store.resolve(point);
	if (typeof target === "string")
		throw new RewindError("object-missing", `That prompt's snapshot cannot be used (${target})`, {
			hint: "No files were changed",
		});
	const { plan } = await engine.preview({ target, owner, from: moment.now, signal });
	const rows = reviewRows({
		changes: await engine.store.compare(target, moment.now, signal),
		skips: plan.skips,
		// A partial clone need not have the commit's trees: then nothing is called committed.
		uncommitted: await engine.store.uncommitted(target, moment.now).catch(() => undefined),
		changedSince: moment.changed,
	});
	return { target, moment, rows };
}

/** What taking back these rows would do; with `contents`, only as far as they say. */
export function weighRevert(
	{ target, moment }: Review,
	rows: readonly ReviewRow[],
	engine: Rewind,
	owner: Owner,
	contents?: Contents,
): Promise<Weighed> {
	return weighPoint(target.id, moment, engine, owner, {
		only: pathsToRevert(rows),
		asShown: true,
		...(contents === undefined ? {} : { contents }),
	});
}

/** The hunks that can be taken back one by one; none for a file that is no text, or that came, went or moved. */
export function hunksOf({ change, mark, skips }: ReviewRow, patch: FilePatch): readonly Hunk[] {
	const areFiles = [change.from, change.to].every((entry) => entry !== undefined && isFile(entry));
	if (mark !== "M" || !areFiles || skips.length > 0 || patch.kind !== "text") return [];
	return parseHunks(patch.hunks) ?? [];
}

const isFile = ({ mode }: TreeEntry): boolean =>
	mode === fileModes.file || mode === fileModes.executable;

/** The content of a row's file with the chosen hunks taken back, durable in the store. */
export async function contentWithout(
	{ change: { path, to } }: ReviewRow,
	hunks: readonly Hunk[],
	chosen: ReadonlySet<number>,
	store: Pick<SnapshotStore, "readBlobs" | "writeBlob">,
): Promise<Contents> {
	let reverted: Buffer | undefined;
	if (to !== undefined)
		await store.readBlobs([to.id], async (_, content) => {
			reverted = revertHunks(content, hunks, chosen);
			return Promise.resolve();
		});
	if (reverted === undefined)
		throw new RewindError("invariant-broken", "BUG: these hunks are not of this file");
	return new Map([[path, await store.writeBlob(reverted)]]);
}
