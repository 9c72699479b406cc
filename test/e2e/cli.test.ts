/**
 * `pi-rewind` as a process, on sessions that the real Pi wrote: finding points, going back, undoing, and Pi learning of
 * it at its next resume.
 */
import {
	appendFileSync,
	chmodSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cliSource, keepScene, node, rewindCli, rewindFacts, type Scene } from "../support/cli.ts";
import { piVersions, step } from "../support/pi.ts";
import { startTerminal } from "../support/tui.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import {
	restoreTo,
	sessionFiles,
	sessionLines,
	type TwoPrompts as Ids,
	twoPrompts,
	words,
} from "./scenes.ts";

/** A session of two prompts that the newest Pi wrote, once; each test works on a copy of it. */
let scene: Scene<Ids>;
beforeAll(async () => {
	scene = await keepScene(async (world) => {
		const pi = await world.rpc();
		const ids = await twoPrompts(pi);
		await pi.label(ids.one, "good");
		await pi.stop();
		return ids;
	});
});
afterAll(() => scene.end());

const listed = (world: World, ...args: string[]): string =>
	rewindCli(world, ["list", ...args]).stdout;

describe.each(piVersions)("with a session of Pi %s", (version) => {
	test("goes back and undoes as Pi would, records it, and Pi's undo takes it back after a resume", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const { one, two } = await twoPrompts(pi);
		const conversation = await pi.conversation();
		const end = world.files();
		await pi.stop();
		const person = { state: world.gitState(), index: world.index() };
		const [file = ""] = sessionFiles(world);
		const before = sessionLines(file);

		expect(rewindCli(world, ["restore", one.slice(0, 6), "--yes"])).toMatchObject({
			code: 0,
			stderr: "",
			stdout: expect.stringContaining(
				"Files restored to the answer “one” (1 changed, 2 added, 2 deleted)\n",
			),
		});
		expect([world.read("a.txt"), world.read("dir/b.txt"), world.read("new")]).toEqual([
			"a1\n",
			"b0\n",
			undefined,
		]);
		expect(difference(person.state, world.gitState())).toEqual([]);
		expect(difference(person.index, world.index())).toEqual([]);
		const after = sessionLines(file);
		expect(after.slice(0, -1)).toEqual(before);
		const last = before.at(-1);
		expect(after.at(-1)).toMatchObject({
			type: "custom",
			customType: "rewind-op",
			parentId: typeof last === "object" && last !== null && "id" in last ? last.id : "",
			data: { v: 2, restored: { what: "restore", changed: 1, added: 2, deleted: 2, skipped: 0 } },
		});

		const again = await world.rpc({ version, args: ["-c"] });
		expect(await again.conversation()).toEqual(conversation);
		await again.tree(two, { choose: words.undo });
		expect(difference(end, world.files())).toEqual([]);
		await restoreTo(again, one);
		const restored = world.files();
		expect([again.errors, again.stderr()]).toEqual([[], ""]);
		await again.stop();

		expect(rewindCli(world, ["undo", "--yes"])).toMatchObject({ code: 0 });
		expect(difference(end, world.files())).toEqual([]);
		expect(rewindCli(world, ["undo", "--yes"])).toMatchObject({ code: 0 });
		expect(difference(restored, world.files())).toEqual([]);
	});

	test("a session that is open in Pi is looked at, never written to; one that was killed is not open", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const { one } = await twoPrompts(pi);
		const end = world.files();
		const [file = ""] = sessionFiles(world);
		const before = readFileSync(file, "utf8");
		expect(listed(world)).toContain(`open in Pi (process ${pi.pid})`);
		expect(rewindCli(world, ["restore", one, "--dry-run"])).toMatchObject({ code: 0 });
		const refused = rewindCli(world, ["restore", one, "--yes"]);
		expect(refused).toMatchObject({ code: 3, stdout: "" });
		expect(refused.stderr).toMatch(
			/is open in Pi \(process \d+\).*no files were changed · Go back there with \/tree, or close it/,
		);
		expect(rewindFacts(world, ["undo", "--yes"])).toMatchObject({ code: 3 });
		expect(difference(end, world.files())).toEqual([]);
		expect(readFileSync(file, "utf8")).toBe(before);
		await pi.kill();
		expect(listed(world)).not.toContain("open in Pi");
		expect(rewindCli(world, ["restore", one, "--yes"])).toMatchObject({ code: 0 });
		expect(world.read("a.txt")).toBe("a1\n");
	});
});

test("lists the points newest first, with what changed up to each; `@N` means the same everywhere", () => {
	const { world, ids } = scene.fresh();
	const { first, one, second, two } = ids;
	const text = listed(world);
	const rows = text.split("\n").filter((line) => /^ +@\d/.test(line));
	expect(rows.filter((row) => /“/.test(row)).map((row) => row.split(/ {2,}/))).toEqual([
		["", "@1", expect.any(String), two, expect.any(String), "main", "=", "the answer “two”"],
		[
			"",
			"@3",
			expect.any(String),
			second,
			expect.any(String),
			"main",
			"=",
			"the point before your message “second”",
		],
		["", "@4", expect.any(String), one, expect.any(String), "main", "=", "the answer “one” [good]"],
		[
			"",
			"@6",
			expect.any(String),
			first,
			expect.any(String),
			"main",
			"?",
			"the point before your message “first”",
		],
	]);
	expect(rows[1]).toContain("~1 +1 −1 →1");
	const { facts } = rewindFacts(world, ["list", "--max", "2"]);
	expect(facts).toMatchObject({
		sessions: [
			{ points: [{ number: 1, entry: two, state: "there" }, { number: 2 }], morePoints: 4 },
		],
	});
	expect(rewindFacts(world, ["show", "@4"]).facts).toMatchObject({
		entry: one,
		label: "the answer “one”",
	});
	expect(rewindFacts(world, ["show", "@7"])).toMatchObject({
		code: 3,
		facts: {
			error: { code: "no-such-point", message: "There is no point @7: there are @1 to @6" },
		},
	});
});

test("restores only the paths that are named, from wherever one is, and leaves all others alone", () => {
	const { world, ids } = scene.fresh();
	const { one } = ids;
	const cwd = world.path("dir");
	expect(rewindCli(world, ["restore", one, ".", "--yes"], { cwd })).toMatchObject({ code: 0 });
	expect([world.read("dir/b.txt"), world.read("dir/c.txt"), world.read("dir/moved.txt")]).toEqual([
		"b0\n",
		"c0\n",
		undefined,
	]);
	expect([world.read("a.txt"), world.read("new")]).toEqual(["2\n", "n\n"]);
	expect(rewindCli(world, ["restore", one, "../a.txt", "--yes"], { cwd })).toMatchObject({
		code: 0,
	});
	expect([world.read("a.txt"), world.read("new")]).toEqual(["a1\n", "n\n"]);
	expect(rewindCli(world, ["restore", one, "../../x", "--yes"], { cwd })).toMatchObject({
		code: 2,
	});
	expect(rewindCli(world, ["restore", one, "a.txt", "--yes"]).stdout).toContain(
		"nothing to change",
	);
});

test("compares points, and a patch in a pipe is what git apply takes", async () => {
	await using world = createWorld();
	world.write('quote " tab\tü', "x\n");
	const pi = await world.rpc();
	const { one, two } = await twoPrompts(pi);
	await pi.prompt("third", step.bash("rm quote*; printf 'b\\0' > bin; chmod +x a.txt"), "three");
	await pi.stop();
	expect(rewindCli(world, ["diff", one, two]).stdout).toBe(
		[
			"From the answer “one” to the answer “two”: ~1 +1 −1 →1",
			"  M  +1 −1  a.txt",
			"  D  +0 −1  dir/b.txt",
			"  R  +0 −0  dir/c.txt → dir/moved.txt",
			"  A  +1 −0  new",
			"",
		].join("\n"),
	);
	expect(rewindCli(world, ["diff", two, "--path", "dir"]).stdout).toMatch(/nothing differs\.\n$/);
	const end = world.files();
	world.remove("bin");
	const target = world.files();
	const patch = rewindCli(world, ["diff", one, "--patch"]);
	expect(patch.code).toBe(0);
	rewindCli(world, ["restore", one, "--yes"]);
	writeFileSync(join(world.at, "p"), patch.stdout);
	world.git("apply", "--whitespace=nowarn", join(world.at, "p"));
	expect(difference(target, world.files())).toEqual([]);
	expect(difference(end, world.files())).toEqual([expect.stringContaining("removed bin")]);
});

test("nothing in a name or a message drives the terminal", async () => {
	await using world = createWorld();
	const pi = await world.rpc();
	await pi.prompt(
		"evil \u001b[2J\u009b31m\u202e prompt",
		step.bash("printf x > $'e\\033[31m\\nvil'; printf y > $'raw\\377'"),
		"an \u001b]0;title\u0007 answer",
	);
	await pi.stop();
	for (const args of [
		["list"],
		["list", "--json"],
		["show", "@2", "-p"],
		["restore", "@3", "--dry-run"],
	]) {
		const { code, stdout, stderr } = rewindCli(world, args);
		expect([args, code]).toEqual([args, 0]);
		expect(stdout.replaceAll("\n", "") + stderr).not.toMatch(/[\p{Cc}\u202e]/u);
	}
	expect(rewindCli(world, ["diff", "@3"]).stdout).toContain("e\\x1b[31m\\nvil");
	expect(rewindFacts(world, ["diff", "@3"]).facts).toMatchObject({
		changes: [
			{ mark: "A", path: "e\u001b[31m\nvil" },
			{
				mark: "A",
				path: "raw\\xff",
				pathBase64: Buffer.from("raw\xff", "latin1").toString("base64"),
			},
		],
	});
});

test("what fits several points is refused with all of them; what fits none, with what would [R13]", () => {
	const { world, ids } = scene.fresh();
	const { first, one, two } = ids;
	const [file = ""] = sessionFiles(world);
	const text = readFileSync(file, "utf8");
	writeFileSync(file, text.replaceAll(one, "abcd1111").replaceAll(two, "abcd2222"));
	const end = world.files();
	const ambiguous = rewindCli(world, ["restore", "abcd", "--yes"]);
	expect(ambiguous).toMatchObject({ code: 3, stdout: "" });
	expect(ambiguous.stderr).toBe(
		"pi-rewind: abcd is more than one point: abcd1111 the answer “one”, abcd2222 the answer “two” · Give more of the id\n",
	);
	expect(rewindCli(world, ["show", "abcd1"])).toMatchObject({ code: 0 });
	for (const wrong of ["zzzz", "--output=x", "HEAD", `${first}00`, "0123456789abcdef"]) {
		const refused = rewindCli(world, ["restore", "--yes", "--", wrong]);
		expect([wrong, refused.code]).toEqual([wrong, 3]);
		expect(refused.stderr).toContain("A POINT is @2");
	}
	// A commit of the person's is no snapshot, though git knows it.
	expect(rewindCli(world, ["restore", world.git("rev-parse", "HEAD").trim(), "--yes"]).code).toBe(
		3,
	);
	expect(difference(end, world.files())).toEqual([]);
});

test("in a terminal it shows the plan and asks; anything but yes changes nothing", async () => {
	const { world, ids } = scene.fresh();
	const end = world.files();
	const start = () => {
		// A folder for each: a server that is ending would be taken for the next one.
		const dir = mkdtempSync(join(world.at, "tmux-"));
		const argv = [node, cliSource, "restore", ids.one];
		return startTerminal({ argv, env: world.env, dir }, { cwd: world.root });
	};
	for (const answer of ["n", "Enter", "C-c", "C-d"]) {
		await using terminal = start();
		await terminal.waitFor(/M {2}a\.txt +changes[^]*Change these files\? \[y\/N\]/);
		terminal.keys(...(answer === "n" ? ["n", "Enter"] : [answer]));
		expect([answer, await terminal.ended()]).toEqual([answer, 3]);
		expect(difference(end, world.files())).toEqual([]);
	}
	await using terminal = start();
	await terminal.waitFor(/Change these files/);
	terminal.keys("y", "Enter");
	expect(await terminal.ended()).toBe(0);
	expect(terminal.screen()).toMatch(/Files restored to the answer “one”/);
	expect(world.read("a.txt")).toBe("a1\n");
});

test("exit codes: usage is 2, what is refused is 3, and nothing is changed by either", () => {
	const { world, ids } = scene.fresh();
	const end = world.files();
	expect(rewindCli(world, ["show"])).toMatchObject({
		code: 2,
		stdout: "",
		stderr: expect.stringContaining("show needs a POINT · pi-rewind show POINT [--patch]"),
	});
	expect(rewindFacts(world, ["stats", "--yes"])).toMatchObject({
		code: 2,
		facts: { error: { code: "bad-usage" } },
	});
	expect(rewindCli(world, ["restore", ids.one])).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("Look at the plan with --dry-run, then say --yes"),
	});
	expect(rewindCli(world, ["list"], { cwd: world.at })).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("Run git init"),
	});
	expect(rewindCli(world, ["restore", "--help"])).toMatchObject({
		code: 0,
		stdout: expect.stringContaining("--dry-run       only shows it"),
	});
	expect(difference(end, world.files())).toEqual([]);
});

test("finds the sessions where Pi was told to keep them, and one that is named", async () => {
	await using world = createWorld();
	const elsewhere = join(world.at, "kept here");
	mkdirSync(elsewhere);
	const pi = await world.rpc({ settings: { sessionDir: elsewhere } });
	const { one } = await twoPrompts(pi);
	await pi.stop();
	const file = world.shell(`ls ${JSON.stringify(elsewhere)}/*.jsonl`).trim();
	expect(listed(world)).toContain(file);
	// Sessions of another folder are in the same place.
	const foreign = join(elsewhere, "foreign.jsonl");
	writeFileSync(
		foreign,
		readFileSync(file, "utf8").replace(`"cwd":"${world.root}"`, '"cwd":"/elsewhere"'),
	);
	expect(listed(world)).not.toContain("foreign.jsonl");
	const copy = join(world.at, "copy.jsonl");
	copyFileSync(file, copy);
	expect(listed(world, "--session", copy)).toContain(copy);
	expect(rewindCli(world, ["restore", one, "--session", "../copy.jsonl", "--yes"])).toMatchObject({
		code: 0,
	});
	expect(sessionLines(copy).length).toBe(sessionLines(file).length + 1);
	expect(rewindCli(world, ["list", "--session", "nowhere.jsonl"])).toMatchObject({ code: 2 });
});

test("refuses before it changes anything when the outcome could not be recorded [R9]", () => {
	const { world, ids } = scene.fresh();
	const { one } = ids;
	const end = world.files();
	const [file = ""] = sessionFiles(world);
	appendFileSync(file, '{"type":"mess');
	const torn = rewindCli(world, ["restore", one, "--yes"]);
	expect(torn).toMatchObject({ code: 1, stderr: expect.stringContaining("is not finished") });
	if (process.getuid?.() !== 0) {
		chmodSync(file, 0o400);
		expect(rewindCli(world, ["restore", one, "--yes"])).toMatchObject({ code: 1 });
	}
	expect(difference(end, world.files())).toEqual([]);
	appendFileSync(file, "\n");
	expect(rewindCli(world, ["restore", one, "--yes"])).toMatchObject({ code: 0 });
});

test("points of a fork stand at the session that they were taken in, and both sessions can go back", async () => {
	await using world = createWorld();
	const pi = await world.rpc();
	const { one, second } = await twoPrompts(pi);
	await pi.fork(second, { choose: words.forkKeep });
	await pi.prompt("forked", step.write("a.txt", "forked\n"), "in the fork");
	await pi.stop();
	const { facts } = rewindFacts(world, ["list"]);
	expect(facts).toMatchObject({
		sessions: [
			{
				points: [
					{ text: "the answer “in the fork”" },
					{},
					{ text: "the point before your message “forked”" },
				],
			},
			{ points: [{ text: "the answer “two”" }, {}, {}, { entry: one }, {}, {}] },
		],
	});
	// The fork was used last and has a copy of that entry: there it is recorded.
	expect(rewindFacts(world, ["restore", one, "--yes"])).toMatchObject({
		code: 0,
		facts: { done: true, recordedIn: expect.stringContaining(".jsonl") },
	});
	expect(world.read("a.txt")).toBe("a1\n");
	expect(rewindCli(world, ["undo", "--yes"])).toMatchObject({ code: 0 });
	expect(world.read("a.txt")).toBe("forked\n");
});
