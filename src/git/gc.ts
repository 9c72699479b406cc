/**
 * The person's own `git gc`, which may run at any moment.
 *
 * One that began before our ref moved takes with `--prune=now` what it saw unreachable, even what was written since.
 * So whoever moved the ref looks again until it has ended.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/** A `gc.pid` older than this is of a gc that died; nobody is waited for longer. */
const gcWaitMs = 60_000;
const gcPollMs = 100;

/** Whether a gc runs, as far as its `gc.pid` tells; a plain `git prune` leaves none. */
export const gcRuns = ({ commonDir }: Repository): Promise<boolean> =>
	stat(join(commonDir, "gc.pid")).then(
		({ mtimeMs }) => Date.now() - mtimeMs < gcWaitMs,
		() => false,
	);

/** Looks, and looks again while a gc runs, until `look` gives something or no gc can take anything any more. */
export async function untilNoGc<T>(
	repository: Repository,
	look: () => Promise<T | undefined>,
): Promise<T | undefined> {
	for (const end = performance.now() + gcWaitMs; ;) {
		// Asked before: what ran while we looked may take something after.
		const running = await gcRuns(repository);
		const found = await look();
		if (found !== undefined || !running || performance.now() > end) return found;
		await new Promise((resolve) => setTimeout(resolve, gcPollMs));
	}
}
