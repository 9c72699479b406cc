/**
 * A process of its own with an engine in it: to be killed, to run beside others, to run as somebody else.
 *
 *   child.ts <root> captures <count> [<file> [<session file>]]
 *                                                  captures that often, changing <file> before each; prints ids
 *   child.ts <root> sweep <sessions> [fault]       keeps one point of each session in that folder, once
 *   child.ts <root> coverage                       captures once; prints the id and the list of what is not covered
 *   child.ts <root> restore <id> [fault]           restores; prints the skips
 *   child.ts <root> part <id> <fault> <path>       restores that path, with the content "part" in the target's stead
 *   child.ts <root> fails <id>                     restores; prints the code of the error and its message
 *
 * A fault is `kill:<n>` (dies before the n-th change to the disk), `kill-after:<n>`, `broken:<n>` (from the n-th change
 * on, every change fails), or `lock:<folder>:<folder>…` (once all is prepared, nobody may look into these). For a sweep it
 * is `spawn:<n>` (dies before the n-th process is started) or `spawned:<n>`.
 */
import child_process from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { bytePathFromText, decodeAnyObjectId, displayPath } from "../../src/core/ids.ts";
import { isRewindError } from "../../src/core/errors.ts";
import type { RestoreRequest, Rewind } from "../../src/engine/rewind.ts";
import { createGitEngine } from "../../src/git/open.ts";
import { isOfRestore } from "../support/changes.ts";
import { sweepRequest } from "../support/sweeps.ts";

const [root = "", verb = "", first = "", second = "", third = ""] = process.argv.slice(2);
const owner = {
	sessionId: `child-${process.pid}`,
	...(verb === "captures" && third !== "" ? { sessionFile: third } : {}),
};

async function open(): Promise<Rewind> {
	const opened = await createGitEngine(Date.now)({
		cwd: root,
		includeUntracked: true,
		maxFileBytes: 32 << 20,
		ownPaths: [],
		sessionFolders: [],
	});
	if (opened.kind !== "ready") throw new Error(opened.message);
	return opened.rewind;
}

const changes = [
	"renameSync",
	"linkSync",
	"unlinkSync",
	"mkdirSync",
	"rmdirSync",
	"chmodSync",
] as const;

/** Counts the changes that the writer makes to the disk, and stops at one of them. */
function plant(fault: string): void {
	const [kind, number, ...more] = fault.split(":");
	if (kind === "lock") {
		for (const folder of [number, ...more]) fs.chmodSync(join(root, folder ?? ""), 0);
		return;
	}
	let left = Number(number);
	for (const name of changes) {
		const real: unknown = Reflect.get(fs, name);
		if (typeof real !== "function") throw new Error(name);
		Reflect.set(fs, name, (...args: unknown[]): unknown => {
			if (!isOfRestore(args)) return Reflect.apply(real, fs, args);
			left--;
			if (kind === "kill" && left === 0) process.kill(process.pid, "SIGKILL");
			if (kind === "broken" && left <= 0)
				throw Object.assign(new Error(`EIO: planted, ${name}`), { code: "EIO" });
			const result: unknown = Reflect.apply(real, fs, args);
			if (kind === "kill-after" && left === 0) process.kill(process.pid, "SIGKILL");
			return result;
		});
	}
	syncBuiltinESMExports();
}

/** Dies before or after the n-th process is started; that process goes on alone. */
function plantSpawn(fault: string): void {
	const [kind, number] = fault.split(":");
	let left = Number(number);
	const real = child_process.spawn;
	Reflect.set(child_process, "spawn", (...args: unknown[]): unknown => {
		left--;
		if (kind === "spawn" && left === 0) process.kill(process.pid, "SIGKILL");
		const result: unknown = Reflect.apply(real, child_process, args);
		if (kind === "spawned" && left === 0) process.kill(process.pid, "SIGKILL");
		return result;
	});
	syncBuiltinESMExports();
}

async function sweep(rewind: Rewind): Promise<void> {
	if (second !== "") plantSpawn(second);
	const outcome = await rewind.sweep(sweepRequest(first));
	console.log(
		outcome.kind === "swept" ? `${outcome.kind} ${outcome.dropped.length}` : outcome.kind,
	);
}

async function captures(rewind: Rewind): Promise<void> {
	for (let i = 0; i < Number(first); i++) {
		if (second !== "")
			fs.writeFileSync(join(root, second), `${process.pid} ${i} ${Math.random()}\n`);
		try {
			console.log((await rewind.capture({ owner })).snapshot.id);
		} catch (error) {
			console.log(`failed: ${isRewindError(error) ? error.code : String(error)}`);
		}
	}
}

async function coverage(rewind: Rewind): Promise<void> {
	const { snapshot, notCovered } = await rewind.capture({ owner });
	console.log(snapshot.id);
	for (const { path, reason } of notCovered) console.log(`${reason} ${displayPath(path)}`);
}

async function restore(rewind: Rewind): Promise<void> {
	const id = decodeAnyObjectId(first);
	const target = id === undefined ? undefined : await rewind.store.resolve(id);
	if (target === undefined || typeof target === "string") throw new Error(`no target: ${target}`);
	const prepared = await rewind.prepare(
		await rewind.preview({ target, owner, ...(verb === "part" ? await part(rewind) : {}) }),
	);
	if (second !== "") plant(second);
	const restored = await rewind.perform(prepared, owner);
	await restored.complete();
	for (const { path, reason } of restored.skips) console.log(`${reason.kind} ${displayPath(path)}`);
}

async function part(rewind: Rewind): Promise<Pick<RestoreRequest, "only" | "contents">> {
	const path = bytePathFromText(third);
	const id = await rewind.store.writeBlob(Buffer.from("part\n"));
	return { only: new Set([path]), contents: new Map([[path, id]]) };
}

const rewind = await open();
if (verb === "captures") await captures(rewind);
else if (verb === "sweep") await sweep(rewind);
else if (verb === "coverage") await coverage(rewind);
else if (verb === "restore" || verb === "part") await restore(rewind);
else if (verb === "fails")
	await restore(rewind).catch((error: unknown) =>
		console.log(isRewindError(error) ? `${error.code}\n${error.message}` : String(error)),
	);
await rewind.close();
