/**
 * What the person's index adds to, or takes from, the scope of a capture. Read only. [R6]
 *
 * Asked of git only when that index changed (by its stat): what it says of paths does not depend on the files.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { notCoveredIndex } from "../core/coverage.ts";
import { type BytePath, bytePathOf } from "../core/ids.ts";
import { lstatAt } from "../disk/files.ts";
import { listIndex, listSparse, listTrackedIgnored, type RunHere } from "./listing.ts";
import type { Scope } from "./private-dir.ts";
import type { Repository } from "./repository.ts";
import { lineOf } from "./run.ts";

export interface IndexNews {
	/** Paths to look at, whatever the ignore rules say. */
	readonly add: readonly BytePath[];
	/** Paths that left the scope. */
	readonly remove: readonly BytePath[];
}

export interface PersonIndex {
	/** Call once per capture, with the private index to compare with. */
	news(privateIndex: RunHere): Promise<IndexNews>;
	/** What the last `news` asked for did not reach the private index: the next one says it all again. */
	forget(): void;
	/** All paths that the index tracks. */
	tracked(): Promise<ReadonlySet<BytePath>>;
	/** What the sparse checkout leaves off the disk; folders end in `/`. As of the last `news`. */
	sparse(): readonly string[];
	isSparse(path: BytePath): boolean;
}

/** Asked anew: a checkout can become sparse at any time. */
async function isSparseCheckout(person: RunHere): Promise<boolean> {
	const args = ["config", "--type=bool", "--get", "core.sparseCheckout"];
	const { stdout } = await person(args, { answers: [1, 128] });
	return lineOf(stdout) === "true";
}

export function createPersonIndex(
	repository: Repository,
	person: RunHere,
	scope: Scope,
): PersonIndex {
	let stamp = "";
	/** Counts the times that all was forgotten: an answer that was under way then does not count as given. */
	let epoch = 0;
	let trackedNow: ReadonlySet<BytePath> | undefined;
	let sparse: readonly string[] = [];
	let sparseLookup = notCoveredIndex([]);
	/** Tracked although ignored: no listing of the working tree names these. */
	let forced: readonly BytePath[] = [];
	/** Those of them that were not on the disk when last looked at. */
	let absent = new Set<BytePath>();

	async function tracked(): Promise<ReadonlySet<BytePath>> {
		trackedNow ??= new Set(await listIndex(person));
		return trackedNow;
	}

	async function readStamp(): Promise<string> {
		const file = join(repository.gitDir, "index");
		const stats = await stat(file, { bigint: true }).catch(() => undefined);
		return stats === undefined ? "none" : `${stats.ino}:${stats.size}:${stats.mtimeNs}`;
	}

	/** What cannot be looked at is there: who classifies it names it. */
	function isThere(path: BytePath): boolean {
		try {
			return lstatAt(repository.root, path) !== undefined;
		} catch {
			// Not being allowed to look is the answer.
			return true;
		}
	}

	/** All of `forced` when the index changed; later only those that came back. */
	function forcedOnDisk(changed: boolean): BytePath[] {
		const there = forced.filter(isThere);
		const news = changed ? there : there.filter((path) => absent.has(path));
		const found = new Set(there);
		absent = new Set(forced.filter((path) => !found.has(path)));
		return news;
	}

	return {
		async news(privateIndex) {
			const asked = epoch;
			const now = await readStamp();
			const changed = now !== stamp;
			if (changed) {
				trackedNow = undefined;
				sparse = (await isSparseCheckout(person)) ? await listSparse(person) : [];
				sparseLookup = notCoveredIndex(
					sparse.map((path) => ({ path: bytePathOf(path), reason: "sparse" })),
				);
				forced = scope === "all" ? await listTrackedIgnored(person) : [];
				if (asked === epoch) stamp = now;
			}
			if (scope === "all") return { add: forcedOnDisk(changed), remove: [] };
			const wanted = await tracked();
			const held = new Set(await listIndex(privateIndex));
			return {
				add: [...wanted].filter((path) => !held.has(path)),
				remove: [...held].filter((path) => !wanted.has(path)),
			};
		},
		forget() {
			stamp = "";
			epoch += 1;
		},
		tracked,
		sparse: () => sparse,
		isSparse: (path) => sparseLookup(path) !== undefined,
	};
}
