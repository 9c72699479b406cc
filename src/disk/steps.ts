/**
 * Does the steps of one restore, and can take them back.
 *
 * Every act pushes its reverse first to be run last; old files are kept aside by a second name (link) or a rename, so
 * taking back gives the same inodes, times and bits again.
 *
 * Invariants: [R4] a path is replaced only while it holds what the undo snapshot has of it. [R5] parents are looked at
 * right before each act. [R15] `verify` reads back from the disk.
 */
import {
	chmodSync,
	chownSync,
	constants,
	copyFileSync,
	linkSync,
	lstatSync,
	mkdirSync,
	readlinkSync,
	realpathSync,
	renameSync,
	rmdirSync,
	symlinkSync,
	unlinkSync,
	utimesSync,
} from "node:fs";
import { basename } from "node:path";
import {
	type BytePath,
	bytePathOf,
	displayPath,
	type ObjectFormat,
	parentPaths,
} from "../core/ids.ts";
import { fileModes, type Skip, type SkipReason, type Step, type TreeEntry } from "../core/plan.ts";
import type { JournalDraft, Performed } from "../engine/ports.ts";
import { RewindError } from "../core/errors.ts";
import { asRewindError } from "./failures.ts";
import {
	absolutePath,
	blockingParent,
	createBreather,
	entriesOf,
	errorCode,
	isEntryAt,
	lstatAt,
	repositoryAround,
} from "./files.ts";
import { type DiskStage, stagePrefix } from "./stage.ts";

export interface StepsOptions {
	readonly root: string;
	readonly format: ObjectFormat;
	/** Whether executable bits on this disk mean anything (`core.fileMode`). */
	readonly fileMode: boolean;
	/** Never removed, however empty. */
	readonly cwd: string;
}

type Write = Step & { readonly kind: "write" };

/**
 * Puts an entry in its place, replacing what is there. Bind mounts share a device number and still refuse a rename: then
 * a copy goes there, in one piece.
 */
function put(from: Buffer, to: Buffer): void {
	try {
		renameSync(from, to);
	} catch (error) {
		if (errorCode(error) !== "EXDEV") throw error;
		const folder = to.subarray(0, to.lastIndexOf(0x2f) + 1);
		const name = `${stagePrefix}${process.pid}-${basename(from.toString("latin1"))}`;
		const beside = Buffer.concat([folder, Buffer.from(name)]);
		copyEntry(from, beside);
		renameSync(beside, to);
	}
}

/** Takes an entry from its place. */
function take(from: Buffer, to: Buffer): void {
	try {
		renameSync(from, to);
	} catch (error) {
		if (errorCode(error) !== "EXDEV") throw error;
		copyEntry(from, to);
		unlinkSync(from);
	}
}

/** A file with its bits and times, or a link as it is. */
function copyEntry(from: Buffer, to: Buffer): void {
	const stats = lstatSync(from);
	if (stats.isSymbolicLink()) return symlinkSync(readlinkSync(from, { encoding: "buffer" }), to);
	copyFileSync(from, to, constants.COPYFILE_EXCL);
	chmodSync(to, stats.mode & 0o7777);
	utimesSync(to, stats.atime, stats.mtime);
}

export interface StepsRun {
	/** Stops at the first failure, with all that was done until then in place. */
	doAll(): Promise<void>;
	/** Takes everything back, newest first. Throws when that fails too. */
	takeBack(): void;
	verify(): Pick<Performed, "done" | "skips">;
}

/** `formerPaths`: paths of an interrupted restore, whose folders may be left empty. */
export function createSteps(
	options: StepsOptions,
	stage: DiskStage,
	steps: readonly Step[],
	{ formerPaths = [], asShown = false }: Pick<JournalDraft, "formerPaths" | "asShown">,
): StepsRun {
	const { root } = options;
	const reverses: { readonly path: BytePath; act(): void }[] = [];
	const back = (path: BytePath, act: () => void): void => void reverses.push({ path, act });
	const skips: Skip[] = [];
	const done: Step[] = [];
	const at = (path: BytePath): Buffer => absolutePath(root, path);
	const bitsAt = (path: BytePath): number => Number(lstatAt(root, path)?.mode ?? 0n) & 0o777;
	const holds = (path: BytePath, entry: TreeEntry): boolean =>
		isEntryAt(root, path, entry, options.format, options.fileMode);

	function leave(step: Step, reason: SkipReason): void {
		if (asShown) throw changedSince(step.path);
		skips.push({ path: step.path, reason });
	}

	function doStep(step: Step): void {
		const blocker = blockingParent(root, step.path);
		// For a write, a parent that is not there will be made; anything else that is no folder blocks.
		if (blocker !== undefined && (step.kind !== "write" || lstatAt(root, blocker) !== undefined))
			return leave(step, { kind: "behind-link", link: blocker });
		// A `git init` since the plan was made: what is inside is not ours any more.
		if (repositoryAround(root, step.path) !== undefined)
			return leave(step, { kind: "other-repository" });
		if (step.from !== undefined && !holds(step.path, step.from))
			return leave(step, { kind: "changed-meanwhile" });
		if (step.kind === "delete") deleteFile(step.path);
		else if (step.kind === "chmod") setExecutable(step.path, step.to);
		else if (!writeEntry(step)) return;
		done.push(step);
	}

	function deleteFile(path: BytePath): void {
		take(at(path), stage.oldFile(path));
		back(path, () => {
			if (lstatAt(root, path) !== undefined) throw changedSince(path);
			put(stage.oldFile(path), at(path));
		});
	}

	function setExecutable(path: BytePath, to: TreeEntry): void {
		const old = bitsAt(path);
		chmodSync(at(path), withExecutable(old, to.mode === fileModes.executable));
		back(path, () => {
			if (!holds(path, to)) throw changedSince(path);
			chmodSync(at(path), old);
		});
	}

	/** False when the place is taken by something that the capture does not hold. */
	function writeEntry(step: Write): boolean {
		const { path } = step;
		makeFolders(path);
		clearFolders(path);
		const stats = lstatAt(root, path);
		if (step.from === undefined && stats !== undefined) {
			leave(step, { kind: stats.isDirectory() ? "folder-in-the-way" : "not-in-capture" });
			return false;
		}
		if (step.to.mode !== fileModes.link) prepareFile(step, stats);
		if (stats === undefined) {
			put(stage.newFile(path), at(path));
			back(path, () => {
				if (holds(path, step.to)) unlinkSync(at(path));
				else if (lstatAt(root, path) !== undefined) throw changedSince(path);
			});
			return true;
		}
		keepOld(path);
		put(stage.newFile(path), at(path));
		back(path, () => {
			if (!holds(path, step.to)) throw changedSince(path);
			put(stage.oldFile(path), at(path));
		});
		return true;
	}

	/** Gives the staged file the bits, and where we may, the owner, of the file that it replaces. */
	function prepareFile(step: Write, stats: ReturnType<typeof lstatAt>): void {
		const file = stage.newFile(step.path);
		const executable = step.to.mode === fileModes.executable;
		const replaces = stats?.isFile() === true;
		chmodSync(file, replaces ? withExecutable(Number(stats.mode) & 0o777, executable) : step.bits);
		if (!replaces || process.getuid?.() !== 0) return;
		if (stats.uid !== 0n || stats.gid !== 0n) chownSync(file, Number(stats.uid), Number(stats.gid));
	}

	/** A second name for the old content; where the file system gives none, a copy. */
	function keepOld(path: BytePath): void {
		try {
			linkSync(at(path), stage.oldFile(path));
		} catch (error) {
			const code = errorCode(error);
			if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EMLINK" && code !== "EXDEV")
				throw error;
			copyEntry(at(path), stage.oldFile(path));
		}
	}

	function makeFolders(path: BytePath): void {
		for (const folder of parentPaths(path).toReversed()) {
			if (lstatAt(root, folder) !== undefined) continue;
			mkdirSync(at(folder));
			back(folder, () => void removeIfEmpty(folder));
		}
	}

	/** A folder that holds nothing but folders gives way to the file that was there; else all of it stays as it is. */
	function clearFolders(path: BytePath): void {
		if (lstatAt(root, path)?.isDirectory() !== true) return;
		// Each stands after the one that holds it.
		for (const folder of foldersWithoutFiles(path)?.toReversed() ?? []) removeFolder(folder);
	}

	/** A folder and all folders below it; absent when one is the cwd, or has, or may have, anything else in it. */
	function foldersWithoutFiles(folder: BytePath): BytePath[] | undefined {
		const entries = isCwd(folder) ? undefined : entriesOf(root, folder);
		if (entries === undefined) return undefined;
		const found = [folder];
		for (const entry of entries) {
			const inside = entry.isDirectory()
				? foldersWithoutFiles(bytePathOf(`${folder}/${entry.name.toString("latin1")}`))
				: undefined;
			if (inside === undefined) return undefined;
			found.push(...inside);
		}
		return found;
	}

	/** Folders that the deletes emptied go too, unless a write is about to need them. */
	function removeEmptied(paths: readonly BytePath[]): void {
		const writes = steps.filter(({ kind }) => kind !== "delete");
		const needed = new Set(writes.flatMap(({ path }) => parentPaths(path)));
		const emptied = new Set(paths.flatMap((path) => parentPaths(path)));
		for (const folder of [...emptied].toSorted((a, b) => b.length - a.length))
			if (!needed.has(folder) && !isCwd(folder)) removeFolder(folder);
	}

	function removeFolder(folder: BytePath): void {
		const bits = bitsAt(folder);
		if (!removeIfEmpty(folder)) return;
		back(folder, () => {
			const stats = lstatAt(root, folder);
			if (stats?.isDirectory() === true) return;
			if (stats !== undefined) throw changedSince(folder);
			mkdirSync(at(folder));
			chmodSync(at(folder), bits);
		});
	}

	/** False when something is still in it, it is gone, or it is a mount point: then it is not ours to remove. */
	function removeIfEmpty(folder: BytePath): boolean {
		try {
			rmdirSync(at(folder));
			return true;
		} catch (error) {
			const code = errorCode(error);
			if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT" || code === "EBUSY")
				return false;
			throw error;
		}
	}

	function isCwd(folder: BytePath): boolean {
		try {
			return realpathSync(at(folder)) === realpathSync(options.cwd);
		} catch {
			// One of them is not there: then they are not the same.
			return false;
		}
	}

	async function doSome(some: readonly Step[]): Promise<void> {
		const breathe = createBreather();
		for (const step of some) {
			try {
				doStep(step);
			} catch (error) {
				throw asRewindError(error, `Cannot ${step.kind} ${displayPath(step.path)}`, "");
			}
			await breathe();
		}
	}

	return {
		async doAll() {
			await doSome(steps.filter(({ kind }) => kind === "delete"));
			removeEmptied(done.map(({ path }) => path));
			await doSome(steps.filter(({ kind }) => kind !== "delete"));
			removeEmptied(formerPaths);
		},
		takeBack() {
			const failures: unknown[] = [];
			for (const { path, act } of reverses.toReversed()) {
				try {
					// Somebody may have put a link above it since. [R5]
					const blocker = blockingParent(root, path);
					if (blocker !== undefined && lstatAt(root, blocker) !== undefined)
						throw changedSince(path);
					act();
				} catch (error) {
					// One path that cannot be taken back must not cost the others; all failures are thrown together.
					failures.push(error);
				}
			}
			if (failures.length > 0) throw new AggregateError(failures);
		},
		verify() {
			const isDone = (step: Step): boolean =>
				step.kind === "delete" ? isGone(root, step.path) : holds(step.path, step.to);
			const whole = new Set(done.filter(isDone));
			const changed = done
				.filter((step) => !whole.has(step))
				.map(({ path }): Skip => ({ path, reason: { kind: "changed-meanwhile" } }));
			return { done: [...whole], skips: [...skips, ...changed] };
		},
	};
}

/** Somebody wrote there since our step: theirs stands in no snapshot, so it is not ours to replace. [R4] */
const changedSince = (path: BytePath): RewindError =>
	new RewindError("io-failed", `${displayPath(path)} changed while it was being restored`);

/** A folder may stand there by now: the one that a later write needed. */
function isGone(root: string, path: BytePath): boolean {
	const stats = lstatAt(root, path);
	return stats === undefined || stats.isDirectory();
}

const withExecutable = (bits: number, executable: boolean): number =>
	executable ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;
