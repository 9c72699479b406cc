/** The package as npm packs it: `pi-rewind` runs as JavaScript below node_modules, without Pi and without our sources. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { node } from "../support/cli.ts";
import { createWorld } from "../support/world.ts";

const projectRoot = fileURLToPath(new URL("../..", import.meta.url));

test("works where it is installed alone", async () => {
	await using world = createWorld();
	const modules = join(world.at, "app/node_modules");
	const installed = join(modules, "pi-rewind-ledger");
	mkdirSync(installed, { recursive: true });
	const said = execFileSync(
		"npm",
		["pack", "--json", "--offline", "--pack-destination", world.at],
		{
			cwd: projectRoot,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "pipe"],
		},
	);
	const [, name = ""] = /"filename": "([^"]+)"/.exec(said) ?? [];
	execFileSync("tar", ["-xf", join(world.at, name), "--strip-components=1", "-C", installed]);
	symlinkSync(join(projectRoot, "node_modules/valibot"), join(modules, "valibot"));
	const about: { bin: Record<string, string>; version: string } = JSON.parse(
		readFileSync(join(installed, "package.json"), "utf8"),
	);
	const command = join(installed, about.bin["pi-rewind"] ?? "");
	expect(readFileSync(command, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
	// Nothing imports it: a thread is started from it.
	const thread = "git/look-worker.js";
	expect(existsSync(join(installed, "dist", thread))).toBe(true);
	expect(existsSync(join(installed, "src", thread))).toBe(true);
	rmSync(join(installed, "src"), { recursive: true });
	const run = (...args: string[]) =>
		spawnSync(node, [command, ...args], { cwd: world.root, env: world.env, encoding: "utf8" });
	expect(run("--version")).toMatchObject({ status: 0, stdout: `${about.version}\n` });
	expect(run("list")).toMatchObject({ status: 0, stderr: "" });
	expect(run("diff", "@1")).toMatchObject({ status: 3 });
	expect(run("doctor")).toMatchObject({ status: 0, stdout: "Nothing is wrong.\n" });
});
