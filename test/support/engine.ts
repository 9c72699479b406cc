/**
 * The engine for repositories on real git and a real disk, in the environment of one throwaway world.
 *
 * Owns the short verbs that contract, fault and property tests share: open, capture, restore, undo, and the checks
 * that every such test ends with. Knows nothing of Pi.
 *
 * Limit: the engine reads `process.env`, so one test file works in one world at a time.
 */
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { NotCovered, Snapshot } from "../../src/core/coverage.ts";
import type { BytePath, ObjectId } from "../../src/core/ids.ts";
import { bytePathFromText, displayPath, trustedObjectId } from "../../src/core/ids.ts";
import type { Skip } from "../../src/core/plan.ts";
import type { Opened } from "../../src/engine/open.ts";
import type { Owner, Unavailable } from "../../src/engine/ports.ts";
import type { Restored, Rewind } from "../../src/engine/rewind.ts";
import { pathsToUndo } from "../../src/engine/undo.ts";
import { createGitEngine } from "../../src/git/open.ts";
import type { Environment } from "./pi.ts";
import type { Picture, World } from "./world.ts";
import { createWorld, difference } from "./world.ts";

export const owner: Owner = { sessionId: "session-1", sessionFile: "/sessions/1.jsonl" };
export const maxFileBytes = 32 << 20;

export interface OpenOptions {
	readonly cwd?: string;
	readonly includeUntracked?: boolean;
	readonly maxFileBytes?: number;
	readonly ownPaths?: readonly string[];
	readonly sessionFolders?: readonly string[];
}

/** Makes the environment of this process that of the world; what the world does not say is taken away. */
export function enter(env: Environment): void {
	for (const name of Object.keys(process.env))
		if (/^(GIT_|XDG_)/.test(name)) delete process.env[name];
	// Temporary folders of the tests themselves stay where they are.
	const { TMPDIR: _, ...rest } = env;
	Object.assign(process.env, rest);
}

/** Opens whatever is at `cwd`: an engine, or the reason why there is none. */
export function openAt(cwd: string, options: OpenOptions = {}): Promise<Opened> {
	return createGitEngine(Date.now)({
		includeUntracked: true,
		maxFileBytes,
		ownPaths: [],
		sessionFolders: [],
		...options,
		cwd,
	});
}

/** An engine with short verbs. `await using` closes it. */
export interface Engine extends AsyncDisposable {
	readonly rewind: Rewind;
	readonly root: string;
	capture(): Promise<Snapshot>;
	/** The whole restore, with its outcome recorded. */
	restore(
		target: Snapshot,
		more?: { during?: () => void; only?: string[] | ReadonlySet<BytePath> },
	): Promise<Restored>;
	/** Restores what `restored` replaced; of a restore of chosen paths, only those. */
	undo(restored: Restored): Promise<Restored>;
	resolve(id: ObjectId): Promise<Snapshot>;
	/** The names in a snapshot's tree. */
	names(snapshot: Snapshot): string[];
}

export async function openEngine(world: World, options: OpenOptions = {}): Promise<Engine> {
	enter(world.env);
	const opened = await openAt(options.cwd ?? world.root, options);
	if (opened.kind !== "ready") throw new Error(`not opened: ${opened.message}`);
	const { rewind, root } = opened;
	const engine: Engine = {
		rewind,
		root,
		capture: async () => (await rewind.capture({ owner })).snapshot,
		async restore(target, { during, only } = {}) {
			const preview = await rewind.preview({
				target,
				owner,
				...(only === undefined ? {} : { only: new Set(paths(only)) }),
			});
			const prepared = await rewind.prepare(preview);
			during?.();
			const restored = await rewind.perform(prepared, owner);
			await restored.complete();
			return restored;
		},
		async undo(restored) {
			const before = await engine.resolve(restored.undo);
			const only = await pathsToUndo(rewind.store, before, restored.undoAfter);
			if (typeof only === "string") throw new Error(`what was restored is ${only}`);
			return engine.restore(before, only === undefined ? {} : { only });
		},
		async resolve(id) {
			return usable(await rewind.store.resolve(id));
		},
		names: (snapshot) =>
			gitBytes(world, ["ls-tree", "-r", "-z", "--name-only", snapshot.tree])
				.toString("latin1")
				.split("\0")
				.filter(Boolean),
		[Symbol.asyncDispose]: () => rewind.close(),
	};
	return engine;
}

const paths = (only: string[] | ReadonlySet<BytePath>): BytePath[] =>
	Array.isArray(only) ? only.map(bytePathFromText) : [...only];

export function usable(found: Snapshot | Unavailable): Snapshot {
	if (typeof found === "string") throw new Error(`snapshot is ${found}`);
	return found;
}

/** A world and an engine in it. */
export async function openWorld(
	...[world, options]: [Parameters<typeof createWorld>[0]?, OpenOptions?]
): Promise<{ world: World; engine: Engine } & AsyncDisposable> {
	const made = createWorld(world);
	const engine = await openEngine(made, options);
	return {
		world: made,
		engine,
		async [Symbol.asyncDispose]() {
			await engine[Symbol.asyncDispose]();
			await made.end();
		},
	};
}

export const gitBytes = (world: World, args: readonly string[], cwd = world.root): Buffer =>
	execFileSync("git", args, { cwd, env: world.env, stdio: "pipe", maxBuffer: 1 << 30 });

/** What the person has besides files: index, HEAD, refs, config, stash, reflogs, hooks. [R6] */
export const personState = (world: World, root?: string): Picture =>
	new Map([...world.gitState(root), ...world.index(root)]);

export function expectSame(before: Picture, after: Picture): void {
	expect(difference(before, after)).toEqual([]);
}

/** Reasons of skips by path, as a test writes them down. */
export const skipped = (skips: readonly Skip[]): Record<string, string> =>
	Object.fromEntries(skips.map(({ path, reason }) => [displayPath(path), reason.kind]));

/** Reasons of a coverage list by path. */
export const uncovered = (list: readonly NotCovered[]): Record<string, string> =>
	Object.fromEntries(list.map(({ path, reason }) => [displayPath(path), reason]));

/** Every object that the store reaches is there and whole, and git itself has nothing to complain of. */
export function expectSound(world: World): void {
	const said = execFileSync("git", ["fsck", "--full", "--strict", "--no-dangling"], {
		cwd: world.root,
		env: world.env,
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
	});
	expect(said.split("\n").filter((line) => /missing|error|broken|corrupt/.test(line))).toEqual([]);
	world.git("rev-list", "--objects", "--all");
}

export const objectCount = (world: World): number =>
	Number(/^count: (\d+)/m.exec(world.git("count-objects", "-v"))?.[1]) +
	Number(/^in-pack: (\d+)/m.exec(world.git("count-objects", "-v"))?.[1]);

export const blobText = (world: World, snapshot: Snapshot, name: string): string =>
	world.git("cat-file", "blob", `${snapshot.tree}:${name}`);

// ---- Other processes ----

const childScript = fileURLToPath(new URL("../fault/child.ts", import.meta.url));

export interface ChildEnd {
	readonly code: number | null;
	readonly killedBy: NodeJS.Signals | null;
	/** Lines of stdout. */
	readonly lines: readonly string[];
	readonly stderr: string;
}

export interface Child {
	readonly pid: number;
	readonly ended: Promise<ChildEnd>;
	kill(): void;
}

/** Starts `test/fault/child.ts` with a verb and its arguments. */
export function startChild(
	world: World,
	args: readonly string[],
	more: { uid?: number; env?: Environment } = {},
): Child {
	const child = spawn(process.execPath, ["--no-warnings", childScript, world.root, ...args], {
		cwd: world.root,
		env: { ...world.env, ...more.env },
		stdio: ["ignore", "pipe", "pipe"],
		...(more.uid === undefined ? {} : { uid: more.uid, gid: more.uid }),
	});
	let stdout = "";
	let stderr = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => void (stdout += text));
	child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
	return {
		pid: child.pid ?? -1,
		ended: new Promise((resolve) => {
			child.once("close", (code, killedBy) =>
				resolve({ code, killedBy, lines: stdout.split("\n").filter(Boolean), stderr }),
			);
		}),
		kill: () => void child.kill("SIGKILL"),
	};
}

/** Runs a child to its end and gives what it printed; fails when the child did. */
export async function runChild(
	world: World,
	args: readonly string[],
	more: { uid?: number; env?: Environment } = {},
): Promise<readonly string[]> {
	const end = await startChild(world, args, more).ended;
	expect(end.stderr).toBe("");
	expect(end.code).toBe(0);
	return end.lines;
}

export const idsIn = (lines: readonly string[]): ObjectId[] =>
	lines.filter((line) => /^[0-9a-f]{40,64}$/.test(line)).map(trustedObjectId);

/** Whether a process and all that it started in its group are gone. */
export function isGroupGone(group: number): boolean {
	try {
		process.kill(-group, 0);
		return false;
	} catch {
		// No such process.
		return true;
	}
}

export const privateDir = (world: World): string => join(world.root, ".git/pi-rewind");

/** Whether this process may do what only root may: change owners, mount, take another uid. */
export const isRoot = process.getuid?.() === 0;
/** An unprivileged user that every system has. */
export const nobody = 65534;
