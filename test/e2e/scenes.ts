/**
 * What several end-to-end tests do with a Pi: go to a point, look at what is offered, read the records.
 *
 * Knows the words of the extension's dialogs, once.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { type Environment, step, until } from "../support/pi.ts";
import type { Dialog, Entry, Moved, RpcPi } from "../support/rpc.ts";
import { escape } from "../support/rpc.ts";
import type { Picture, World } from "../support/world.ts";
import { difference } from "../support/world.ts";

export const words = {
	keep: "Keep current files",
	restore: /^Restore files to that point \(/,
	undo: /^Undo last file rewind \(/,
	cancel: "Cancel navigation",
	forkKeep: "Conversation only (keep current files)",
	forkAll: /^Restore all \(files \+ conversation\) \(/,
	forkCode: /^Code only \(restore files, keep conversation\) \(/,
	forkCancel: "Cancel",
} as const;

/** A disk below the world's folder that fails when it is told to, and the environment for a Pi that sees it. */
export function failingDisk(world: World): {
	readonly env: Environment;
	/** From now on counts the changes to the disk: the n-th fails, or all from there on. */
	fail(how: `once:${number}` | `from:${number}`): void;
	/** It is whole again. */
	mend(): void;
} {
	const trigger = join(world.at, "failing-disk");
	const preload = fileURLToPath(new URL("../support/failing-disk.ts", import.meta.url));
	return {
		env: {
			...world.env,
			NODE_OPTIONS: `--import=${preload}`,
			REWIND_FAILING_DISK: trigger,
			REWIND_FAILING_BELOW: world.root,
		},
		fail: (how) => writeFileSync(trigger, how),
		mend: () => rmSync(trigger),
	};
}

/** Ids of two messages and of the answers to them. */
export interface TwoPrompts {
	readonly first: string;
	readonly one: string;
	readonly second: string;
	readonly two: string;
}

/** Two prompts: the first edits a file, the second edits, removes, moves and adds some. */
export async function twoPrompts(pi: RpcPi): Promise<TwoPrompts> {
	await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
	await pi.prompt(
		"second",
		step.bash("echo 2 > a.txt; rm dir/b.txt; mv dir/c.txt dir/moved.txt; echo n > new"),
		"two",
	);
	return {
		first: await pi.user(0),
		one: await pi.answer(0),
		second: await pi.user(1),
		two: await pi.answer(1),
	};
}

/** Goes to an entry with its files, which must work. */
export async function restoreTo(pi: RpcPi, id: string): Promise<void> {
	expect(await pi.tree(id, { choose: words.restore })).toMatchObject({ cancelled: false });
}

/** Goes to an entry with its files, and tells what differs from how they should be. */
export async function restoredAt(
	world: World,
	pi: RpcPi,
	id: string,
	expected: Picture,
): Promise<string[]> {
	await restoreTo(pi, id);
	return difference(expected, world.files());
}

/** The dialog that a navigation opens; it is left with Escape. */
export async function dialogAt(
	pi: RpcPi,
	id: string,
	verb: "tree" | "fork" = "tree",
): Promise<Dialog> {
	const before = pi.dialogs.length;
	const notices = pi.notifications.length;
	const moved: Moved = await pi[verb](id, { choose: escape }).catch((error: unknown) => {
		// Without a dialog, what was said instead is the reason.
		const said = pi.notifications.slice(notices).map(({ message }) => message);
		throw new Error(`no dialog at ${id}: ${said.join("; ")}`, { cause: error });
	});
	expect(moved).toMatchObject({ cancelled: true });
	expect(pi.dialogs).toHaveLength(before + 1);
	const dialog = pi.dialogs.at(-1);
	if (dialog === undefined) throw new Error("no dialog");
	return dialog;
}

/** The option's first words, without the numbers at its end. */
export const plainOptions = ({ options }: Dialog): string[] =>
	options.map((option) => option.replace(/ \((nothing to change|\d[^()]*)\)$/, ""));

interface RecordData {
	readonly snapshots: readonly string[];
	readonly bindings?: readonly (readonly [string, number])[];
	readonly current?: number;
	readonly undo?: number;
}

const isRecordData = (data: unknown): data is RecordData =>
	typeof data === "object" && data !== null && "snapshots" in data;

/** Every binding that the records of ours say, in the order of the file. */
export function bindingsOf(entries: readonly Entry[]): { entry: string; snapshot: string }[] {
	return entries.flatMap(({ customType, data }) => {
		if (!customType?.startsWith("rewind-") || !isRecordData(data)) return [];
		return (data.bindings ?? []).map(([entry, index]) => ({
			entry,
			snapshot: data.snapshots[index] ?? "(none)",
		}));
	});
}

/** The snapshot that the records give to an entry; the last says. */
export async function snapshotOf(pi: RpcPi, id: string): Promise<string> {
	const found = bindingsOf(await pi.entries()).findLast(({ entry }) => entry === id);
	if (found === undefined) throw new Error(`no record binds ${id}`);
	return found.snapshot;
}

/** Waits for the record that binds an entry: a boundary outside a run is captured in the background. */
export const bound = (pi: RpcPi, id: string): Promise<void> =>
	until(
		async () => bindingsOf(await pi.entries()).some(({ entry }) => entry === id),
		`a record that binds ${id}`,
		20_000,
	);

/** A session file, line by line. */
export const sessionLines = (file: string): unknown[] =>
	readFileSync(file, "utf8")
		.split("\n")
		.filter(Boolean)
		.map((line): unknown => JSON.parse(line));

/** All session files of a world, oldest first. */
export function sessionFiles(world: World): string[] {
	const dir = join(world.at, "agent", "sessions");
	return readdirSync(dir, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => join(dir, name))
		.toSorted();
}
