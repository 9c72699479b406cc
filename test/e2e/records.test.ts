/**
 * Session files that we did not write, or not whole: the predecessors', torn ones, hostile ones. [R10] [R13]
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import { createWorld, difference, type World } from "../support/world.ts";
import { dialogAt, restoredAt, restoreTo, sessionLines, words } from "./scenes.ts";

/** The working tree as the predecessors kept it: a plain commit, reachable through a chain of empty commits. */
function predecessorSnapshot(world: World): string {
	return world
		.shell(`
			export GIT_INDEX_FILE=${world.at}/scratch-index
			git add -A
			snapshot=$(git commit-tree "$(git write-tree)" -m "pi rewind snapshot")
			empty=$(git mktree < /dev/null)
			store=$(git rev-parse -q --verify refs/pi-rewind/store || true)
			kept=$(git commit-tree "$empty" \${store:+-p $store} -p "$snapshot" -m keep)
			git update-ref refs/pi-rewind/store "$kept"
			rm -f "$GIT_INDEX_FILE"
			echo "$snapshot"
		`)
		.trim();
}

let serial = 0;
/** Appends a custom entry to a session file as a child of its last entry. */
function appendRecord(file: string, customType: string, data: unknown): string {
	const last = sessionLines(file).at(-1);
	const parentId = typeof last === "object" && last !== null && "id" in last ? last.id : null;
	const id = `feed${(serial++).toString(16).padStart(4, "0")}`;
	const timestamp = new Date().toISOString();
	const entry = { type: "custom", customType, data, id, parentId, timestamp };
	appendFileSync(file, `${JSON.stringify(entry)}\n`);
	return id;
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("the predecessors' ledgers are read: points, undo and what they kept [R10]", async () => {
		await using world = createWorld();
		const old = await world.rpc({ version, extensions: [] });
		const start = world.files();
		const before = predecessorSnapshot(world);
		await old.prompt("first", step.bash("rm dir/b.txt; echo 1 > a.txt; echo n > new"), "one");
		const one = world.files();
		const after = predecessorSnapshot(world);
		const [first, answer, file] = [await old.user(0), await old.answer(0), await old.sessionFile()];
		await old.stop();
		appendRecord(file, "rewind-turn", {
			v: 2,
			snapshots: [before, after],
			bindings: [
				[first, 0],
				[answer, 1],
			],
		});
		appendRecord(file, "rewind-op", { v: 2, snapshots: [after, before], current: 0, undo: 1 });
		const records = readFileSync(file, "utf8");

		const pi = await world.rpc({ version, args: ["-c"] });
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const dialog = await dialogAt(pi, answer);
		expect(dialog.options).toContain("Restore files to that point (1 changed)");
		// It did not say where HEAD was, so nothing is said about it.
		expect(dialog.title).toMatch(/^Go to the answer “one”.*what about the files\?$/);
		expect(await restoredAt(world, pi, first, start)).toEqual([]);
		expect(await restoredAt(world, pi, answer, one)).toEqual([]);
		await pi.stop();
		// Theirs are never rewritten.
		expect(readFileSync(file, "utf8").startsWith(records)).toBe(true);
		const again = await world.rpc({ version, args: ["-c"] });
		await again.fork(await again.user(1), { choose: words.forkAll });
		expect(difference(one, world.files())).toEqual([]);
		expect([again.errors, again.stderr()]).toEqual([[], ""]);
	});

	test("a predecessor's undo, from before the first record of ours, is on offer", async () => {
		await using world = createWorld();
		const old = await world.rpc({ version, extensions: [] });
		const before = predecessorSnapshot(world);
		const start = world.files();
		await old.prompt("first", step.bash("rm dir/b.txt; echo 1 > a.txt"), "one");
		const [answer, file] = [await old.answer(0), await old.sessionFile()];
		await old.stop();
		appendRecord(file, "rewind-op", { v: 2, snapshots: [before], undo: 0 });
		const pi = await world.rpc({ version, args: ["-c"] });
		await pi.tree(answer, { choose: words.undo });
		expect(difference(start, world.files())).toEqual([]);
	});

	test("torn, glued and unknown lines lose themselves only; records before and after them stay good [R10]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		const [first, answer, file] = [await pi.user(0), await pi.answer(0), await pi.sessionFile()];
		await pi.stop();
		const last = sessionLines(file).at(-1);
		appendRecord(file, "rewind-turn", { v: 3, snapshots: "from the future", bindings: {} });
		appendRecord(file, "rewind-op", null);
		appendRecord(file, "rewind-thing", { v: 2 });
		appendRecord(file, "rewind-turn", { v: 2, snapshots: [], bindings: [[first, 7], 3, [answer]] });
		appendFileSync(file, '{"type":"custom","customType":"rewind-turn","data":{"v":2,"snap\n');
		appendFileSync(file, `\0\0\0\n[]\nnull\n"text"\n`);
		expect(last).toBeDefined();

		const again = await world.rpc({ version, args: ["--session", file] });
		await again.prompt("second", step.bash("rm dir/b.txt"), "two");
		const two = world.files();
		const [second, secondAnswer] = [await again.user(-1), await again.answer(-1)];
		expect(await restoredAt(world, again, first, start)).toEqual([]);
		expect(await restoredAt(world, again, secondAnswer, two)).toEqual([]);
		expect(await restoredAt(world, again, answer, one)).toEqual([]);
		await again.stop();

		// Cut off in the middle of the last record.
		truncateSync(file, readFileSync(file).length - 30);
		const torn = await world.rpc({ version, args: ["--session", file] });
		expect(await restoredAt(world, torn, second, one)).toEqual([]);
		await torn.prompt("third", step.write("a.txt", "a3\n"), "three");
		expect(await restoredAt(world, torn, await torn.user(-1), one)).toEqual([]);
		expect(torn.errors).toEqual([]);
	});

	test("a torn parent still gives its child the points that can be read", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const one = world.files();
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		const [parent, first, answer] = [await pi.sessionFile(), await pi.user(0), await pi.answer(0)];
		await pi.fork(await pi.user(1), { choose: words.forkKeep });
		await pi.prompt("third", "three");
		const child = await pi.sessionFile();
		await pi.stop();
		appendFileSync(parent, '{"type":"custom","customType":"rewind-op","data":{"v":2,"sn');
		const again = await world.rpc({ version, args: ["--session", child] });
		expect(await restoredAt(world, again, first, start)).toEqual([]);
		expect(await restoredAt(world, again, answer, one)).toEqual([]);
		expect(again.errors).toEqual([]);
	});

	test("crafted ids are refused with a reason: nothing is run, read or restored [R13]", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9]) await pi.prompt(`bait ${n}`, `bite ${n}`);
		const file = await pi.sessionFile();
		await pi.stop();
		const pwned = join(world.at, "pwned");
		const ids: [unknown, RegExp][] = [
			[world.git("rev-parse", "HEAD").trim(), /not in the repository any more|no snapshot/],
			[world.git("rev-parse", "HEAD:a.txt").trim(), /not in the repository any more|no snapshot/],
			[world.git("rev-parse", "HEAD^{tree}").trim(), /not in the repository any more|no snapshot/],
			[world.git("rev-parse", "refs/pi-rewind/store").trim(), /no snapshot/],
			["0".repeat(40), /not in the repository any more|no snapshot/],
			[`--output=${pwned}`, /no point was taken there/],
			["refs/heads/main", /no point was taken there/],
			["f".repeat(41), /no point was taken there/],
			[{ toString: "HEAD" }, /no point was taken there/],
		];
		const bites = sessionLines(file).flatMap((line) => {
			const text = JSON.stringify(line);
			const found = /"role":"assistant".*bite (\d)/.exec(text);
			const id = /"id":"([0-9a-f]{8})"/.exec(text)?.[1];
			return found === null || id === undefined ? [] : [id];
		});
		expect(bites).toHaveLength(ids.length);
		// The session's own records of those answers are taken out, so that only the crafted ones speak of them.
		const crafted = join(world.at, "crafted.jsonl");
		for (const line of sessionLines(file)) {
			const text = JSON.stringify(line);
			const ofBite =
				text.includes('"rewind-turn"') && bites.some((id) => text.includes(`["${id}"`));
			const renamed = ofBite ? text.replace('"rewind-turn"', '"somebody-elses"') : text;
			appendFileSync(crafted, `${renamed}\n`);
		}
		for (const [index, [id]] of ids.entries())
			appendRecord(crafted, "rewind-turn", {
				v: 2,
				snapshots: [id],
				bindings: [[bites[index], 0]],
			});
		appendRecord(crafted, "rewind-turn", {
			v: 2,
			snapshots: Array.from({ length: 20_000 }, () => "x"),
			bindings: Array.from({ length: 20_000 }, (_, n) => [`e${n}`, n]),
		});
		appendFileSync(
			crafted,
			`{"type":"custom","customType":"rewind-op","id":"feedbeef","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","data":{"v":2,"snapshots":["--upload-pack=x"],"undo":0,"__proto__":{"current":0},"constructor":1}}\n`,
		);

		const again = await world.rpc({ version, args: ["--session", crafted] });
		await again.prompt("look", "looked");
		const before = world.files({ inodes: true, mtimes: true });
		const git = world.gitState();
		for (const [index, [, reason]] of ids.entries()) {
			const dialog = await dialogAt(again, bites[index] ?? "");
			expect(dialog.title).toMatch(/Files cannot be restored there: /);
			expect(dialog.title).toMatch(reason);
			expect(dialog.options).toEqual([words.keep, words.cancel]);
		}
		expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		expect(difference(git, world.gitState())).toEqual([]);
		expect([existsSync(pwned), again.errors, again.stderr()]).toEqual([false, [], ""]);
		// And the honest points beside them work.
		await restoreTo(again, await again.user(0));
		expect(world.read("a.txt")).toBe("a0\n");
	});

	test("a snapshot of another repository is refused by name", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const file = await pi.sessionFile();
		await pi.stop();
		// The same session, opened where its objects are but its working tree is not.
		world.git("worktree", "add", "-q", "../linked");
		const linked = await world.rpc({
			version,
			cwd: join(world.at, "linked"),
			args: ["--fork", file],
		});
		const dialog = await dialogAt(linked, await linked.user(0));
		expect(dialog.title).toMatch(/taken in another working tree or repository/);
		expect(dialog.options).toEqual([words.keep, words.cancel]);
	});
});
