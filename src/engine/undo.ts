/** Which paths an undo touches: all that differ, or those of a restore of chosen paths. */
import type { Snapshot } from "../core/coverage.ts";
import type { BytePath, SnapshotId } from "../core/ids.ts";
import type { SnapshotStore, Unavailable } from "./ports.ts";

/**
 * Gives the paths of the restore that went from `before` to `after`, so that its undo leaves all others alone; absent
 * when it was a restore of everything (`after` is absent). Says why where `after` cannot be read any more.
 */
export async function pathsToUndo(
	store: SnapshotStore,
	before: Snapshot,
	after: SnapshotId | undefined,
): Promise<ReadonlySet<BytePath> | Unavailable | undefined> {
	if (after === undefined) return undefined;
	const restored = await store.resolve(after);
	if (typeof restored === "string") return restored;
	const changes = await store.changes(before, restored);
	return new Set(changes.map(({ path }) => path));
}
