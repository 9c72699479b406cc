/** Runs `pi-rewind` as a process, in the folder and the environment of a world. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWorld, type World } from "./world.ts";

const projectRoot = fileURLToPath(new URL("../..", import.meta.url));
const pinnedNode = join(projectRoot, "node_modules/node/bin/node");
/** The node that package.json pins, whatever runs the tests. */
export const node = existsSync(pinnedNode) ? pinnedNode : process.execPath;
export const cliSource = join(projectRoot, "src/cli.ts");

export interface CliOptions {
	/** Default: the working tree's root. */
	readonly cwd?: string;
	/** Beside the world's. */
	readonly env?: Readonly<Record<string, string>>;
}

export interface CliResult {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Runs it to its end, without a terminal. */
export function rewindCli(
	world: World,
	args: readonly string[],
	{ cwd = world.root, env = {} }: CliOptions = {},
): CliResult {
	const { status, stdout, stderr } = spawnSync(node, [cliSource, ...args], {
		cwd,
		env: { ...world.env, ...env },
		encoding: "utf8",
		timeout: 60_000,
		maxBuffer: 1 << 28,
	});
	return { code: status, stdout, stderr };
}

/** Runs it with `--json`; gives the exit code and the facts. */
export function rewindFacts(
	world: World,
	args: readonly string[],
	options: CliOptions = {},
): { code: number | null; facts: unknown } {
	const { code, stdout, stderr } = rewindCli(world, [...args, "--json"], options);
	try {
		const facts: unknown = JSON.parse(stdout);
		return { code, facts };
	} catch (cause) {
		throw new Error(`no JSON: ${stdout} ${stderr}`, { cause });
	}
}

/** A world that something happened in, once, to be looked at again and again. */
export interface Scene<T> {
	/** The world as it was then, at the same place; what a test did before is gone. */
	fresh(): { readonly world: World; readonly ids: T };
	end(): Promise<void>;
}

/** Lets `happen` happen, and keeps a copy of what came of it. Its Pis must have ended by then. */
export async function keepScene<T>(happen: (world: World) => Promise<T>): Promise<Scene<T>> {
	const world = createWorld();
	const kept = `${world.at}-kept`;
	const ids = await happen(world);
	const copy = (from: string, to: string): void => {
		rmSync(to, { recursive: true, force: true });
		cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
	};
	copy(world.at, kept);
	return {
		fresh() {
			copy(kept, world.at);
			return { world, ids };
		},
		async end() {
			rmSync(kept, { recursive: true, force: true });
			await world.end();
		},
	};
}
