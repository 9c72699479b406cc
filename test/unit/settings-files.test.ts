/** Settings files on a real disk: what is read, and what is said about the rest. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettingsLayers } from "../../src/sessions/settings-files.ts";

let home = "";
let agentFile = "";
let projectFile = "";

beforeEach(async () => {
	home = await mkdtemp(join(tmpdir(), "rewind-settings-"));
	await mkdir(join(home, "agent"));
	await mkdir(join(home, "project", ".pi"), { recursive: true });
	agentFile = join(home, "agent", "settings.json");
	projectFile = join(home, "project", ".pi", "settings.json");
});
afterEach(() => rm(home, { recursive: true }));

const read = (projectTrusted = true) =>
	readSettingsLayers({
		agentDir: join(home, "agent"),
		cwd: join(home, "project"),
		configDirName: ".pi",
		projectTrusted,
	});

test("missing files, and files without our key, are no layers", async () => {
	expect(await read()).toEqual({ layers: [], issues: [] });
	await writeFile(agentFile, '{"theme":"dark"}');
	expect(await read()).toEqual({ layers: [], issues: [] });
});

test("the project's layer comes last, behind a BOM too, and only when it is trusted [R13]", async () => {
	await writeFile(agentFile, '\uFEFF{"rewind":{"maxFileMiB":8}}');
	await writeFile(projectFile, '{"rewind":[1]}');
	const mine = { source: agentFile, value: { maxFileMiB: 8 } };
	expect(await read()).toEqual({
		layers: [mine, { source: projectFile, value: [1] }],
		issues: [],
	});
	expect(await read(false)).toEqual({ layers: [mine], issues: [] });
});

test.each([
	["{", "it is not JSON"],
	["", "it is not JSON"],
	["[]", "it is not an object"],
	["null", "it is not an object"],
	[`{"rewind":{},"x":"${"x".repeat(1024 * 1024)}"}`, "it is larger than 1 MiB"],
])("a file that cannot be used is named with the reason [R12]", async (text, why) => {
	await writeFile(agentFile, text);
	await writeFile(projectFile, '{"rewind":{}}');
	expect(await read()).toEqual({
		layers: [{ source: projectFile, value: {} }],
		issues: [`Settings in ${agentFile} were ignored and left as their defaults: ${why}`],
	});
});

test("a folder or a FIFO in its place is named, and nothing waits for it [R12]", async () => {
	await mkdir(agentFile);
	execFileSync("mkfifo", [projectFile]);
	expect(await read()).toEqual({
		layers: [],
		issues: [agentFile, projectFile].map(
			(file) => `Settings in ${file} were ignored and left as their defaults: it is not a file`,
		),
	});
});

test("a file that is both the person's and the project's is read once", async () => {
	await writeFile(projectFile, '{"rewind":7}');
	const places = { cwd: join(home, "project"), configDirName: ".pi", projectTrusted: true };
	const { layers } = await readSettingsLayers({ ...places, agentDir: join(home, "project/.pi/") });
	expect(layers).toEqual([{ source: projectFile, value: 7 }]);
});
