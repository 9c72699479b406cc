/** `/review` without a terminal, and where it refuses: nothing changes but what was confirmed. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, rewindExtension, step, until } from "../support/pi.ts";
import { runPi } from "../support/print.ts";
import { type DialogAnswer, escape, type RpcPi } from "../support/rpc.ts";
import { createWorld, difference, type World } from "../support/world.ts";

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
	Array.from({ length: 40 }, (_, i) => `${changed[i] ?? `line ${i}`}\n`).join("");
const files = { "gone.txt": "g\n", "many.txt": lines(), "old.txt": "o\np\nq\n", "z.txt": "z0\n" };
const change = step.bash(
	"sed -i 's/line 3$/LINE 3/; s/line 30/LINE 30/' many.txt; mv old.txt name.txt; rm gone.txt; echo z1 > z.txt",
);
/** Pi's own example of a plan mode, of each version. */
const modules = join(import.meta.dirname, "../../node_modules");
const example = "examples/extensions/plan-mode/index.ts";
const planMode = {
	"0.84.0": join(modules, "pi-0.84.0", example),
	"1.6.0": join(modules, "@earendil-works/pi-coding-agent", example),
};
const inodes = (world: World) => world.files({ inodes: true, mtimes: true });
const said = (pi: RpcPi): string | undefined => pi.notifications.at(-1)?.message;

/** Runs the command; each answer must be asked for, and nothing else. */
async function review(pi: RpcPi, ...answers: DialogAnswer[]): Promise<void> {
	const before = pi.dialogs.length;
	pi.choose(...answers);
	await pi.prompt("/review");
	expect(pi.dialogs).toHaveLength(before + answers.length);
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("over RPC dialogs give the same choices, and leaving any of them changes nothing", async () => {
		await using world = createWorld({ files });
		const pi = await world.rpc({ version });
		await pi.prompt("tidy up", change, "done");
		const before = inodes(world);
		const kept = (): string[] => difference(before, inodes(world));
		const [list, file, hunks] = [/^M many\.txt/, /^Choose hunks/, /hunk 2 of 2/];
		const ways: DialogAnswer[][] = [
			[escape],
			["Close"],
			[list, "Back", escape],
			[list, "Revert this file", escape, escape],
			[list, file, escape, escape, escape],
			[list, file, hunks, /^Revert the picked \(1\)$/, /^Keep/, escape],
			["Pick files to revert", escape, escape],
			["Pick files to revert", "Pick all", "Pick none", "Back", escape],
			["Pick files to revert", "Pick all", /^Revert the picked \(4\)$/, /^Keep/, escape],
			["Revert everything", escape, escape],
		];
		for (const steps of ways) await review(pi, ...steps);
		expect(kept()).toEqual([]);
		expect(pi.dialogs[0]?.title).toBe("Changes since “tidy up” · 4 files +3 −4");
		expect(pi.dialogs[0]?.options).toEqual([
			"D gone.txt · +0 −1",
			"M many.txt · +2 −2",
			"R old.txt → name.txt · +0 −0",
			"M z.txt · +1 −1",
			"Pick files to revert",
			"Revert everything",
			"Close",
		]);
		const diff = pi.dialogs.find(({ title }) => title.startsWith("many.txt"));
		expect(diff?.title).toMatch(/\n- 4 line 3\n\+ 4 LINE 3\n/);
		expect(await pi.custom("rewind-op")).toEqual([]);

		const revert = /^Revert \(/;
		await review(pi, list, file, hunks, /^Revert the picked/, revert, escape);
		expect(world.read("many.txt")).toBe(lines({ 3: "LINE 3" }));
		await review(
			pi,
			"Pick files to revert",
			/old\.txt/,
			/gone\.txt/,
			/^Revert the picked \(2\)$/,
			revert,
			escape,
		);
		expect([world.read("old.txt"), world.read("name.txt"), world.read("gone.txt")]).toEqual([
			"o\np\nq\n",
			undefined,
			"g\n",
		]);
		await review(pi, "Revert everything", revert);
		expect([world.read("many.txt"), world.read("z.txt")]).toEqual([lines(), "z0\n"]);
		await review(pi);
		expect(said(pi)).toBe("Nothing differs from the files before “tidy up”");
		// Each of the three is one restore with one undo.
		expect(await pi.custom("rewind-op")).toHaveLength(3);
		expect([pi.errors, pi.stderr()]).toEqual([[], ""]);
	});

	test("a file that is edited while the question stands refuses all of it", async () => {
		await using world = createWorld({ files });
		const pi = await world.rpc({ version });
		await pi.prompt("tidy up", change, "done");
		let before = inodes(world);
		await review(
			pi,
			"Revert everything",
			() => {
				world.write("z.txt", "mine\n");
				before = inodes(world);
				return /^Revert \(/;
			},
			escape,
		);
		expect(difference(before, inodes(world))).toEqual([]);
		expect(pi.notifications).toContainEqual({
			type: "error",
			message: expect.stringMatching(/^z\.txt changed in the meantime · No files were changed/),
		});
		// What was edited by hand is named when it is looked at again.
		expect(pi.dialogs.at(-1)?.options).toContain("M z.txt · +1 −1 · changed since the last answer");
	});

	test("print and json modes list, and prompts that changed nothing hide nothing", async () => {
		await using world = createWorld({ files });
		const where = { cwd: world.root, env: world.env, version };
		await runPi({ ...where, mode: "print", prompt: "tidy up", steps: [change, "done"] });
		await runPi({
			...where,
			mode: "print",
			prompt: "what did you do?",
			steps: ["things"],
			args: ["-c"],
		});
		const before = inodes(world);
		const list = await runPi({
			...where,
			mode: "print",
			prompt: "/review",
			steps: [],
			args: ["-c"],
		});
		expect(list.stdout).toContain(
			[
				"Changes since “tidy up” · 4 files +3 −4",
				"D gone.txt · +0 −1",
				"M many.txt · +2 −2",
				"R old.txt → name.txt · +0 −0",
				"M z.txt · +1 −1\n",
			].join("\n"),
		);
		const json = await runPi({
			...where,
			mode: "print",
			prompt: "/review --json",
			steps: [],
			args: ["-c"],
		});
		const printed: unknown = JSON.parse(json.stdout.split("\n")[0] ?? "");
		expect(printed).toMatchObject({
			text: "tidy up",
			files: [
				{ mark: "D", path: "gone.txt", added: 0, removed: 1, committed: false },
				{ mark: "M", path: "many.txt" },
				{ mark: "R", path: "name.txt", renamedFrom: "old.txt" },
				{ mark: "M", path: "z.txt" },
			],
		});
		expect([list.code, list.stderr, json.stderr]).toEqual([0, "", ""]);
		// In json mode stdout is for Pi's records, and what we print goes beside it.
		for (const [command, said] of [
			["/review", /^Changes since “tidy up” · 4 files \+3 −4\nD gone\.txt · \+0 −1\n/],
			["/review --json", /^\{"prompt":.*"text":"tidy up"/],
		] as const) {
			const run = await runPi({ ...where, mode: "json", prompt: command, steps: [], args: ["-c"] });
			expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(said)]);
			const lines = run.stdout.split("\n").filter(Boolean);
			expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => "object"));
			expect(run.stdout).not.toContain('tidy up","point');
			if (command === "/review --json") expect(JSON.parse(run.stderr)).toEqual(printed);
		}
		expect(difference(before, inodes(world))).toEqual([]);
	});

	test("it says what is committed already, and reverts the files and not the commit", async () => {
		await using world = createWorld({ files });
		const pi = await world.rpc({ version });
		await pi.prompt("tidy up", change, step.bash("git add -A && git commit -qm tidy"), "done");
		const head = world.git("rev-parse", "HEAD");
		await review(pi, /^D gone/, "Revert this file", /^Revert \(/, escape);
		expect(pi.dialogs[0]?.title).toMatch(
			/\nThese changes are committed already; a revert changes files, the commits stay\.$/,
		);
		expect(pi.dialogs[0]?.options[0]).toBe("D gone.txt · +0 −1 · committed");
		expect(pi.dialogs[2]?.title).toMatch(/HEAD moved since that point \(1 commit\)/);
		expect([world.read("gone.txt"), world.git("rev-parse", "HEAD")]).toEqual(["g\n", head]);
	});

	test("it refuses in a running turn, in plan mode and in a merge, with the reason", async () => {
		await using world = createWorld({ files });
		const pi = await world.rpc({ version, extensions: [rewindExtension, planMode[version]] });
		await pi.prompt("tidy up", change, "done");
		const before = inodes(world);
		const refused = async (reason: RegExp): Promise<void> => {
			await review(pi);
			expect(said(pi)).toMatch(reason);
		};
		await pi.promptUntil(
			"go on",
			[step.bash("sleep 60")],
			({ type }) => type === "tool_execution_start",
		);
		await refused(
			/^\/review: an agent is running: finish or abort it first\. Nothing was changed\.$/,
		);
		await pi.abort();
		await pi.prompt("/plan");
		await refused(/^\/review: plan mode is on and files are only read/);
		// To go back is the person's own doing, and not the agent's.
		await pi.prompt("/rewind 2 --files --dry-run");
		expect(said(pi)).toMatch(/before your message “tidy up”[^]*\nNothing was changed\.$/);
		await pi.prompt("/plan");
		world.shell("git rev-parse HEAD > .git/MERGE_HEAD");
		await refused(/^\/review: A merge is in progress · Finish or abort the merge first/);
		world.shell("rm .git/MERGE_HEAD");
		await review(pi, escape);
		expect(pi.dialogs.at(-1)?.title).toMatch(/^Changes since “tidy up”/);
		await pi.prompt("/review nonsense");
		expect(said(pi)).toBe("/review: unknown: nonsense. Usage: /review [--json]");
		// Last of all: Pi 0.84 does not abort a compaction over RPC.
		const asked = pi.nextSummary(step.hang());
		const compacted = pi.compact().catch(() => undefined);
		await until(asked, "the summary to be asked for", 20_000);
		await refused(/^\/review: .+ Nothing was changed\.$/);
		expect(difference(before, inodes(world))).toEqual([]);
		await pi.kill();
		await compacted;
	});

	test("without points, without git, and with pruned points it says so", async () => {
		await using bare = createWorld({ init: false });
		const without = await bare.rpc({ version });
		await review(without);
		expect(said(without)).toMatch(/^\/review: no points here, .+ Nothing was changed\.$/);
		await without.stop();

		await using world = createWorld({ files });
		const pi = await world.rpc({ version, args: ["--tools", "read,bash"] });
		await review(pi);
		expect(said(pi)).toBe("/review: no prompt on this branch has a point. Nothing was changed.");
		await pi.prompt("first", change, "one");
		world.shell("git update-ref -d refs/pi-rewind/store");
		await review(pi);
		expect(said(pi)).toBe("/review: no prompt on this branch has a point. Nothing was changed.");
		await pi.prompt("second", step.bash("echo n > new.txt"), "two");
		await review(pi, escape);
		// A session that was started without some tools is in no plan mode.
		expect(pi.dialogs.at(-1)?.title).toMatch(/^Changes since “second” · 1 file \+1 −0$/);
	});
});
