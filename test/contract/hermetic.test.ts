/** Nothing that a repository, a config or the environment names is run. Each trap would leave a file behind. [R13] */
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enter, expectSame, openAt, openEngine, owner, usable } from "../support/engine.ts";
import { createWorld, type World } from "../support/world.ts";

/** A program that leaves a file named after how it was called. */
function trap(world: World, name: string): string {
	const folder = join(world.at, "traps");
	mkdirSync(join(folder, "sprung"), { recursive: true });
	const file = join(folder, name);
	writeFileSync(file, `#!/bin/sh\n: > ${folder}/sprung/${name}\ncat\n`);
	chmodSync(file, 0o755);
	return file;
}

const sprung = (world: World): string[] => readdirSync(join(world.at, "traps/sprung"));

const hooks = [
	"applypatch-msg",
	"commit-msg",
	"fsmonitor-watchman",
	"p4-changelist",
	"post-applypatch",
	"post-checkout",
	"post-commit",
	"post-index-change",
	"post-merge",
	"post-receive",
	"post-rewrite",
	"post-update",
	"pre-applypatch",
	"pre-auto-gc",
	"pre-commit",
	"pre-merge-commit",
	"pre-push",
	"pre-rebase",
	"pre-receive",
	"prepare-commit-msg",
	"push-to-checkout",
	"reference-transaction",
	"sendemail-validate",
	"update",
];

const settings = (program: string): Record<string, string> => ({
	"core.fsmonitor": program,
	"core.pager": program,
	"core.editor": program,
	"core.sshCommand": program,
	"core.askPass": program,
	"core.gitProxy": program,
	"core.alternateRefsCommand": program,
	"pager.status": program,
	"pager.log": program,
	"pager.diff": program,
	"sequence.editor": program,
	"diff.external": program,
	"diff.trap.command": program,
	"diff.trap.textconv": program,
	"diff.trap.cachetextconv": "true",
	"filter.trap.clean": program,
	"filter.trap.smudge": program,
	"filter.trap.process": program,
	"filter.trap.required": "true",
	"merge.trap.driver": program,
	"credential.helper": program,
	"gpg.program": program,
	"gpg.ssh.program": program,
	"gpg.x509.program": program,
	"commit.gpgSign": "true",
	"tag.gpgSign": "true",
	"log.showSignature": "true",
	"interactive.diffFilter": program,
	"uploadpack.packObjectsHook": program,
	"alias.status": `!${program}`,
	"alias.ls-files": `!${program}`,
});

const attributes = "* filter=trap diff=trap merge=trap text ident\n";

/** All that the engine does: first capture, changes, a lost index, restore, undo, ignore rules, missing objects. */
async function everything(world: World): Promise<void> {
	const first = await openEngine(world);
	const one = await first.capture();
	world.write("a.txt", "changed\n");
	world.write("new.bin", "n\n");
	world.write(".gitignore", "*.log\n");
	world.write("x.log", "l\n");
	const restored = await first.restore(one);
	await first.undo(restored);
	await first.rewind.store.commitsSince(one.head?.head ?? one.id);
	await first.rewind.close();
	world.shell("rm -f .git/pi-rewind/all/index");
	const again = await openEngine(world);
	const two = await again.capture();
	usable(await again.rewind.store.resolve(two.id));
	await again.rewind.store.ignoredUnder(
		one,
		(await again.rewind.store.changes(one, two)).map(({ path }) => path),
	);
	await again.rewind.clearLeftovers();
	await again.rewind.close();
	await using tracked = await openEngine(world, { includeUntracked: false });
	await tracked.restore(await tracked.capture());
	enter(world.env);
	expect(owner.sessionId).toBe("session-1");
}

const places: readonly (readonly [
	name: string,
	set: (world: World, program: string) => Record<string, string>,
])[] = [
	[
		"the repository's config",
		(world, program) => {
			for (const [key, value] of Object.entries(settings(program))) world.git("config", key, value);
			return {};
		},
	],
	[
		"the person's config",
		(world, program) => {
			for (const [key, value] of Object.entries(settings(program)))
				world.git("config", "--global", key, value);
			return {};
		},
	],
	[
		"GIT_CONFIG_COUNT",
		(_, program) => {
			const entries = Object.entries(settings(program));
			return Object.fromEntries([
				["GIT_CONFIG_COUNT", String(entries.length)],
				...entries.flatMap(([key, value], i) => [
					[`GIT_CONFIG_KEY_${i}`, key],
					[`GIT_CONFIG_VALUE_${i}`, value],
				]),
			]);
		},
	],
	[
		"GIT_CONFIG_PARAMETERS",
		(_, program) => ({
			GIT_CONFIG_PARAMETERS: Object.entries(settings(program))
				.map(([key, value]) => `'${key}=${value}'`)
				.join(" "),
		}),
	],
	[
		"variables of their own",
		(_, program) => ({
			GIT_EXTERNAL_DIFF: program,
			GIT_PAGER: program,
			PAGER: program,
			GIT_EDITOR: program,
			EDITOR: program,
			VISUAL: program,
			GIT_SEQUENCE_EDITOR: program,
			GIT_SSH: program,
			GIT_SSH_COMMAND: program,
			GIT_ASKPASS: program,
			SSH_ASKPASS: program,
			GIT_PROXY_COMMAND: program,
			GIT_TEST_FSMONITOR: program,
		}),
	],
];

for (const [name, set] of places)
	test(`no program named by ${name} is run [R13]`, async () => {
		await using world = createWorld({
			files: { ".gitattributes": attributes, "a.txt": "a0\n", "b.bin": "b\n" },
		});
		const program = trap(world, "program");
		Object.assign(process.env, set(world, program));
		const extra = Object.fromEntries(
			Object.entries(process.env).flatMap(([key, value]) =>
				/^(GIT_|PAGER|EDITOR|VISUAL|SSH_ASKPASS)/.test(key) && value !== undefined
					? [[key, value]]
					: [],
			),
		);
		try {
			await everything({ ...world, env: { ...world.env, ...extra } });
			expect(sprung(world)).toEqual([]);
		} finally {
			for (const key of Object.keys(extra)) delete process.env[key];
		}
		// The trap works: git itself, asked in the ordinary way, falls into it.
		if (name === "the repository's config") {
			world.shell("echo more > a.txt; git status > /dev/null 2>&1 || true");
			expect(sprung(world)).toEqual(["program"]);
		}
	});

test("no hook is run, in the repository or by core.hooksPath [R13]", async () => {
	await using world = createWorld();
	for (const hook of hooks) {
		const file = trap(world, hook);
		world.shell(`mkdir -p ../hooks .git/hooks; cp ${file} ../hooks/; cp ${file} .git/hooks/`);
	}
	await everything(world);
	world.git("config", "core.hooksPath", join(world.at, "hooks"));
	await everything(world);
	expect(sprung(world)).toEqual([]);
	world.git("update-ref", "refs/tags/x", "HEAD");
	expect(sprung(world)).toContain("reference-transaction");
});

test("a repository named by the environment is neither read nor written (B26) [R13]", async () => {
	await using world = createWorld();
	world.git("init", "-q", "../other");
	world.shell("cd ../other; echo o > o; git add .; git commit -qm o");
	const other = join(world.at, "other");
	const before = world.files({ root: world.at, skip: (path) => !path.startsWith("other") });
	const variables = {
		GIT_DIR: join(other, ".git"),
		GIT_WORK_TREE: other,
		GIT_INDEX_FILE: join(other, ".git/index"),
		GIT_OBJECT_DIRECTORY: join(other, ".git/objects"),
		GIT_COMMON_DIR: join(other, ".git"),
		GIT_NAMESPACE: "ns",
		GIT_PREFIX: "x/",
		GIT_CONFIG: join(other, ".git/config"),
		GIT_ATTR_SOURCE: "HEAD",
		GIT_TRACE: join(other, "trace"),
		GIT_TRACE2_EVENT: join(other, "trace2"),
		GIT_REFLOG_ACTION: "x",
		GIT_GLOB_PATHSPECS: "1",
		GIT_DEFAULT_HASH: "sha256",
	};
	const changed = { ...world, env: { ...world.env, ...variables } };
	enter(changed.env);
	const opened = await openAt(world.root);
	if (opened.kind !== "ready") throw new Error(opened.message);
	expect(opened.root).toBe(world.root);
	const { snapshot } = await opened.rewind.capture({ owner });
	await opened.rewind.close();
	enter(world.env);
	expect(world.git("ls-tree", "-r", "--name-only", snapshot.tree)).toBe(
		"a.txt\ndir/b.txt\ndir/c.txt\n",
	);
	expectSame(before, world.files({ root: world.at, skip: (path) => !path.startsWith("other") }));
});

test("no identity, or one that may not be guessed, is no obstacle (B31)", async () => {
	await using world = createWorld({
		files: {},
		commit: false,
		gitConfig: "[user]\n\tuseConfigOnly = true\n",
	});
	await using engine = await openEngine(world);
	const first = await engine.capture();
	world.write("x", "1\n");
	await engine.restore(first);
	expect(existsSync(world.path("x"))).toBe(false);
});

test("a partial clone is never asked to fetch: its remote is not contacted [R13]", async () => {
	await using world = createWorld({ files: { "a/1": "1\n", "b/1": "only there\n" } });
	world.git("config", "uploadpack.allowFilter", "true");
	world.git("config", "uploadpack.allowAnySHA1InWant", "true");
	world.shell(
		`git clone -q --filter=blob:none --no-checkout file://${world.root} ../partial; cd ../partial; git sparse-checkout set --cone a; git checkout -q main`,
	);
	const root = join(world.at, "partial");
	const program = trap(world, "upload-pack");
	world.shell(`git config remote.origin.uploadpack ${program}`, root);
	await using engine = await openEngine(world, { cwd: root });
	const first = await engine.capture();
	world.shell("echo 2 > a/1; git rm -q --cached a/1", root);
	await engine.restore(first);
	expect(world.shell("cat a/1", root)).toBe("1\n");
	expect(sprung(world)).toEqual([]);
});
