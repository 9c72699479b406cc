/** Captures that do not come to their end leave nothing out of the next one, and bring nobody down. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { isRewindError } from "../../src/core/errors.ts";
import { privateEnv } from "../../src/git/run.ts";
import { createObjectReader, hashObject } from "../../src/git/objects.ts";
import { until } from "../support/pi.ts";
import {
	expectSame,
	isGroupGone,
	openAt,
	openEngine,
	openWorld,
	owner,
} from "../support/engine.ts";

const path = process.env["PATH"] ?? "";
afterEach(() => void (process.env["PATH"] = path));

test("what is tracked although ignored is in the capture after an aborted one [R7] (B62)", async () => {
	await using setup = await openWorld({ files: { a: "1\n", ".gitignore": "logs/\n" } });
	const { world, engine } = setup;
	world.write("logs/keep", "kept\n");
	world.git("add", "-f", "logs/keep");
	const aborted = new AbortController();
	aborted.abort();
	const outcome = await engine.rewind
		.capture({ owner, signal: aborted.signal })
		.catch((error: unknown) => error);
	expect(isRewindError(outcome) && outcome.code).toBe("aborted");
	// What the aborted capture still had under way ends in the meantime.
	await new Promise((resolve) => setTimeout(resolve, 200));
	const first = await engine.capture();
	expect(engine.names(first)).toContain("logs/keep");
	world.write("logs/keep", "edited\n");
	world.git("add", "a");
	await engine.capture();
	await engine.restore(first);
	expect(world.read("logs/keep")).toBe("kept\n");
});

test("a git that cannot write objects fails the capture, and no promise is left without an owner [R12]", async () => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	const unowned: unknown[] = [];
	const note = (error: unknown): void => void unowned.push(error);
	process.on("unhandledRejection", note);
	const bin = join(world.at, "failing-bin");
	mkdirSync(bin);
	const script = `#!/bin/sh\ncase "$*" in *unpack-objects*) echo "fatal: no" >&2; exit 128;; esac\nPATH='${path}' exec git "$@"\n`;
	writeFileSync(join(bin, "git"), script);
	chmodSync(join(bin, "git"), 0o755);
	const before = world.files({ inodes: true });
	try {
		await engine.rewind.close();
		process.env["PATH"] = `${bin}:${path}`;
		const failing = await openAt(world.root);
		if (failing.kind !== "ready") throw new Error(failing.message);
		await expect(failing.rewind.capture({ owner })).rejects.toSatisfy(isRewindError);
		await failing.rewind.close();
		await new Promise((resolve) => setTimeout(resolve, 100));
	} finally {
		process.env["PATH"] = path;
		process.off("unhandledRejection", note);
	}
	expect(unowned).toEqual([]);
	expectSame(before, world.files({ inodes: true }));
	await using again = await openEngine(world);
	expect(again.names(await again.capture())).toContain("a.txt");
});

for (const [how, says] of [
	["says nothing", ""],
	["stops in the middle of an answer", "echo '0 blob 100'; echo 'half of it';"],
] as const)
	test(`a git that ${how} is given up after its time, and the next read is answered by another [R12]`, async () => {
		await using setup = await openWorld({ files: { a: "1\n" } });
		const { world } = setup;
		const bin = join(world.at, "hanging-bin");
		mkdirSync(bin);
		const hung = join(world.at, "hung");
		writeFileSync(
			join(bin, "git"),
			`#!/bin/sh\nif test ! -e ${hung}; then echo $$ > ${hung}; ${says} sleep 600; fi\nPATH='${path}' exec git "$@"\n`,
			{ mode: 0o755 },
		);
		const env = privateEnv(
			{ gitDir: world.path(".git"), workTree: world.root, objects: world.path(".git/objects") },
			{ ...world.env, PATH: `${bin}:${path}` },
		);
		const reader = createObjectReader("sha1", world.root, env, 1_000);
		const content = Buffer.from("1\n");
		const id = hashObject("sha1", "blob", content);
		const outcomes = await Promise.allSettled([reader.read(id), reader.read(id)]);
		const late = { status: "rejected", reason: { code: "git-timeout" } };
		expect(outcomes).toMatchObject([late, late]);
		expect(await reader.read(id)).toEqual({ type: "blob", content });
		const pid = Number(world.shell(`cat ${hung}`));
		await until(() => isGroupGone(pid), "the end of the git that hung", 10_000);
		reader.close();
	});
