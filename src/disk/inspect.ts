/** Looks at what is on the disk at the paths of a plan. Follows no link; opens only what is named like a session. [R5] */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { type BytePath, bytePathOf, parentPaths } from "../core/ids.ts";
import type { DiskFact } from "../core/plan.ts";
import {
	absolutePath,
	blockingParent,
	createBreather,
	entriesOf,
	errorCode,
	holdsRepository,
	lstatAt,
} from "./files.ts";

/** A folder in the way is only looked through up to here; a larger one is not going to be emptied by a plan. */
const insideMax = 100_000;

export async function inspectPaths(
	root: string,
	paths: readonly BytePath[],
): Promise<(path: BytePath) => DiskFact> {
	const known = new Map<BytePath, boolean>();
	const isRepository = (folder: BytePath): boolean => {
		let answer = known.get(folder);
		if (answer === undefined) known.set(folder, (answer = holdsRepository(root, folder)));
		return answer;
	};
	const facts = new Map<BytePath, DiskFact>();
	const breathe = createBreather();
	for (const path of paths) {
		facts.set(path, lookAt(root, path, isRepository));
		await breathe();
	}
	return (path) => facts.get(path) ?? lookAt(root, path, isRepository);
}

/** Where we may not look, something is there that is not to be touched. */
function lookAt(
	root: string,
	path: BytePath,
	isRepository: (folder: BytePath) => boolean,
): DiskFact {
	try {
		return inspectOne(root, path, isRepository);
	} catch (error) {
		if (errorCode(error) === "EACCES") return { kind: "special" };
		throw error;
	}
}

function inspectOne(
	root: string,
	path: BytePath,
	isRepository: (folder: BytePath) => boolean,
): DiskFact {
	const parent = blockingParent(root, path);
	// A parent that is not there blocks nothing: it will be made.
	const blockedBy =
		parent !== undefined && lstatAt(root, parent) !== undefined ? parent : undefined;
	const repository = [...parentPaths(path).toReversed(), path].find(isRepository);
	const about = {
		...(blockedBy === undefined ? {} : { blockedBy }),
		...(repository === undefined ? {} : { repository }),
	};
	const stats = parent === undefined ? lstatAt(root, path) : undefined;
	if (stats === undefined) return { kind: "absent", ...about };
	const changedAt = Number(stats.ctimeNs / 1_000_000n);
	if (stats.isFile())
		return {
			kind: "file",
			changedAt,
			...about,
			...(isSession(root, path) ? { isSession: true } : {}),
		};
	if (stats.isSymbolicLink()) return { kind: "link", changedAt, ...about };
	if (!stats.isDirectory()) return { kind: "special", ...about };
	return { kind: "folder", ...about, ...lookInside(root, path) };
}

/** Pi's header begins the file: whoever keeps sessions in the working tree, wherever, goes on in them after a restore. */
function isSession(root: string, path: BytePath): boolean {
	if (!path.endsWith(".jsonl")) return false;
	const file = openSync(absolutePath(root, path), constants.O_RDONLY | constants.O_NOFOLLOW);
	try {
		const start = Buffer.alloc(sessionStart.length);
		readSync(file, start, 0, start.length, 0);
		return start.equals(sessionStart);
	} finally {
		closeSync(file);
	}
}

const sessionStart = Buffer.from('{"type":"session",');

function lookInside(root: string, folder: BytePath): { inside: BytePath[]; hasMore: boolean } {
	const inside: BytePath[] = [];
	let seen = 0;
	let isClosed = false;
	const walk = (at: BytePath): void => {
		const entries = entriesOf(root, at);
		if (entries === undefined) isClosed = true;
		for (const entry of entries ?? []) {
			if (++seen > insideMax) return;
			const path = bytePathOf(`${at}/${entry.name.toString("latin1")}`);
			if (entry.isDirectory()) walk(path);
			else inside.push(path);
		}
	};
	walk(folder);
	return { inside, hasMore: isClosed || seen > insideMax };
}
