/** Our engine on a repository, with the time that its captures take told apart from the rest. */
import { createWorktree } from "../../src/disk/worktree.ts";
import { createRewind, type Rewind } from "../../src/engine/rewind.ts";
import type { Owner, SnapshotStore } from "../../src/engine/ports.ts";
import { bytePathOf } from "../../src/core/ids.ts";
import { discover } from "../../src/git/repository.ts";
import { openSnapshotStore } from "../../src/git/snapshots.ts";

export interface Subject {
	readonly rewind: Rewind;
	/** Milliseconds spent in captures until now. */
	captureMs(): number;
}

export const owner: Owner = { sessionId: "bench" };

const maxFileBytes = 32 * 1024 * 1024;

export async function openSubject(cwd: string): Promise<Subject> {
	const found = await discover(cwd);
	if (found.kind === "unavailable") throw new Error(found.message);
	const { repository } = found;
	const { root, format, privateDir, carried } = repository;
	const store = await openSnapshotStore(repository, {
		scope: "all",
		maxFileBytes,
		own: { folders: [bytePathOf(".git")], sessionFolders: [] },
		now: Date.now,
	});
	let captureMs = 0;
	const timed: SnapshotStore = {
		...store,
		async capture(request) {
			const start = performance.now();
			try {
				return await store.capture(request);
			} finally {
				captureMs += performance.now() - start;
			}
		},
	};
	const fileMode = carried["filemode"] !== "false";
	const worktree = createWorktree({ root, format, privateDir, fileMode, cwd, now: Date.now });
	return { rewind: createRewind(timed, worktree, Date.now), captureMs: () => captureMs };
}
