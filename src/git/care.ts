/**
 * Looks after the store of a repository: weighs it, looks for holes, finds what processes that are gone left.
 *
 * Limit: content that is damaged in place is found when it is read, or by `git fsck`.
 */
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { subjects } from "../core/coverage.ts";
import { type BytePath, bytePathOf, type ObjectId, trustedObjectId } from "../core/ids.ts";
import { readJournals } from "../disk/journal.ts";
import { clearLeftovers, findLeftovers } from "../disk/leftovers.ts";
import { lookAtLock } from "../disk/process-lock.ts";
import type { Care, HeavyFile, Incomplete, Remnant, Weight } from "../engine/care.ts";
import { storeRef } from "./store-ref.ts";
import type { Repository } from "./repository.ts";
import { type GitRun, harmless, personEnv, runGit } from "./run.ts";

const largestMax = 10;
/** A ref's lock is held for milliseconds. */
const staleRefLockMs = 10_000;
/** Reading the names of all objects of a very large repository. */
const listingMs = 10 * 60_000;

/** The care for one repository; `now` gives milliseconds since the epoch. */
export function createCare(repository: Repository, now: () => number): Care {
	const { root, gitDir, commonDir, privateDir } = repository;
	const git = (args: readonly string[], more: Pick<GitRun, "stdin" | "answers"> = {}) =>
		runGit({
			args: ["--git-dir", gitDir, ...harmless, ...args],
			cwd: root,
			env: personEnv(),
			timeoutMs: listingMs,
			...more,
		});

	async function hasStore(): Promise<boolean> {
		const asked = ["rev-parse", "--verify", "--quiet", storeRef];
		return (await git(asked, { answers: [1] })).code === 0;
	}

	async function kept(): Promise<ObjectId[]> {
		if (!(await hasStore())) return [];
		const listed = await git(["log", "--format=%H %s", storeRef, "--"], { answers: [128] });
		return listed.stdout
			.toString("utf8")
			.split("\n")
			.filter((line) => line !== "" && isSnapshotLine(line))
			.map((line) => trustedObjectId(line.slice(0, line.indexOf(" "))));
	}

	/** Object names that the snapshots reach and nothing else does, with a path for each that has one. */
	async function ownObjects(): Promise<Map<ObjectId, BytePath>> {
		const ours = await git(["rev-list", "--objects", storeRef, "--"]);
		const own = new Map<ObjectId, BytePath>();
		for (const line of ours.stdout.toString("latin1").split("\n")) {
			if (line === "") continue;
			const cut = line.indexOf(" ");
			const id = trustedObjectId(cut < 0 ? line : line.slice(0, cut));
			own.set(id, bytePathOf(cut < 0 ? "" : line.slice(cut + 1)));
		}
		const others = ["--exclude=refs/pi-rewind/*", "--all", "--reflog", "--indexed-objects"];
		const theirs = await git(["rev-list", "--objects", "--no-object-names", ...others]);
		// Sliced by hand: split, the names of a large repository would fill the memory twice.
		for (let at = 0; at < theirs.stdout.length;) {
			const end = theirs.stdout.indexOf(10, at);
			if (end < 0) break;
			own.delete(trustedObjectId(theirs.stdout.toString("latin1", at, end)));
			at = end + 1;
		}
		return own;
	}

	async function weigh(): Promise<Weight> {
		if (!(await hasStore())) return { objects: 0, bytes: 0, largest: [] };
		const own = await ownObjects();
		const asked = await git(
			["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize:disk) %(objectsize)"],
			{ stdin: `${[...own.keys()].join("\n")}\n` },
		);
		let bytes = 0;
		const files: HeavyFile[] = [];
		for (const line of asked.stdout.toString("latin1").split("\n")) {
			const [name, type, onDisk, size] = line.split(" ");
			if (name === undefined || size === undefined) continue;
			bytes += Number(onDisk);
			const id = trustedObjectId(name);
			const path = own.get(id);
			if (type === "blob" && path !== undefined && !isOurs.test(path))
				files.push({ path, id, size: Number(size) });
		}
		const largest = files.toSorted((a, b) => b.size - a.size).slice(0, largestMax);
		return { objects: own.size, bytes, largest };
	}

	/** Objects below `tips` that are not there; absent when a commit among them is missing, which git does not pass by. */
	async function missingBelow(tips: readonly string[]): Promise<ObjectId[] | undefined> {
		const listed = await git(
			["rev-list", "--objects", "--no-object-names", "--missing=print", "--stdin"],
			{ stdin: `${tips.join("\n")}\n`, answers: [128] },
		);
		if (listed.code !== 0) return undefined;
		return [...listed.stdout.toString("latin1").matchAll(/^\?([0-9a-f]+)$/gm)].map(([, id = ""]) =>
			trustedObjectId(id),
		);
	}

	/** Past commits that are missing, where git's own listing ends: what is kept still, and what is not there. */
	async function walk(): Promise<{ snapshots: ObjectId[]; missing: ObjectId[] }> {
		const tip = (await git(["rev-parse", "--verify", storeRef])).stdout.toString("latin1").trim();
		const snapshots: ObjectId[] = [];
		const missing: ObjectId[] = [];
		const seen = new Set<string>();
		for (let level = [tip]; level.length > 0;) {
			for (const id of level) seen.add(id);
			const stdin = `${level.join("\n")}\n`;
			const asked = (await git(["cat-file", "--batch-check"], { stdin })).stdout.toString("latin1");
			missing.push(
				...[...asked.matchAll(/^(\S+) missing$/gm)].map(([, id = ""]) => trustedObjectId(id)),
			);
			const there = level.filter((id) => !missing.some((each) => each === id));
			const args = ["rev-list", "--no-walk=unsorted", "--format=%P%x00%s", "--stdin"];
			const listed =
				there.length === 0
					? ""
					: (await git(args, { stdin: `${there.join("\n")}\n` })).stdout.toString();
			level = [];
			for (const [, id = "", parents = "", subject = ""] of listed.matchAll(
				/^commit (\S+)\n([^\0\n]*)\0(.*)$/gm,
			)) {
				if (subject === subjects.keep)
					level.push(...parents.split(" ").filter((each) => !seen.has(each)));
				else snapshots.push(trustedObjectId(id));
			}
			level = [...new Set(level.filter(Boolean))];
		}
		return { snapshots, missing };
	}

	async function incomplete(): Promise<Incomplete[]> {
		if (!(await hasStore())) return [];
		const all = await missingBelow([storeRef]);
		if (all !== undefined && all.length === 0) return [];
		const { snapshots, missing: gone } =
			all === undefined ? await walk() : { snapshots: await kept(), missing: [] };
		const found: Incomplete[] = gone.map((id) => ({ snapshot: id, missing: [id] }));
		for (const snapshot of snapshots) {
			const missing = (await missingBelow([snapshot])) ?? [snapshot];
			if (missing.length > 0) found.push({ snapshot, missing });
		}
		return found;
	}

	async function remnants(): Promise<Remnant[]> {
		return [
			...(await captureLocks()),
			...(await refLock()),
			...(await findLeftovers(root, privateDir, now())).map((file): Remnant => ({
				kind: "leftover",
				file,
				isStale: true,
			})),
			...(await brokenJournals()),
			...(await stalePrivateDirs()),
		];
	}

	async function captureLocks(): Promise<Remnant[]> {
		const file = join(privateDir, "capture.lock");
		const lock = await lookAtLock(file);
		if (lock === undefined) return [];
		const { holder, isStale } = lock;
		return [{ kind: "lock", file, isStale, ...(holder === undefined ? {} : { holder }) }];
	}

	async function refLock(): Promise<Remnant[]> {
		const file = `${join(commonDir, storeRef)}.lock`;
		const info = await stat(file).catch(() => undefined);
		if (info === undefined) return [];
		return [{ kind: "lock", file, isStale: now() - info.mtimeMs > staleRefLockMs }];
	}

	async function brokenJournals(): Promise<Remnant[]> {
		const names = await readdir(privateDir).catch(() => []);
		const read = new Set((await readJournals(privateDir)).map(({ file }) => file));
		return names
			.filter((name) => /^journal-[\w-]+\.json$/.test(name) && !read.has(join(privateDir, name)))
			.map((name) => ({ kind: "broken-journal", file: join(privateDir, name), isStale: false }));
	}

	/** Private dirs of linked worktrees whose folder is not where their git dir says. */
	async function stalePrivateDirs(): Promise<Remnant[]> {
		const worktrees = join(commonDir, "worktrees");
		const found: Remnant[] = [];
		for (const name of await readdir(worktrees).catch(() => [])) {
			const file = join(worktrees, name, "pi-rewind");
			const link = await readFile(join(worktrees, name, "gitdir"), "utf8").catch(() => "");
			const isThere = async (path: string): Promise<boolean> =>
				(await stat(path).catch(() => undefined)) !== undefined;
			if ((await isThere(file)) && !(await isThere(link.trim())))
				found.push({ kind: "stale-private-dir", file, isStale: false });
		}
		return found;
	}

	return {
		kept,
		weigh,
		incomplete,
		remnants,
		async clear() {
			await clearLeftovers(root, privateDir, now());
			for (const { kind, file, isStale } of [...(await captureLocks()), ...(await refLock())])
				if (kind === "lock" && isStale) await rm(file, { force: true });
		},
	};
}

/** What coverage commits hold; nobody looks for a file of theirs under these names. */
const isOurs = /^(|coverage\.json|info-exclude|excludes-file)$/;

/** Keep and coverage commits are ours and no snapshots; what else the ref reaches is one, a predecessor's too. */
const isSnapshotLine = (line: string): boolean =>
	!line.endsWith(` ${subjects.keep}`) && !line.endsWith(` ${subjects.coverage}`);
