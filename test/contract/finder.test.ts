/** What changed is found without asking git where that can be told, and then it is all that git would have found. */
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLookThreads } from "../../src/git/look-threads.ts";
import { openEngine, privateDir } from "../support/engine.ts";
import { foundByGit, freshTree, listings, openWatched, ripe } from "../support/watched.ts";

const ordinary: Readonly<Record<string, { init?: string[]; first?: string }>> = {
	"a small repository": {},
	"SHA-256": { init: ["--object-format=sha256"] },
	"names that are not UTF-8": { first: "mkdir $'n\\xff'; echo x > $'n\\xff/\\xfe\\n.txt'" },
	"many folders, and files that are too large": {
		first:
			"for i in $(seq 300); do mkdir -p many/$i/deep; echo $i > many/$i/deep/f; done; for i in 7 80 299; do head -c 2000 /dev/zero > many/$i/big; done",
	},
	"links, an empty folder, an ignored one": {
		first:
			"ln -s a.txt l; ln -s nowhere dead; mkdir empty ign; echo ign > .gitignore; echo 1 > ign/1",
	},
};

test.each(Object.entries(ordinary))(
	"%s: where nothing changed git is not asked at all; an edit in place needs no listing",
	async (_, { init, first }) => {
		await using setup = await openWatched(init === undefined ? {} : { init });
		const { world, capture, learn, calls } = setup;
		if (first !== undefined) execFileSync("bash", ["-c", first], { cwd: world.root });
		await learn();
		calls();
		const before = await capture();
		expect(calls()).toEqual([]);
		// Another size: git tells it from what was there, in whichever second that came.
		world.write("dir/b.txt", "b1, longer\n");
		await ripe();
		const after = await capture();
		expect(listings(calls())).toEqual([]);
		expect(after.tree).not.toBe(before.tree);
		expect(foundByGit(world).replace(/^\?\? many\/\d+\/big\n/gm, "")).toBe("");
		calls();
		await ripe();
		await capture();
		expect(calls()).toEqual([]);
	},
);

interface Case {
	readonly files?: Readonly<Record<string, string>>;
	/** Before anything is captured. */
	readonly first?: string;
	/** What happens then, unseen. */
	readonly event: string;
	readonly has?: string[];
	readonly hasNot?: string[];
	/** Nested repositories and ignored files that are tracked are not in a fresh index. */
	readonly isOdd?: true;
}

const big = "head -c 2000 /dev/zero > big";
const cases: Readonly<Record<string, Case>> = {
	"same size, the old time put back": {
		event: "touch -r a.txt ../time; printf 'a9\\n' > a.txt; touch -r ../time a.txt",
	},
	"replaced by a file of the same size and time": {
		event: "printf 'a9\\n' > ../new; touch -r a.txt ../new; mv ../new a.txt",
	},
	"a file in a folder that was empty": {
		first: "mkdir empty",
		event: "echo n > empty/n",
		has: ["empty/n"],
	},
	"a file beside ignored ones only": {
		files: { ".gitignore": "*.log\n", "a.txt": "a\n" },
		first: "mkdir logs; echo 1 > logs/1.log",
		event: "echo n > logs/notes",
		has: ["logs/notes"],
	},
	"folders in folders": { event: "mkdir -p x/y/z; echo n > x/y/z/n", has: ["x/y/z/n"] },
	"gone, moved, and another thing in its place": {
		event: "rm a.txt; mv dir/b.txt b; rm dir/c.txt; mkdir dir/c.txt; echo n > dir/c.txt/n",
		has: ["b", "dir/c.txt/n"],
		hasNot: ["a.txt", "dir/b.txt", "dir/c.txt"],
	},
	"a folder that is a link to where it went": {
		event: "mv dir ../elsewhere; ln -s ../elsewhere dir",
		has: ["dir"],
		hasNot: ["dir/b.txt"],
	},
	"a link in place of a file": { event: "ln -sf dir a.txt", has: ["a.txt"] },
	"an executable bit": { event: "chmod +x a.txt" },
	"a .gitignore that is covered": {
		files: { ".gitignore": "out/\n", "a.txt": "a\n" },
		first: "mkdir out; echo 1 > out/1",
		event: "printf '#ut/\\n' > .gitignore",
		has: ["out/1"],
	},
	"a .gitignore that is itself ignored": {
		first: "mkdir venv; echo '*' > venv/.gitignore; echo 1 > venv/1",
		event: "echo '#' > venv/.gitignore",
		has: ["venv/1", "venv/.gitignore"],
	},
	"info/exclude": {
		first: "echo out > .git/info/exclude; mkdir out; echo 1 > out/1",
		event: "echo '#ut' > .git/info/exclude",
		has: ["out/1"],
	},
	"the person's excludes file": {
		first: "mkdir -p ~/.config/git; echo out > ~/.config/git/ignore; mkdir out; echo 1 > out/1",
		event: "echo '#ut' > ~/.config/git/ignore",
		has: ["out/1"],
	},
	"small enough now": { first: big, event: ": > big", has: ["big"], isOdd: true },
	"too large now": { first: "echo s > big", event: big, hasNot: ["big"], isOdd: true },
	"small enough now, in a folder with nothing else": {
		first: `mkdir only; cd only; ${big}`,
		event: ": > only/big; echo n > only/n",
		has: ["only/big", "only/n"],
	},
	"another repository no more": {
		first: "git init -q sub; echo s > sub/s",
		event: "rm -rf sub/.git",
		has: ["sub/s"],
	},
	"another repository from now on": {
		first: "mkdir sub; echo s > sub/s",
		event: "git init -q sub; echo 2 > sub/s",
		hasNot: ["sub/s"],
		isOdd: true,
	},
	"tracked although ignored": {
		files: { ".gitignore": "out/\n", "a.txt": "a\n" },
		first: "mkdir out; echo 1 > out/1",
		event: "git add -f out/1",
		has: ["out/1"],
		isOdd: true,
	},
	"tracked although ignored, edited": {
		files: { ".gitignore": "out/\n", "a.txt": "a\n" },
		first: "mkdir out; echo 1 > out/1; git add -f out/1",
		event: "echo 2 > out/1",
		has: ["out/1"],
		isOdd: true,
	},
	"a .gitignore that is ignored, and now leads to a pipe": {
		first: "mkdir venv; echo '*' > venv/.gitignore; echo 1 > venv/1; mkfifo pipe",
		event: "ln -sf ../pipe venv/.gitignore",
		has: ["venv/1"],
		isOdd: true,
	},
	"what is ours, thrown away": {
		event: "echo 1 > a.txt; rm -rf .git/pi-rewind/all",
		has: ["a.txt"],
	},
	"a pipe in place of a file": { event: "rm a.txt; mkfifo a.txt", hasNot: ["a.txt"], isOdd: true },
	"a branch, switched": {
		first: "git switch -qc other; echo o > o; git add o; git commit -qm o; git switch -q -",
		event: "git switch -q other",
		has: ["o"],
	},
};

interface Step {
	readonly do: "write" | "remove" | "rules" | "swap";
	readonly name: string;
	readonly content?: string;
}

function shellOf({ do: deed, name, content }: Step): string {
	switch (deed) {
		case "write":
			return `mkdir -p $(dirname ${name}); printf '${content}' > ${name}`;
		case "remove":
			return `rm -f ${name}`;
		case "rules":
			return `printf '${content}' > .gitignore`;
		case "swap":
			// Another inode of the same name, as editors write.
			return `[ ! -f ${name} ] || { cp -p ${name} t; mv t ${name}; }`;
	}
}

describe("nothing that git would find is missed:", () => {
	test.each(Object.entries(cases))("%s", async (_, { files, first, event, has, hasNot, isOdd }) => {
		await using setup = await openWatched(files === undefined ? {} : { files });
		const { world, learn, names, capture } = setup;
		if (first !== undefined) world.shell(`(${first})`);
		await learn();
		await ripe();
		world.shell(`(${event})`);
		const now = await names();
		expect(now).toEqual(expect.arrayContaining(has ?? []));
		expect(now.filter((name) => hasNot?.includes(name))).toEqual([]);
		if (isOdd !== true) expect((await capture()).tree).toBe(freshTree(world));
		await ripe();
		expect(await names()).toEqual(now);
	});

	test("a record of the index' snapshot that is not the one it was", async () => {
		await using setup = await openWatched();
		const { world, learn, capture } = setup;
		await learn();
		const head = join(privateDir(world), "all/HEAD");
		const before = readFileSync(head);
		world.write("a.txt", "a9\n");
		await ripe();
		const { tree } = await capture();
		writeFileSync(head, before);
		expect((await capture()).tree).toBe(tree);
	});

	test("what another process captured in between", async () => {
		await using setup = await openWatched();
		const { world, learn, names } = setup;
		await learn();
		await using other = await openEngine(world);
		world.write("new", "n\n");
		await other.capture();
		world.remove("new");
		world.write("a.txt", "a9\n");
		expect([await names(), world.git("show", `HEAD:a.txt`)]).toEqual([
			["a.txt", "dir/b.txt", "dir/c.txt"],
			"a0\n",
		]);
	});

	test("a file that is renamed while the files are looked at is there under one name, or both", async () => {
		await using setup = await openWatched();
		const { world, learn, names } = setup;
		world.shell("mkdir many zz; for i in $(seq 3000); do echo $i > many/$i; done; echo x > zz/x");
		await learn();
		for (let round = 0; round < 12; round++) {
			await ripe();
			const [from, to] = round % 2 === 0 ? ["zz/x", "zz/y"] : ["zz/y", "zz/x"];
			const captured = names();
			await sleep(round % 8);
			renameSync(world.path(from), world.path(to));
			expect((await captured).filter((name) => name.startsWith("zz/"))).not.toEqual([]);
			await names();
		}
	});

	test("what was only touched is not new content, however large", async () => {
		await using setup = await openWatched({}, 64 << 20);
		const { world, learn, calls, capture } = setup;
		world.shell("for i in 1 2 3; do truncate -s 30M big$i; done");
		await learn();
		world.shell("touch big*");
		await ripe();
		calls();
		expect((await capture()).coverage.notCovered).toEqual([]);
		expect(listings(calls())).toHaveLength(1);
	});

	test("whatever happens in whatever order [R7]", async () => {
		const name = fc.constantFrom(
			"a.txt",
			"dir/b.txt",
			"dir/new",
			"deep/er/x",
			"y",
			"out.log",
			"dir/z.log",
		);
		const content = fc.constantFrom("1\n", "2\n", "333\n");
		const step = fc.oneof(
			{ weight: 4, arbitrary: fc.record({ do: fc.constant("write" as const), name, content }) },
			{ weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), name }) },
			{
				weight: 1,
				arbitrary: fc.record({
					do: fc.constant("rules" as const),
					name,
					content: fc.constantFrom("*.log\n", "#\n", "y\n"),
				}),
			},
			{ weight: 1, arbitrary: fc.record({ do: fc.constant("swap" as const), name }) },
		);
		const turns = fc.array(
			fc.record({
				steps: fc.array(step, { maxLength: 2 }),
				wait: fc.boolean(),
				by: fc.oneof(
					{ weight: 4, arbitrary: fc.constant("here" as const) },
					{ weight: 1, arbitrary: fc.constant("another process" as const) },
				),
			}),
			{
				minLength: 6,
				maxLength: 12,
			},
		);
		let quick = 0;
		await fc.assert(
			fc.asyncProperty(turns, async (all) => {
				await using setup = await openWatched();
				const { world, capture, learn, calls } = setup;
				await using other = await openEngine(world);
				await learn();
				for (const { steps, wait, by } of all) {
					world.shell(steps.map(shellOf).join("\n"));
					if (wait) await ripe();
					calls();
					await (by === "here" ? capture() : other.capture());
					if (listings(calls()).length === 0) quick++;
					expect(foundByGit(world)).toBe("");
				}
			}),
			{ numRuns: 10 },
		);
		// Or nothing of this was tested.
		expect(quick).toBeGreaterThan(5);
	});
});

test("where a thread has ended, nobody can tell", async () => {
	await using setup = await openWatched();
	const { world, learn } = setup;
	await learn();
	const index = join(privateDir(world), "all/index");
	const threads = createLookThreads(world.root, "sha1");
	expect(await threads.learn(index, statSync(index).size)).toMatchObject({ untracked: [] });
	expect(await threads.look(Date.now(), 10)).toEqual({ names: [], bytes: 0 });
	// An index that is not there costs what is known, not the thread.
	expect(await threads.learn(`${index}.none`, 1)).toBeUndefined();
	expect(await threads.learn(index, statSync(index).size)).toMatchObject({ untracked: [] });
	// All is young, by that.
	expect(await threads.look(0, 10)).toBeUndefined();
	world.write("a.txt", "longer than before\n");
	// Who asks at the same time gets an answer of their own; more than was asked for is for git.
	expect(
		await Promise.all([
			threads.look(Date.now(), 10),
			threads.look(Date.now(), 0),
			threads.look(0, 10),
		]),
	).toEqual([{ names: ["a.txt"], bytes: 19 }, undefined, undefined]);
	threads.close();
	expect(await threads.look(Date.now(), 10)).toBeUndefined();
	expect(await threads.learn(index, statSync(index).size)).toBeUndefined();
});
