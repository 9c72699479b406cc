/** Where there is no engine, and what is said then. Every refusal leaves everything as it was. */
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { enter, expectSame, isRoot, openAt, openEngine } from "../support/engine.ts";
import { createWorld, takePicture, type World } from "../support/world.ts";

const path = process.env["PATH"] ?? "";
afterEach(() => void (process.env["PATH"] = path));

/** The reason and the message; fails when there is an engine after all, or when anything changed on the disk. */
async function refusal(
	world: World,
	cwd = world.root,
): Promise<{ reason: string; message: string }> {
	enter(world.env);
	const before = takePicture(world.at);
	const opened = await openAt(cwd);
	if (opened.kind === "ready") {
		await opened.rewind.close();
		throw new Error(`opened ${opened.root}`);
	}
	expectSame(before, takePicture(world.at));
	return opened;
}

test("no repository is told, and may change by a git init", async () => {
	await using world = createWorld({ init: false });
	expect(await refusal(world)).toMatchObject({ reason: "no git repository", mayChange: true });
	world.git("init", "-q");
	await using engine = await openEngine(world);
	expect(engine.root).toBe(world.root);
});

test("a bare repository, and the inside of a git dir, have no working tree", async () => {
	await using world = createWorld();
	world.git("init", "-q", "--bare", "../bare.git");
	expect((await refusal(world, join(world.at, "bare.git"))).reason).toBe("bare repository");
	expect((await refusal(world, world.path(".git"))).reason).toBe("inside a git dir");
	expect((await refusal(world, world.path(".git/refs"))).reason).toBe("inside a git dir");
});

test("a root that core.worktree moved is refused: to the parent, elsewhere, to an empty folder [R13]", async () => {
	await using world = createWorld();
	for (const moved of ["../..", world.at, join(world.at, "home")]) {
		world.git("config", "core.worktree", moved);
		const { reason } = await refusal(world);
		expect(["git dir elsewhere", "inside a git dir"]).toContain(reason);
	}
	expect(existsSync(world.path(".git/pi-rewind"))).toBe(false);
});

test("a .git file that leads to a foreign git dir is used only where that dir agrees", async () => {
	await using world = createWorld();
	world.git("init", "-q", "../victim");
	mkdirSync(join(world.at, "trap"));
	writeFileSync(join(world.at, "trap/.git"), "gitdir: ../victim/.git\n");
	enter(world.env);
	const opened = await openAt(join(world.at, "trap"));
	// Without core.worktree, git itself takes the folder of the .git file for the root.
	expect(opened.kind === "ready" ? opened.root : opened.reason).toBe(join(world.at, "trap"));
	if (opened.kind === "ready") await opened.rewind.close();
});

test("the home folder, and what lies above it, is too much", async () => {
	await using world = createWorld({ init: false });
	execFileSync("git", ["init", "-q"], { cwd: world.env["HOME"], env: world.env });
	expect((await refusal(world, world.env["HOME"])).reason).toBe("home folder");
	execFileSync("rm", ["-rf", join(String(world.env["HOME"]), ".git")]);
	execFileSync("git", ["init", "-q"], { cwd: world.at, env: world.env });
	expect((await refusal(world)).reason).toBe("home folder");
});

test("no git on the PATH is told as such", async () => {
	await using world = createWorld();
	mkdirSync(join(world.at, "bin"));
	enter(world.env);
	process.env["PATH"] = join(world.at, "bin");
	const opened = await openAt(world.root);
	expect(opened).toMatchObject({ kind: "unavailable", reason: "git not found" });
});

test("a git that is too old is named with its version", async () => {
	await using world = createWorld();
	mkdirSync(join(world.at, "bin"));
	const git = join(world.at, "bin/git");
	const script = `case "$*" in *version*) echo git version 2.17.1;; *) echo "fatal: unknown option" >&2; exit 129;; esac`;
	writeFileSync(git, `#!/bin/sh\n${script}\n`);
	chmodSync(git, 0o755);
	enter(world.env);
	process.env["PATH"] = `${join(world.at, "bin")}:${path}`;
	const opened = await openAt(world.root);
	expect(opened).toMatchObject({ kind: "unavailable", reason: "git too old" });
	expect(opened.kind === "unavailable" && opened.message).toContain("2.17");
});

test("an old git that echoes options it does not know is too old as well", async () => {
	await using world = createWorld();
	mkdirSync(join(world.at, "bin"));
	const git = join(world.at, "bin/git");
	const script = `case "$*" in *"git version"*|version) echo git version 2.25.1;; *) exec /usr/bin/env PATH='${path}' git "$@";; esac`;
	// 2.25 knows neither --path-format nor --show-object-format and prints them back.
	const echo = `case "$*" in *--path-format*) printf '%s\\n' --path-format=absolute false true /x .git .git/objects --show-object-format /x; exit 0;; esac`;
	writeFileSync(git, `#!/bin/sh\n${echo}\n${script}\n`);
	chmodSync(git, 0o755);
	enter(world.env);
	process.env["PATH"] = `${join(world.at, "bin")}:${path}`;
	expect(await openAt(world.root)).toMatchObject({ kind: "unavailable", reason: "git too old" });
});

test.runIf(isRoot)(
	"a repository of another user is refused with the fix, until the person trusts it [R13]",
	async () => {
		await using world = createWorld();
		for (const each of [world.root, world.path(".git")]) chownSync(each, 12345, 12345);
		const { reason, message } = await refusal(world);
		expect(reason).toBe("owned by another user");
		expect(message).toContain("safe.directory");
		execFileSync("git", ["config", "--global", "safe.directory", world.root], { env: world.env });
		await using engine = await openEngine(world);
		const first = await engine.capture();
		world.write("a.txt", "changed\n");
		await engine.restore(first);
		expect(world.read("a.txt")).toBe("a0\n");
	},
);

test("safe.directory set by the repository itself counts for nothing [R13]", async () => {
	await using world = createWorld();
	world.git("config", "safe.directory", "*");
	if (!isRoot) return expect(isRoot).toBe(false);
	for (const each of [world.root, world.path(".git")]) chownSync(each, 12345, 12345);
	expect((await refusal(world)).reason).toBe("owned by another user");
});

test.runIf(isRoot)("a git dir on a read-only mount is refused", async () => {
	await using world = createWorld();
	const gitDir = world.path(".git");
	execFileSync("mount", ["--bind", gitDir, gitDir]);
	try {
		execFileSync("mount", ["-o", "remount,ro,bind", gitDir]);
		expect((await refusal(world)).reason).toBe("read-only git dir");
	} finally {
		execFileSync("umount", [gitDir]);
	}
});

test("an unknown repository format is refused in git's own words", async () => {
	await using world = createWorld();
	world.git("config", "core.repositoryFormatVersion", "1");
	world.git("config", "extensions.fromTheFuture", "true");
	const { reason, message } = await refusal(world);
	expect(reason).toBe("refused by git");
	expect(message).toMatch(/fromthefuture/i);
});

test("a git init below the session's folder, or the root's own .git gone, ends the engine's claim to it", async () => {
	await using world = createWorld();
	enter(world.env);
	const opened = await openAt(world.path("dir"));
	if (opened.kind !== "ready") throw new Error(opened.message);
	expect(await opened.stillHere()).toBe(true);
	world.git("init", "-q", "dir");
	expect(await opened.stillHere()).toBe(false);
	world.remove("dir/.git");
	expect(await opened.stillHere()).toBe(true);
	world.shell("mv .git ../moved.git");
	expect(await opened.stillHere()).toBe(false);
	await opened.rewind.close();
});
