/** What a person sees and presses, on the real Pi in a terminal. */
import { describe, expect, test } from "vitest";
import { piVersions, step } from "../support/pi.ts";
import type { TuiPi } from "../support/tui.ts";
import { createWorld, difference } from "../support/world.ts";

/** Opens `/tree` and chooses an entry there; resolves when our question is on the screen. */
async function treeTo(pi: TuiPi, row: RegExp): Promise<void> {
	await pi.slash("/tree", /Session Tree/);
	await pi.select(row);
	await pi.waitFor(/Keep current files/);
}

describe.each(piVersions)("on Pi %s", (version) => {
	test("/tree restores and undoes, says so in the transcript, and Escape and Enter keep the files", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24 });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		const one = world.files();
		await pi.waitFor(/◆ 3 points/);
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "said two");
		const two = world.files({ inodes: true, mtimes: true });
		const kept = (): string[] => difference(two, world.files({ inodes: true, mtimes: true }));

		await treeTo(pi, /assistant: said one/);
		expect(pi.screen()).toMatch(/Go to the answer “said one”/);
		expect(pi.screen()).toMatch(/→ Keep current files/);
		expect(pi.screen()).toMatch(/Restore files to that point \(1 changed, 1 added\)/);
		pi.keys("Escape");
		await pi.waitGone(/Keep current files/);
		await pi.waitFor(/said two/);
		expect(kept()).toEqual([]);
		await pi.calm();

		await treeTo(pi, /assistant: said one/);
		pi.keys("Enter");
		await pi.waitGone(/said two/);
		expect(kept()).toEqual([]);
		await pi.calm();

		await treeTo(pi, /assistant: said two/);
		await pi.select(/Cancel navigation/);
		await pi.waitGone(/Keep current files/);
		expect(kept()).toEqual([]);

		// Where we are already is no navigation: go there by way of the other one.
		await treeTo(pi, /assistant: said two/);
		pi.keys("Enter");
		await pi.waitFor(/said two/);
		await pi.calm();
		await treeTo(pi, /assistant: said one/);
		await pi.select(/Restore files to that point/);
		await pi.waitGone(/said two/);
		// After Pi drew the transcript anew, too.
		await pi.waitFor(/◆ Files restored to the answer “said one” \(1 changed, 1 added\)/);
		expect(difference(one, world.files())).toEqual([]);
		await pi.calm();

		await treeTo(pi, /assistant: said two/);
		await pi.select(/Undo last file rewind \(1 changed, 1 deleted\)/);
		await pi.waitFor(/said two/);
		await pi.waitFor(/Last file rewind undone/);
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["2\n", undefined]);
		await pi.stop();
	});

	test("/fork restores all, and Escape at its question leaves all as it was", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24 });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		const one = world.files();
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "said two");
		const two = world.files({ inodes: true, mtimes: true });
		await pi.slash("/fork", /second/);
		await pi.calm();
		await pi.select(/second/);
		await pi.waitFor(/→ Conversation only \(keep current files\)/);
		pi.keys("Escape");
		await pi.waitGone(/Conversation only/);
		await pi.calm();
		expect(pi.screen()).toMatch(/said two/);
		expect(difference(two, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		await pi.slash("/fork", /second/);
		await pi.calm();
		await pi.select(/second/);
		await pi.select(/Restore all \(files \+ conversation\)/);
		await pi.waitGone(/said two/);
		await pi.until(() => difference(one, world.files()).length === 0, "the files of the answer");
		await pi.waitFor(/said one/);
		await pi.stop();
	});

	test("on a narrow screen the question can be read and answered", async () => {
		await using world = createWorld();
		const pi = await world.tui({ version, columns: 80, rows: 24 });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "said one");
		await pi.prompt("second", step.bash("rm dir/b.txt; echo 2 > a.txt"), "said two");
		await treeTo(pi, /assistant: said one/);
		// Pi's own session tree has no room for its rows on such a screen; our question must have.
		await pi.resize(40, 12);
		for (const words of [
			/→ Keep current files/,
			/Restore files to that point \(1/,
			/Cancel navigation/,
		])
			expect(pi.screen()).toMatch(words);
		await pi.select(/Restore files to that/);
		// Files come back one after another; the line stands there when all of them are read back.
		await pi.waitFor(/Files restored/);
		expect([world.read("a.txt"), world.read("dir/b.txt")]).toEqual(["a1\n", "b0\n"]);
		await pi.stop();
	});
});
