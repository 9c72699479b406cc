/** `/rewind` as a person sees it: the timeline, the question, the checklist, the diff, in three sizes, key by key. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import { wrapGit } from "../support/git-wrapper.ts";
import type { TuiPi } from "../support/tui.ts";
import { createWorld, difference } from "../support/world.ts";

const sizes = [
	[120, 45],
	[80, 24],
	[40, 12],
] as const;

/** The row with the mark. */
const marked = (pi: TuiPi): string =>
	pi
		.screen()
		.split("\n")
		.findLast((line) => line.startsWith("→ ")) ?? "";

async function press(pi: TuiPi, keys: readonly string[], row: RegExp): Promise<void> {
	pi.keys(...keys);
	await pi.until(() => row.test(marked(pi)), `${keys.join(" ")}: ${row}`);
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("every step can be seen and left in every size, and then restores what was shown", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000 });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		const before = world.files();
		await pi.prompt(
			"second 日本語 prompt",
			step.bash("rm dir/b.txt; echo 2 > a.txt; mkdir new; seq 1 99 > new/n"),
			"said two",
		);
		world.write("by-hand.txt", "mine\n");
		const after = world.files({ inodes: true, mtimes: true });

		for (const [columns, rows] of sizes) {
			await pi.resize(columns, rows);
			await pi.slash("/rewind", /Rewind {2}to before which prompt/);
			await pi.waitFor(/⬥ second 日本/);
			await press(pi, ["G"], /⬥ first/);
			await press(pi, ["k"], /⬥ second/);
			await press(pi, ["Home"], /● now/);
			await press(pi, ["Down"], /⬥ second/);
			await press(pi, ["End"], /⬥ first/);
			await press(pi, ["PPage"], /● now/);
			await press(pi, ["NPage"], /⬥ first/);
			await press(pi, ["Up"], /⬥ second/);
			await pi.waitFor(/\+1 ~1 −1 +now/);
			await pi.waitFor(/enter choose {2}esc close/);
			if (columns > 40) await pi.waitFor(/main +\+100 −2/);
			await pi.waitFor(/Its run changed a\.txt/);

			pi.keys("Enter");
			await pi.waitFor(/→ Conversation only \(keep current files\)/);
			expect(pi.screen()).toMatch(/Also reverts 1 file/);
			await press(pi, ["j", "j", "j"], /Code only/);
			await pi.waitFor(/1\s*changed,\s*1\s*added,\s*2\s*deleted/);
			pi.keys("Enter");
			await pi.waitFor(/→ Everything/);
			await press(pi, ["j"], /Choose paths/);
			pi.keys("Enter");
			await pi.waitFor(/4 of 4 picked/);
			await press(pi, ["g"], /\[x\] \.\/ +4\/4/);
			pi.keys("n");
			await pi.waitFor(/0 of 4 picked/);
			pi.keys("Enter");
			await pi.waitFor(/Nothing is picked/);
			await press(pi, ["a", "G"], /\[x\] D n/);
			pi.keys("Space");
			await pi.waitFor(/3 of 4 picked/);
			pi.keys("Enter");
			await pi.waitFor(/D by-hand\.txt\s+-1 mine/);
			expect(pi.screen()).toMatch(/Also reverts 1 file changed since the/);
			pi.keys("G");
			await pi.waitFor(/A dir\/b\.txt\s+\+1 b0/);
			// Back to the timeline, where it was; then out.
			pi.keys("Escape");
			await pi.waitFor(/Rewind {2}to before which prompt/);
			await press(pi, [], /⬥ second/);
			pi.keys("Escape");
			await pi.waitGone(/Rewind {2}to before/);
		}
		expect(difference(after, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		await pi.resize(80, 24);
		expect(pi.screen()).toMatch(/said two/);

		await pi.slash("/rewind", /Rewind {2}to before which prompt/);
		await pi.waitFor(/⬥ second/);
		pi.keys("Enter");
		await pi.select(/Restore all \(files \+ conversation\)/);
		await pi.select(/Everything \(1 changed, 1 added, 2 deleted\)/);
		await pi.waitFor(/Go back to the point before your message/);
		pi.keys("Enter");
		await pi.waitFor(/Files restored to the point before/);
		await pi.until(() => difference(before, world.files()).length === 0, "the files of then");
		// The prompt stands in the editor, and was not sent.
		await pi.waitFor(/─\n ?second 日本語 prompt/);
		expect(pi.screen()).not.toMatch(/said two/);

		pi.keys("C-c");
		await pi.slash("/rewind", /undo last rewind/);
		await press(pi, ["g", "j"], /↶ undo last rewind/);
		await pi.waitFor(/before it \(1 changed, 2 added, 1 deleted\)/);
		pi.keys("Enter");
		await pi.waitFor(/Go back to before the last rewind/);
		pi.keys("Enter");
		await pi.waitFor(/Last file rewind undone/);
		expect([world.read("a.txt"), world.read("by-hand.txt"), world.read("dir/b.txt")]).toEqual([
			"2\n",
			"mine\n",
			undefined,
		]);
		await pi.stop();
	});

	test("what takes long says so, and can be cancelled until the first write", async () => {
		await using world = createWorld();
		// A git that takes its time to look at the files while `slow` is there.
		const slow = join(world.at, "slow");
		const PATH = wrapGit(world.at, `[ -e '${slow}' ] && case "$*" in *status*) sleep 600;; esac`);
		const env = { ...world.env, PATH };
		const pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000, env });
		const takeTime = (): void => {
			writeFileSync(slow, "");
			// A folder that looks changed is for git to look into.
			world.shell("touch .");
		};
		const start = world.files();
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		const before = world.files({ inodes: true, mtimes: true });
		const isSame = (): void =>
			expect(difference(before, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		await pi.slash("/rewind", /Rewind {2}to before which prompt/);
		await pi.waitFor(/⬥ first/);
		await pi.calm();
		takeTime();
		pi.keys("Enter");
		await pi.waitFor(/Looking at the files…/);
		pi.keys("Escape");
		await pi.waitFor(/Rewind {2}to before which prompt/);
		rmSync(slow);
		isSame();

		// All was answered: the files are looked at once more, right before they change.
		pi.keys("Enter");
		await pi.waitFor(/→ Conversation only/);
		await press(pi, ["Down", "Down", "Down"], /Code only/);
		pi.keys("Enter");
		await pi.waitFor(/enter go back {2}esc cancel/);
		await pi.calm();
		takeTime();
		pi.keys("Enter");
		await pi.waitFor(/Restoring files…/);
		pi.keys("Escape");
		await pi.waitFor(/Cancelled: no files were changed/);
		rmSync(slow);
		isSame();
		expect(pi.screen()).toMatch(/said one/);

		await pi.slash("/review", /Changes since “first”/);
		pi.keys("r");
		await pi.waitFor(/Revert a\.txt\?/);
		takeTime();
		await pi.select(/ Revert \(\d/);
		await pi.waitFor(/Reverting a\.txt…/);
		pi.keys("Escape");
		await pi.waitFor(/Changes since “first”[^]*Cancelled: no files were changed/);
		rmSync(slow);
		isSame();
		pi.keys("r");
		await pi.waitFor(/Revert a\.txt\?/);
		await pi.select(/ Revert \(\d/);
		await pi.waitFor(/iles restored to/);
		expect(difference(start, world.files())).toEqual([]);
		await pi.stop();
	});

	test("a summary that a model takes too long for can be cancelled: the terminal is one's own again", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000 });
		await pi.prompt("first", "said one");
		await pi.prompt("second", "said two");
		const asked = pi.nextSummary(step.hang());
		await pi.slash("/rewind", /Rewind {2}to before which prompt/);
		await pi.waitFor(/⬥ second/);
		pi.keys("Enter");
		await pi.waitFor(/with a summary of what is left behind/);
		await press(pi, ["j"], /with a summary/);
		pi.keys("Enter");
		await pi.waitFor(/Summarizing what is left behind…/);
		await pi.until(asked, "the summary to be asked for");
		pi.keys("Escape");
		await pi.waitGone(/Summarizing/);
		pi.type("still here");
		await pi.waitFor(/─\n ?still here/);
		expect(pi.screen()).toMatch(/said two/);
		await pi.kill();
	});

	test("completes its arguments in the editor", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24, timeoutMs: 60_000 });
		await pi.prompt("the only prompt", "said one");
		pi.type("/rewind ");
		await pi.waitFor(/undo +the files as they were/);
		await pi.waitFor(/1 +the only prompt/);
		pi.type("1 --f");
		await pi.waitFor(/--files +files only/);
		await pi.stop();
	});
});
