/** Puts the engine for repositories together. */
import { realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { type BytePath, bytePathFromText } from "../core/ids.ts";
import { createPresence } from "../disk/presence.ts";
import { createWorktree } from "../disk/worktree.ts";
import type { OpenEngine } from "../engine/open.ts";
import { createRewind } from "../engine/rewind.ts";
import { createCare } from "./care.ts";
import type { OwnPaths } from "./classify.ts";
import type { OpenRequest } from "../engine/open.ts";
import { privateDirsOf } from "./held.ts";
import { discover, type Refusal, type Repository, stillIn } from "./repository.ts";
import { openSnapshotStore } from "./snapshots.ts";

const shortReasons: Record<Refusal, string> = {
	"not-a-repository": "no git repository",
	bare: "bare repository",
	"inside-git-dir": "inside a git dir",
	"git-missing": "git not found",
	"git-too-old": "git too old",
	ownership: "owned by another user",
	"git-dir-elsewhere": "git dir elsewhere",
	"read-only": "read-only git dir",
	"root-too-wide": "home folder",
	"git-refused": "refused by git",
};

/** `now` gives milliseconds since the epoch. */
export const createGitEngine =
	(now: () => number): OpenEngine =>
	async (request) => {
		const found = await discover(request.cwd);
		if (found.kind === "unavailable") {
			const { reason, message } = found;
			return {
				kind: "unavailable",
				reason: shortReasons[reason],
				message,
				mayChange: reason === "not-a-repository",
			};
		}
		const { repository } = found;
		const { root, format, privateDir, carried } = repository;
		const store = await openSnapshotStore(repository, {
			scope: request.includeUntracked ? "all" : "tracked",
			maxFileBytes: request.maxFileBytes,
			own: await ownPaths(repository, request),
			now,
		});
		const fileMode = carried["filemode"] !== "false";
		const worktree = createWorktree({ root, format, privateDir, fileMode, cwd: request.cwd, now });
		return {
			kind: "ready",
			rewind: createRewind(store, worktree, now),
			presence: createPresence(privateDir, () => privateDirsOf(repository)),
			care: createCare(repository, now),
			root,
			stillHere: () => stillIn(request.cwd, repository),
		};
	};

/** Ours and Pi's, as far as they lie in the working tree, by real path. */
async function ownPaths(repository: Repository, request: OpenRequest): Promise<OwnPaths> {
	const { root, gitDir, commonDir, privateDir } = repository;
	const inside = async (folder: string): Promise<BytePath | undefined> => {
		const real = await realpath(folder).catch(() => folder);
		const path = relative(root, real);
		return path.startsWith("..") || path.startsWith(sep) ? undefined : bytePathFromText(path);
	};
	const all = async (folders: readonly string[]): Promise<BytePath[]> =>
		(await Promise.all(folders.map(inside))).filter((path) => path !== undefined);
	const folders = await all([
		join(root, ".git"),
		gitDir,
		commonDir,
		privateDir,
		...request.ownPaths,
	]);
	return {
		// A root that lies in Pi's own folder would leave nothing: then only the session files are ours.
		folders: folders.filter((path) => path !== ""),
		sessionFolders: await all(request.sessionFolders),
	};
}
