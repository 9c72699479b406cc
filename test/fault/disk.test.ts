/** A disk that fails in the middle of a restore: everything is as it was, inodes too. [R9] */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs, { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, expect, test } from "vitest";
import { isRewindError } from "../../src/core/errors.ts";
import { trustedObjectId } from "../../src/core/ids.ts";
import { isOfRestore } from "../support/changes.ts";
import {
	type Engine,
	expectSame,
	expectSound,
	isRoot,
	openEngine,
	openWorld,
	owner,
	personState,
} from "../support/engine.ts";
import {
	createWorld,
	difference,
	type Picture,
	takePicture,
	type World,
} from "../support/world.ts";

const changes = [
	"renameSync",
	"linkSync",
	"unlinkSync",
	"mkdirSync",
	"rmdirSync",
	"chmodSync",
	"symlinkSync",
	"writeFileSync",
] as const;
const real = new Map(changes.map((name): [string, unknown] => [name, Reflect.get(fs, name)]));

/** The first change that ends at a path named `last` fails, and right before it somebody else does `meanwhile`. */
function plantAt(last: string, meanwhile: () => void): void {
	let fired = false;
	for (const [name, original] of real) {
		if (typeof original !== "function") throw new Error(name);
		Reflect.set(fs, name, (...args: unknown[]): unknown => {
			if (fired || !String(args[1]).endsWith(`/${last}`)) return Reflect.apply(original, fs, args);
			fired = true;
			meanwhile();
			throw Object.assign(new Error(`EIO: planted in ${name}`), { code: "EIO" });
		});
	}
	syncBuiltinESMExports();
}

/** The n-th change to the disk that a restore makes, or one that `counts`, fails once with `code`. */
function plant(n: number, code: string, counts = isOfRestore): { readonly fired: boolean } {
	let left = n;
	for (const [name, original] of real) {
		if (typeof original !== "function") throw new Error(name);
		Reflect.set(fs, name, (...args: unknown[]): unknown => {
			if (counts(args) && --left === 0)
				throw Object.assign(new Error(`${code}: planted in ${name}`), { code });
			return Reflect.apply(original, fs, args);
		});
	}
	syncBuiltinESMExports();
	return {
		get fired() {
			return left <= 0;
		},
	};
}

function unplant(): void {
	for (const [name, original] of real) Reflect.set(fs, name, original);
	syncBuiltinESMExports();
}
afterEach(unplant);

const mix =
	"echo 2 > edit; chmod +x bit; rm -rf back; mkdir -p goes/deep; echo 2 > goes/deep/f; rm swap; echo 2 > swap";

for (const [code, from] of [
	["ENOSPC", 1],
	["EIO", 2],
] as const)
	test(`whichever change to the disk fails with ${code}, all is as before and the error says so [R9]`, async () => {
		await using setup = await openWorld({ files: {} });
		const { world, engine } = setup;
		world.shell(
			"echo 1 > edit; echo 1 > bit; mkdir -p back/deep; echo 1 > back/deep/f; ln -s edit swap",
		);
		const target = await engine.capture();
		world.shell(mix);
		const before = world.files({ inodes: true });
		const state = personState(world);
		let failures = 0;
		for (let n = from; n < 60; n += 2) {
			const preview = await engine.rewind.preview({ target, owner });
			const fault = plant(n, code);
			const outcome = await engine.rewind
				.prepare(preview)
				.then((prepared) => engine.rewind.perform(prepared, owner))
				.catch((error: unknown) => error);
			unplant();
			if (!fault.fired) break;
			failures++;
			if (!isRewindError(outcome)) throw new Error(`change ${n}: ${String(outcome)}`);
			expect(["restore-rolled-back", "no-space", "io-failed"]).toContain(outcome.code);
			expectSame(before, world.files({ inodes: true }));
			expect(
				world
					.shell("ls .git/pi-rewind")
					.split("\n")
					.filter((name) => /^(stage|journal)/.test(name)),
			).toEqual([]);
		}
		expect(failures).toBeGreaterThan(6);
		expectSame(state, personState(world));
	});

test("whichever small file of its own a capture cannot write, it works without or says so, and the next one works [R12]", async () => {
	await using setup = await openWorld({ files: { "a.txt": "1\n" } });
	const { world, engine } = setup;
	await engine.capture();
	const lists = (): string => world.shell("ls -A .git/pi-rewind .git/pi-rewind/all");
	let [said, n] = [0, 0];
	for (let fired = true; fired && n < 40;) {
		world.write("a.txt", `${++n}\n`);
		world.write(".git/info/exclude", `${n}.log\n`);
		const [files, names] = [world.files({ inodes: true }), lists()];
		const fault = plant(n, "ENOSPC", (args) => !isOfRestore(args));
		const outcome = await engine.capture().catch((error: unknown) => error);
		unplant();
		fired = fault.fired;
		if (outcome instanceof Error) {
			said++;
			expect([n, isRewindError(outcome) && outcome.code, outcome.message]).toEqual([
				n,
				"no-space",
				"Cannot capture the files: no space left on device",
			]);
			expect([n, lists()]).toEqual([n, names]);
		}
		expectSame(files, world.files({ inodes: true }));
		const next = await engine.capture();
		expect(world.git("cat-file", "blob", `${next.tree}:a.txt`)).toBe(`${n}\n`);
	}
	expect([said > 0, n > 2 && n < 40]).toEqual([true, true]);
	expectSound(world);
});

/** What somebody else does while a restore runs that is about to fail, and what is to be there afterwards. */
const others: readonly {
	readonly does: string;
	readonly script: string;
	/** Whether everything of ours could be taken back. */
	readonly isWhole: boolean;
	/** Differences to the files before, all of them somebody else's. */
	readonly left: readonly RegExp[];
}[] = [
	{
		does: "writes to a file that was restored",
		script: "echo theirs > edit",
		isWhole: false,
		left: [/^changed edit: /],
	},
	{
		does: "replaces a file that was restored",
		script: "echo theirs > other; mv other edit",
		isWhole: false,
		left: [/^changed edit: /],
	},
	{
		does: "makes a file where one was deleted",
		script: "echo theirs > goes",
		isWhole: false,
		left: [/^changed goes: /],
	},
	{
		does: "writes to a file that came back",
		script: "echo theirs > back/f",
		isWhole: false,
		left: [/^added back\/: /, /^added back\/f: /],
	},
	{
		does: "puts a file into a folder that came back",
		script: "echo theirs > back/theirs",
		isWhole: true,
		left: [/^added back\/: /, /^added back\/theirs: /],
	},
	{
		does: "removes a folder that came back",
		script: "rm -r back",
		isWhole: true,
		left: [],
	},
	{
		does: "puts a link where a bit was set",
		script: "rm bit; ln -s ../outside/bit bit",
		isWhole: false,
		left: [/^changed bit: .* → link to \.\.\/outside\/bit$/],
	},
	{
		does: "puts a link where a folder was emptied",
		script: "ln -s ../outside emptied",
		isWhole: false,
		left: [/^removed emptied\/: /, /^removed emptied\/f: /, /^added emptied: link to /],
	},
	{
		does: "puts a link where a folder with a restored file is",
		script: "mv deep moved; ln -s ../outside deep",
		isWhole: false,
		left: [
			/^removed deep\/: /,
			/^removed deep\/f: /,
			/^added deep: link to /,
			/^added moved\/: /,
			/^added moved\/f: /,
		],
	},
];

test("a roll back goes past what somebody else does meanwhile: theirs stays, all else is as before [R4] [R5]", async () => {
	await using setup = await openWorld({ files: {} });
	const { world, engine } = setup;
	world.shell(
		"mkdir ../outside; echo 1 > ../outside/f; echo 1 > ../outside/bit; chmod 700 ../outside",
	);
	const outside = (): Picture =>
		takePicture(world.at, { skip: (path) => !path.startsWith("outside") });
	const outsideBefore = outside();
	world.shell(
		"echo 1 > edit; echo 1 > bit; mkdir back deep z; echo 1 > back/f; echo 1 > deep/f; echo 1 > z/last",
	);
	const target = await engine.capture();
	const state = personState(world);
	for (const { does, script, isWhole, left } of others) {
		world.shell(
			"rm -rf *; echo 2 > edit; echo 1 > bit; chmod +x bit; mkdir z deep emptied; echo 2 > goes; echo 2 > deep/f; echo 2 > emptied/f; echo 2 > z/last",
		);
		const before = world.files();
		const prepared = await engine.rewind.prepare(await engine.rewind.preview({ target, owner }));
		plantAt("last", () => void world.shell(script));
		const outcome = await engine.rewind.perform(prepared, owner).catch((error: unknown) => error);
		unplant();
		if (!isRewindError(outcome)) throw new Error(`${does}: ${String(outcome)}`);
		expect([does, outcome.code]).toEqual([
			does,
			isWhole ? "restore-rolled-back" : "restore-interrupted",
		]);
		expect(outcome.message).toContain("Cannot write z/last");
		const lines = difference(before, world.files());
		expect([does, ...lines]).toEqual([does, ...left.map((each) => expect.stringMatching(each))]);
		expectSame(outsideBefore, outside());
		const journal = world.shell("cat .git/pi-rewind/journal-* || true; rm -f .git/pi-rewind/j*");
		expect([does, journal === ""]).toEqual([does, isWhole]);
		if (does !== others[0]?.does) continue;
		// What was there is in the snapshot that the journal names; what they wrote is captured before it goes.
		const theirs = world.files();
		const undo = await engine.resolve(trustedObjectId(JSON.parse(journal).undo));
		const restored = await engine.restore(undo);
		expectSame(before, world.files());
		await engine.undo(restored);
		expectSame(theirs, world.files());
	}
	expectSame(state, personState(world));
});

/** A world on a small file system of its own. */
async function onTmpfs(
	mountOptions: string,
	body: (world: World, engine: Engine) => Promise<void>,
): Promise<void> {
	const at = fs.mkdtempSync("/tmp/rewind-small-");
	execFileSync("mount", ["-t", "tmpfs", "-o", mountOptions, "tmpfs", at]);
	try {
		const world = createWorld({ at, files: { "a.txt": "1\n" } });
		const engine = await openEngine(world);
		try {
			await body(world, engine);
		} finally {
			await engine[Symbol.asyncDispose]();
		}
	} finally {
		execFileSync("umount", ["-l", at]);
		rmSync(at, { recursive: true });
	}
}

test.runIf(isRoot)(
	"a disk too full for the new content is found before anything changes (B74) [R9]",
	() =>
		onTmpfs("size=64m", async (world, engine) => {
			for (let i = 0; i < 6; i++) writeFileSync(world.path(`f${i}`), Buffer.alloc(1 << 20, `${i}`));
			const target = await engine.capture();
			for (let i = 0; i < 6; i++) writeFileSync(world.path(`f${i}`), "small\n");
			await engine.capture();
			world.shell("head -c 100M /dev/zero > ../fill || true; truncate -s -2500000 ../fill");
			const before = world.files({ inodes: true });
			const outcome = await engine.restore(target).catch((error: unknown) => error);
			expect(isRewindError(outcome) && outcome.code).toBe("no-space");
			expectSame(before, world.files({ inodes: true }));
			world.shell("rm ../fill");
			await engine.restore(target);
			expect(world.read("f5")?.length).toBe(1 << 20);
			expectSound(world);
		}),
);

test.runIf(isRoot)(
	"a file system that runs out of inodes in the middle is rolled back (B74) [R9]",
	() =>
		onTmpfs("size=64m,nr_inodes=2000", async (world, engine) => {
			for (let i = 0; i < 30; i++) world.write(`d/${i}`, "1\n");
			const target = await engine.capture();
			for (let i = 0; i < 30; i++) world.write(`d/${i}`, "2\n");
			world.remove("d/3");
			await engine.capture();
			const prepared = await engine.rewind.prepare(await engine.rewind.preview({ target, owner }));
			// One name at a time until there is no inode left, then a few back.
			mkdirSync(`${world.at}/fill`);
			const names: string[] = [];
			try {
				for (;;) {
					const name = `${world.at}/fill/${names.length}`;
					writeFileSync(name, "");
					names.push(name);
				}
			} catch {
				for (const name of names.slice(-60)) rmSync(name);
			}
			const before = world.files({ inodes: true });
			const outcome = await engine.rewind.perform(prepared, owner).catch((error: unknown) => error);
			if (isRewindError(outcome)) expectSame(before, world.files({ inodes: true }));
			else expect(world.read("d/3")).toBe("1\n");
			rmSync(`${world.at}/fill`, { recursive: true });
			if (isRewindError(outcome)) await engine.restore(target);
			expect([world.read("d/3"), world.read("d/29")]).toEqual(["1\n", "1\n"]);
		}),
);

test.runIf(isRoot)(
	"an immutable file in the middle rolls the restore back and is named (B74) [R9]",
	async () => {
		await using setup = await openWorld({
			files: { "a/1": "1\n", "b/1": "1\n", "c/1": "1\n", z: "1\n" },
		});
		const { world, engine } = setup;
		const target = await engine.capture();
		world.shell("echo 2 > a/1; echo 2 > b/1; rm c/1; echo 2 > z; mkdir n; echo 2 > n/x");
		const before = world.files({ inodes: true });
		world.shell("chattr +i b/1");
		try {
			const outcome = await engine.restore(target).catch((error: unknown) => error);
			if (!isRewindError(outcome)) throw new Error("restored over an immutable file");
			expect(outcome.message).toContain("b/1");
			expectSame(before, world.files({ inodes: true }));
		} finally {
			world.shell("chattr -i b/1");
		}
		await engine.restore(target);
		expect([world.read("b/1"), world.read("n/x")]).toEqual(["1\n", undefined]);
	},
);

test.runIf(isRoot)("an immutable folder is found, and nothing changes [R9]", async () => {
	await using setup = await openWorld({ files: { "a/1": "1\n", "b/1": "1\n" } });
	const { world, engine } = setup;
	const target = await engine.capture();
	world.shell("echo 2 > a/1; echo 2 > b/1; echo 2 > b/new");
	const before = world.files({ inodes: true });
	world.shell("chattr +i b");
	try {
		const outcome = await engine.restore(target).catch((error: unknown) => error);
		expect(isRewindError(outcome)).toBe(true);
		expectSame(before, world.files({ inodes: true }));
	} finally {
		world.shell("chattr -i b");
	}
});

for (const [name, mount] of [
	["a bind mount", ["--bind"]],
	["another file system", ["-t", "tmpfs"]],
] as const)
	test.runIf(isRoot)(
		`a folder of the tree that is ${name} is restored like any other`,
		async () => {
			await using setup = await openWorld();
			const { world, engine } = setup;
			mkdirSync(`${world.at}/source`);
			mkdirSync(world.path("mnt"));
			execFileSync("mount", [
				...mount,
				...(name === "a bind mount" ? [`${world.at}/source`] : ["tmpfs"]),
				world.path("mnt"),
			]);
			try {
				world.shell(
					"echo 1 > mnt/edit; echo 1 > mnt/back; ln -s edit mnt/link; mkdir mnt/deep; echo 1 > mnt/deep/x; echo '#!' > mnt/run; chmod 755 mnt/run",
				);
				const target = await engine.capture();
				const wanted = world.files();
				world.shell(
					"echo 2 > mnt/edit; rm mnt/back mnt/link mnt/run; echo 2 > mnt/new; rm -r mnt/deep",
				);
				await engine.capture();
				const changed = world.files();
				const restored = await engine.restore(target);
				expect(restored.skips).toEqual([]);
				expectSame(wanted, world.files());
				await engine.undo(restored);
				expectSame(changed, world.files());
			} finally {
				execFileSync("umount", [world.path("mnt")]);
			}
		},
	);

test.runIf(isRoot)(
	"a capture that finds no room says so, changes nothing, and the next one works [R12]",
	() =>
		onTmpfs("size=16m", async (world, engine) => {
			const first = await engine.capture();
			writeFileSync(world.path("big"), randomBytes(2 << 20));
			world.shell("head -c 100M /dev/zero > ../fill || true; truncate -s -500000 ../fill");
			const before = world.files({ inodes: true });
			const outcome = await engine.rewind.capture({ owner }).catch((error: unknown) => error);
			expect(isRewindError(outcome) ? outcome.code : outcome).toBe("no-space");
			expectSame(before, world.files({ inodes: true }));
			world.shell("rm ../fill big");
			expect((await engine.capture()).tree).toBe(first.tree);
			expectSound(world);
		}),
);
