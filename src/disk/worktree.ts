/**
 * Writes the working tree: looks, stages, does, verifies, rolls back.
 *
 *   inspect ──▶ (plan) ──▶ stage ──▶ perform ──▶ complete
 *                            │           │ └─ a step fails ─▶ rolled back, journal gone
 *                            └▶ discard  └─ the process dies ─▶ journal names it [R9]
 *
 * Invariants: [R4] a path is replaced only while it still holds what the undo snapshot has of it. [R5] no link is
 * followed, nothing outside the steps is touched. [R15] what is reported done was read back from the disk.
 *
 * Old files are kept aside (hard links, renames) until `complete`, so a roll back gives the same inodes again.
 */
import { randomBytes } from "node:crypto";
import {
	accessSync,
	chmodSync,
	chownSync,
	constants,
	copyFileSync,
	linkSync,
	mkdirSync,
	readdirSync,
	realpathSync,
	renameSync,
	rmdirSync,
	symlinkSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { RewindError } from "../core/errors.ts";
import {
	type BytePath,
	bytePathOf,
	displayPath,
	type ObjectFormat,
	type ObjectId,
	parentPath,
	parentPaths,
} from "../core/ids.ts";
import {
	type DiskFact,
	fileModes,
	type Skip,
	type SkipReason,
	type Step,
	type TreeEntry,
} from "../core/plan.ts";
import type {
	Interrupted,
	JournalDraft,
	Performed,
	SnapshotStore,
	Stage,
	Worktree,
} from "../engine/ports.ts";
import {
	absolutePath,
	blockingParent,
	createBreather,
	errorCode,
	isEntryAt,
	lstatAt,
} from "./files.ts";
import { readInterrupted, removeJournal, writeJournal } from "./journal.ts";
import { isAlive, thisProcess } from "./process-lock.ts";

export interface WorktreeOptions {
	/** Real path. */
	readonly root: string;
	readonly format: ObjectFormat;
	/** Where stages and journals live. */
	readonly privateDir: string;
	/** Whether executable bits on this disk mean anything (`core.fileMode`). */
	readonly fileMode: boolean;
	/** The session's folder: never removed, however empty. */
	readonly cwd: string;
}

/** A folder in the way is only looked through up to here; a larger one is not going to be emptied by a plan. */
const insideMax = 100_000;

/** Stages outside the private dir (another device) are named so that captures leave them out. */
export const stagePrefix = ".pi-rewind-stage-";

interface StageParts extends Stage {
	/** Where the new content of a path waits. */
	readonly newFile: (path: BytePath) => Buffer;
	/** Where the old content of a path goes. */
	readonly oldFile: (path: BytePath) => Buffer;
	readonly folders: readonly string[];
}

export function createWorktree(options: WorktreeOptions): Worktree {
	const { root, format, privateDir } = options;
	const stages = new Map<string, StageParts>();

	const holds = (path: BytePath, entry: TreeEntry): boolean =>
		isEntryAt(root, path, entry, format, options.fileMode);

	/** One folder per device: a rename must not leave it. */
	function stageFolders(id: string): { folderFor(path: BytePath): string; all(): string[] } {
		const byDevice = new Map<bigint, string>();
		const privateDevice = lstatAt(privateDir, bytePathOf(""))?.dev;
		return {
			folderFor(path) {
				let folder = nearestFolder(path);
				const device = lstatAt(root, folder)?.dev ?? 0n;
				let stage = byDevice.get(device);
				if (stage === undefined) {
					if (device === privateDevice) stage = join(privateDir, `stage-${id}`);
					else {
						while (folder !== "" && lstatAt(root, parentPath(folder))?.dev === device)
							folder = parentPath(folder);
						stage = Buffer.concat([
							absolutePath(root, folder),
							Buffer.from(`/${stagePrefix}${id}`),
						]).toString("utf8");
					}
					mkdirSync(stage, { recursive: true, mode: 0o700 });
					byDevice.set(device, stage);
				}
				return stage;
			},
			all: () => [...byDevice.values()],
		};
	}

	/** The deepest real folder above a path; `""` is the root. */
	function nearestFolder(path: BytePath): BytePath {
		const blocker = blockingParent(root, path);
		return parentPath(blocker ?? path);
	}

	async function stage(
		steps: readonly Step[],
		readBlobs: SnapshotStore["readBlobs"],
	): Promise<Stage> {
		const { pid, processStart } = await thisProcess();
		const id = `${pid}-${processStart || "0"}-${randomBytes(4).toString("hex")}`;
		const folders = stageFolders(id);
		const places = new Map<BytePath, { folder: string; number: number }>();
		const place = (path: BytePath, what: "new" | "old"): Buffer => {
			const { folder, number } = places.get(path) ?? missingPlace(path);
			return Buffer.from(join(folder, `${what}-${number}`));
		};
		const parts: StageParts = {
			id,
			newFile: (path) => place(path, "new"),
			oldFile: (path) => place(path, "old"),
			get folders() {
				return folders.all();
			},
			async discard() {
				stages.delete(id);
				for (const folder of folders.all()) await rm(folder, { recursive: true, force: true });
			},
		};
		stages.set(id, parts);
		try {
			for (const { path } of steps) {
				accessSync(absolutePath(root, nearestFolder(path)), constants.W_OK | constants.X_OK);
				places.set(path, { folder: folders.folderFor(path), number: places.size });
			}
			await stageContent(steps, parts, readBlobs);
			return parts;
		} catch (error) {
			await parts.discard();
			throw asRewindError(error, "Cannot prepare the restore", "Nothing was changed");
		}
	}

	async function stageContent(
		steps: readonly Step[],
		parts: StageParts,
		readBlobs: SnapshotStore["readBlobs"],
	): Promise<void> {
		const wanted = new Map<ObjectId, (Step & { kind: "write" })[]>();
		for (const step of steps) {
			if (step.kind !== "write") continue;
			const list = wanted.get(step.to.id);
			if (list === undefined) wanted.set(step.to.id, [step]);
			else list.push(step);
		}
		const breathe = createBreather();
		await readBlobs([...wanted.keys()], async (id, content) => {
			for (const { path, to } of wanted.get(id) ?? []) {
				if (to.mode === fileModes.link) symlinkSync(content, parts.newFile(path));
				else writeFileSync(parts.newFile(path), content, { mode: 0o600, flag: "wx" });
			}
			await breathe();
		});
	}

	async function perform(
		given: Stage,
		steps: readonly Step[],
		draft: JournalDraft,
	): Promise<Performed> {
		const parts = stages.get(given.id);
		if (parts === undefined)
			throw new RewindError("invariant-broken", "BUG: this stage is not prepared any more");
		const journal = await writeJournal(privateDir, { ...draft, stages: parts.folders });
		const run = createRun(parts, steps);
		try {
			await run.all();
		} catch (error) {
			await rollBack(run, parts, journal, error);
		}
		const verified = run.verify();
		return {
			...verified,
			async complete() {
				await removeJournal(journal);
				await parts.discard();
			},
		};
	}

	async function rollBack(
		run: ReturnType<typeof createRun>,
		parts: StageParts,
		journal: string,
		cause: unknown,
	): Promise<never> {
		const failed = asRewindError(cause, "The restore failed", "");
		try {
			run.undo();
		} catch (second) {
			// The journal stays: at the next start both ways out are on offer. [R9]
			throw new RewindError(
				"restore-interrupted",
				`${failed.message}, and rolling back failed too`,
				{
					hint: "Some files are restored and some are not; start Pi again to finish or roll back",
					cause: new AggregateError([cause, second]),
				},
			);
		}
		await removeJournal(journal);
		await parts.discard();
		throw new RewindError(
			"restore-rolled-back",
			`${failed.message}; all files are as they were before`,
			{
				...(failed.hint === undefined ? {} : { hint: failed.hint }),
				data: failed.data,
				cause,
			},
		);
	}

	/** The steps of one restore, with what is needed to take them back in reverse. */
	function createRun(parts: StageParts, steps: readonly Step[]) {
		const back: (() => void)[] = [];
		const skips: Skip[] = [];
		const done: Step[] = [];
		const needed = new Set<BytePath>(
			steps.filter((s) => s.kind !== "delete").flatMap((s) => parentPaths(s.path)),
		);
		const leave = (step: Step, reason: SkipReason): void =>
			void skips.push({ path: step.path, reason });

		function at(path: BytePath): Buffer {
			return absolutePath(root, path);
		}

		function doStep(step: Step): void {
			const blocker = blockingParent(root, step.path);
			if (blocker !== undefined && (step.kind !== "write" || lstatAt(root, blocker) !== undefined))
				return leave(step, { kind: "behind-link", link: blocker });
			// [R4] What stands there now must be what the undo snapshot holds.
			if (step.from !== undefined && !holds(step.path, step.from))
				return leave(step, { kind: "changed-meanwhile" });
			if (step.kind === "delete") deleteFile(step.path);
			else if (step.kind === "chmod") setExecutable(step);
			else if (!writeEntry(step)) return;
			done.push(step);
		}

		function deleteFile(path: BytePath): void {
			renameSync(at(path), parts.oldFile(path));
			back.push(() => renameSync(parts.oldFile(path), at(path)));
		}

		function setExecutable(step: Step & { kind: "chmod" }): void {
			const old = bitsAt(step.path);
			chmodSync(at(step.path), withExecutable(old, step.to.mode === fileModes.executable));
			back.push(() => chmodSync(at(step.path), old));
		}

		function writeEntry(step: Step & { kind: "write" }): boolean {
			makeFolders(step.path);
			const stats = lstatAt(root, step.path);
			if (step.from === undefined && stats !== undefined) {
				leave(
					step,
					stats.isDirectory() ? { kind: "folder-in-the-way" } : { kind: "not-in-capture" },
				);
				return false;
			}
			if (step.to.mode !== fileModes.link) prepareFile(step, stats);
			if (stats === undefined) {
				moveInto(parts.newFile(step.path), step.path);
				back.push(() => unlinkSync(at(step.path)));
				return true;
			}
			keepOld(step.path);
			back.push(() => renameSync(parts.oldFile(step.path), at(step.path)));
			moveInto(parts.newFile(step.path), step.path);
			return true;
		}

		/** Gives the staged file the bits, and where we may, the owner, of the file that it replaces. */
		function prepareFile(step: Step & { kind: "write" }, stats: ReturnType<typeof lstatAt>): void {
			const file = parts.newFile(step.path);
			const executable = step.to.mode === fileModes.executable;
			const replaces = stats?.isFile() === true;
			chmodSync(
				file,
				replaces ? withExecutable(Number(stats.mode) & 0o777, executable) : step.bits,
			);
			if (!replaces || process.getuid?.() !== 0) return;
			if (stats.uid !== 0n || stats.gid !== 0n)
				chownSync(file, Number(stats.uid), Number(stats.gid));
		}

		/** A second name for the old content; where a file system has no links, a copy. */
		function keepOld(path: BytePath): void {
			try {
				linkSync(at(path), parts.oldFile(path));
			} catch (error) {
				const code = errorCode(error);
				if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EMLINK") throw error;
				renameSync(at(path), parts.oldFile(path));
			}
		}

		/** Bind mounts share a device number and still refuse a rename: then it goes by way of a copy beside. */
		function moveInto(file: Buffer, path: BytePath): void {
			try {
				renameSync(file, at(path));
			} catch (error) {
				if (errorCode(error) !== "EXDEV") throw error;
				const beside = Buffer.concat([
					at(parentPath(path)),
					Buffer.from(`/${stagePrefix}${basename(file.toString())}`),
				]);
				copyFileSync(file, beside, constants.COPYFILE_EXCL);
				renameSync(beside, at(path));
			}
		}

		function makeFolders(path: BytePath): void {
			for (const folder of parentPaths(path).reverse()) {
				if (lstatAt(root, folder) !== undefined) continue;
				mkdirSync(at(folder));
				back.push(() => rmdirSync(at(folder)));
			}
		}

		/** Folders that the deletes emptied go too, unless a write is about to need them. */
		function removeEmptied(): void {
			const emptied = new Set(
				done.filter((s) => s.kind === "delete").flatMap((s) => parentPaths(s.path)),
			);
			for (const folder of [...emptied].sort((a, b) => b.length - a.length)) {
				if (needed.has(folder) || isCwd(folder)) continue;
				const bits = bitsAt(folder);
				try {
					rmdirSync(at(folder));
				} catch (error) {
					// Something is still in it, or it is gone: then it is not ours to remove.
					const code = errorCode(error);
					if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT" || code === "EBUSY")
						continue;
					throw error;
				}
				back.push(() => {
					mkdirSync(at(folder));
					chmodSync(at(folder), bits);
				});
			}
		}

		const isCwd = (folder: BytePath): boolean => {
			try {
				return realpathSync(absolutePath(root, folder)) === realpathSync(options.cwd);
			} catch {
				// One of them is not there: then they are not the same.
				return false;
			}
		};
		const bitsAt = (path: BytePath): number => Number(lstatAt(root, path)?.mode ?? 0n) & 0o777;

		return {
			async all(): Promise<void> {
				const breathe = createBreather();
				let deleting = true;
				for (const step of steps) {
					if (deleting && step.kind !== "delete") {
						deleting = false;
						removeEmptied();
					}
					try {
						doStep(step);
					} catch (error) {
						throw asRewindError(error, `Cannot ${step.kind} ${displayPath(step.path)}`, "");
					}
					await breathe();
				}
				if (deleting) removeEmptied();
			},
			undo(): void {
				for (const act of back.reverse()) act();
			},
			/** [R15] Reads every path back; one that is not as it was written was changed by somebody else since. */
			verify(): Pick<Performed, "done" | "skips"> {
				const whole = done.filter((step) =>
					step.kind === "delete"
						? lstatAt(root, step.path)?.isFile() !== true
						: holds(step.path, step.to),
				);
				const changed = done.filter((step) => !whole.includes(step));
				return {
					done: whole,
					skips: [
						...skips,
						...changed.map(({ path }): Skip => ({ path, reason: { kind: "changed-meanwhile" } })),
					],
				};
			},
		};
	}

	function inspectOne(path: BytePath, holdsRepository: (folder: BytePath) => boolean): DiskFact {
		const parent = blockingParent(root, path);
		// A parent that is not there blocks nothing: it will be made.
		const blockedBy =
			parent !== undefined && lstatAt(root, parent) !== undefined ? parent : undefined;
		const repository = [...parentPaths(path).reverse(), path].find(holdsRepository);
		const about = {
			...(blockedBy === undefined ? {} : { blockedBy }),
			...(repository === undefined ? {} : { repository }),
		};
		const stats = parent === undefined ? lstatAt(root, path) : undefined;
		if (stats === undefined) return { kind: "absent", ...about };
		if (stats.isFile()) return { kind: "file", ...about };
		if (stats.isSymbolicLink()) return { kind: "link", ...about };
		if (!stats.isDirectory()) return { kind: "special", ...about };
		return { kind: "folder", ...about, ...lookInside(path) };
	}

	function lookInside(folder: BytePath): { inside: BytePath[]; hasEmptyFolder: boolean } {
		const inside: BytePath[] = [];
		let hasEmptyFolder = false;
		const walk = (at: BytePath): void => {
			const entries = readdirSync(absolutePath(root, at), {
				withFileTypes: true,
				encoding: "buffer",
			});
			if (entries.length === 0 || inside.length > insideMax) hasEmptyFolder = true;
			for (const entry of entries) {
				const path = bytePathOf(`${at}/${entry.name.toString("latin1")}`);
				if (entry.isDirectory() && inside.length <= insideMax) walk(path);
				else inside.push(path);
			}
		};
		walk(folder);
		return { inside, hasEmptyFolder };
	}

	return {
		async inspect(paths) {
			const repositories = new Map<BytePath, boolean>();
			const holdsRepository = (folder: BytePath): boolean => {
				let known = repositories.get(folder);
				if (known === undefined) {
					known = lstatAt(root, bytePathOf(`${folder}/.git`)) !== undefined;
					repositories.set(folder, known);
				}
				return known;
			};
			const facts = new Map<BytePath, DiskFact>();
			const breathe = createBreather();
			for (const path of paths) {
				facts.set(path, inspectOne(path, holdsRepository));
				await breathe();
			}
			return (path) => facts.get(path) ?? inspectOne(path, holdsRepository);
		},
		stage,
		perform,
		interrupted: () => readInterrupted(privateDir),
		async forget(interrupted: Interrupted) {
			for (const folder of interrupted.journal.stages)
				if (isStageFolder(folder)) await rm(folder, { recursive: true, force: true });
			await removeJournal(interrupted.file);
		},
		async clearStages() {
			const journalled = new Set(
				(await readInterrupted(privateDir)).flatMap(({ journal }) => journal.stages),
			);
			for (const [folder, prefix] of [
				[privateDir, "stage-"],
				[root, stagePrefix],
			] as const) {
				for (const name of await readdir(folder).catch(() => [])) {
					const [, pid, start] =
						new RegExp(`^${prefix.replace(".", "\\.")}(\\d+)-(\\d+)-[0-9a-f]+$`).exec(name) ?? [];
					if (pid === undefined || start === undefined || journalled.has(join(folder, name)))
						continue;
					const { host } = await thisProcess();
					if (await isAlive({ pid: Number(pid), host, processStart: start === "0" ? "" : start }))
						continue;
					await rm(join(folder, name), { recursive: true, force: true });
				}
			}
		},
	};

	/** A journal is a file, and a file can be written by anyone: only what is named like a stage of ours is removed. */
	function isStageFolder(folder: string): boolean {
		const name = basename(folder);
		if (dirname(folder) === privateDir) return /^stage-[\w-]+$/.test(name);
		return folder.startsWith(`${root}/`) && name.startsWith(stagePrefix);
	}
}

function missingPlace(path: BytePath): never {
	throw new RewindError("invariant-broken", `BUG: ${displayPath(path)} was not staged`);
}

const withExecutable = (bits: number, executable: boolean): number =>
	executable ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;

function asRewindError(error: unknown, what: string, stillTrue: string): RewindError {
	if (error instanceof RewindError) return error;
	const code = errorCode(error);
	const kind =
		code === "ENOSPC" || code === "EDQUOT"
			? "no-space"
			: code === "EACCES" || code === "EPERM" || code === "EROFS"
				? "permission-denied"
				: "io-failed";
	const why = {
		"no-space": "no space left on device",
		"permission-denied": "permission denied",
		"io-failed": code ?? String(error),
	}[kind];
	return new RewindError(kind, `${what}: ${why}`, {
		...(stillTrue === "" ? {} : { hint: stillTrue }),
		data: { code },
		cause: error,
	});
}
