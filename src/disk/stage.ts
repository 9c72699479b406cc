/**
 * Content on its way: new files that wait to be renamed into place, and old ones kept aside until a restore ends.
 *
 * One folder per device, since a rename cannot leave it: in the private dir where that is on the same device, else at
 * the top of that device's part of the working tree, under a name that captures leave out.
 */
import { randomBytes } from "node:crypto";
import { accessSync, constants, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { RewindError, throwIfAborted } from "../core/errors.ts";
import { type BytePath, bytePathOf, displayPath, type ObjectId, parentPath } from "../core/ids.ts";
import { fileModes, type Step } from "../core/plan.ts";
import type { SnapshotStore, Stage } from "../engine/ports.ts";
import { absolutePath, blockingParent, createBreather, lstatAt } from "./files.ts";
import { asRewindError } from "./failures.ts";
import { thisProcess } from "./process-lock.ts";

/** Names of stages outside the private dir; captures leave them out. */
export const stagePrefix = ".pi-rewind-stage-";

export interface DiskStage extends Stage {
	/** Where the new content of a path waits. */
	newFile(path: BytePath): Buffer;
	/** Where the old content of a path goes. */
	oldFile(path: BytePath): Buffer;
	readonly folders: readonly string[];
}

/** Puts the content of every write on the disk. When it fails or is aborted, nothing is left and nothing was changed. */
export async function makeStage(
	root: string,
	privateDir: string,
	steps: readonly Step[],
	readBlobs: SnapshotStore["readBlobs"],
	signal?: AbortSignal,
): Promise<DiskStage> {
	const { pid, processStart } = await thisProcess();
	const id = `${pid}-${processStart || "0"}-${randomBytes(4).toString("hex")}`;
	const byDevice = new Map<bigint, string>();
	const places = new Map<BytePath, { folder: string; number: number }>();

	function place(path: BytePath, what: "new" | "old"): Buffer {
		const found = places.get(path);
		if (found === undefined)
			throw new RewindError("invariant-broken", `BUG: ${displayPath(path)} was not staged`);
		return Buffer.from(join(found.folder, `${what}-${found.number}`));
	}

	const stage: DiskStage = {
		id,
		newFile: (path) => place(path, "new"),
		oldFile: (path) => place(path, "old"),
		get folders() {
			return [...byDevice.values()];
		},
		async discard() {
			for (const folder of byDevice.values()) await rm(folder, { recursive: true, force: true });
		},
	};

	function folderFor(path: BytePath): string {
		let folder = nearestFolder(root, path);
		const device = lstatAt(root, folder)?.dev ?? 0n;
		const known = byDevice.get(device);
		if (known !== undefined) return known;
		let made = join(privateDir, `stage-${id}`);
		if (lstatAt(privateDir, bytePathOf(""))?.dev !== device) {
			while (folder !== "" && lstatAt(root, parentPath(folder))?.dev === device)
				folder = parentPath(folder);
			made = join(absolutePath(root, folder).toString("utf8"), `${stagePrefix}${id}`);
		}
		mkdirSync(made, { recursive: true, mode: 0o700 });
		byDevice.set(device, made);
		return made;
	}

	try {
		for (const { path } of steps) {
			naming(path, () => {
				// Most refusals of the file system are found here, before anything is changed.
				accessSync(absolutePath(root, nearestFolder(root, path)), constants.W_OK | constants.X_OK);
				places.set(path, { folder: folderFor(path), number: places.size });
			});
		}
		await writeContent(stage, steps, readBlobs, signal);
		throwIfAborted(signal);
		return stage;
	} catch (error) {
		await stage.discard();
		throw asRewindError(error, "Cannot prepare the restore", nothingChanged);
	}
}

const nothingChanged = "Nothing was changed";

/** What fails says on which path. */
function naming(path: BytePath, act: () => void): void {
	try {
		act();
	} catch (error) {
		throw asRewindError(error, `Cannot prepare to restore ${displayPath(path)}`, nothingChanged);
	}
}

async function writeContent(
	stage: DiskStage,
	steps: readonly Step[],
	readBlobs: SnapshotStore["readBlobs"],
	signal: AbortSignal | undefined,
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
		throwIfAborted(signal);
		for (const { path, to } of wanted.get(id) ?? []) {
			naming(path, () => {
				if (to.mode === fileModes.link) symlinkSync(content, stage.newFile(path));
				else writeFileSync(stage.newFile(path), content, { mode: 0o600, flag: "wx" });
			});
		}
		await breathe();
	});
}

/** The deepest real folder above a path; `""` is the root. */
function nearestFolder(root: string, path: BytePath): BytePath {
	return parentPath(blockingParent(root, path) ?? path);
}

/** A journal is a file, and a file can be written by anyone: only what is named like a stage of ours is removed. */
export function isStageFolder(root: string, privateDir: string, folder: string): boolean {
	const name = basename(folder);
	if (dirname(folder) === privateDir) return /^stage-[\w-]+$/.test(name);
	return folder.startsWith(`${root}/`) && name.startsWith(stagePrefix);
}
