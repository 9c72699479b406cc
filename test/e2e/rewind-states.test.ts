/** `/rewind` where it cannot do everything, or nothing: clear words, and nothing breaks. */
import { describe, expect, test } from "vitest";
import { piVersions, step, until } from "../support/pi.ts";
import { type DialogAnswer, escape, type RpcPi } from "../support/rpc.ts";
import { createWorld, difference } from "../support/world.ts";

async function rewind(pi: RpcPi, text: string, ...answers: DialogAnswer[]): Promise<void> {
	pi.choose(...answers);
	await pi.prompt(`/rewind${text}`);
}
const lastSaid = (pi: RpcPi): unknown => pi.notifications.at(-1);
const optionsOf = (pi: RpcPi): readonly string[] => pi.dialogs.at(-1)?.options ?? [];

describe.each(piVersions)("on Pi %s", (version) => {
	test("while an agent runs and while a conversation is compacted it says so, and moves nothing", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.promptUntil("second", [step.bash("echo 2 > a.txt"), step.hang()], "turn_end");
		const running = world.files({ inodes: true, mtimes: true });
		for (const args of ["", " 1 --both --yes", " undo --yes"]) {
			await rewind(pi, args);
			expect(lastSaid(pi)).toEqual({
				message: "/rewind: an agent is running: finish or abort it first. Nothing was changed.",
				type: "info",
			});
		}
		expect(difference(running, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		await pi.abort();
		const asked = pi.nextSummary(step.hang());
		const compacted = pi.compact().catch(() => undefined);
		await until(asked, "the summary to be asked for", 20_000);
		await rewind(pi, " 1 --both --yes");
		expect(lastSaid(pi)).toMatchObject({
			message: expect.stringMatching(/Nothing was changed\.$/),
		});
		expect((await pi.conversation()).join("\n")).toContain("user: second");
		await pi.abort();
		await pi.kill();
		await compacted;
		expect([pi.dialogs, pi.errors]).toEqual([[], []]);
	});

	test("an agent that begins while a question stands is not disturbed: nothing moves", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		const start = world.files({ inodes: true, mtimes: true });
		for (const what of [/^Code only/, /^Restore all/]) {
			const begins = async (): Promise<boolean> => {
				await pi.promptUntil("second", [step.hang()], "message_start");
				return true;
			};
			const before = pi.notifications.length;
			await rewind(pi, "", /first/, what, begins);
			const said = "Nothing was changed: an agent is running: finish or abort it first";
			expect(pi.notifications.slice(before).map(({ message }) => message)).toEqual([said]);
			expect(difference(start, world.files({ inodes: true, mtimes: true }))).toEqual([]);
			expect((await pi.conversation()).join("\n")).toContain("user: second");
			await pi.abort();
		}
		expect(pi.errors).toEqual([]);
	});

	test("in a merge and with pruned points files are refused with the reason, the conversation moves", async () => {
		await using world = createWorld();
		const pi = await world.rpc({ version });
		await pi.prompt("first", step.write("a.txt", "a1\n"), "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		world.git("commit", "-qam", "mine");
		world.git("switch", "-qc", "other", "HEAD~1");
		world.write("a.txt", "theirs\n");
		world.git("commit", "-qam", "theirs");
		world.shell("git merge main || true");
		const merging = world.files({ inodes: true, mtimes: true });
		await rewind(pi, "", /second/, escape);
		expect(pi.dialogs.at(-1)?.title).toMatch(
			/Files cannot be restored there: A merge is in progress/,
		);
		const conversationOnly = [
			"Conversation only (keep current files)",
			"Conversation only, with a summary of what is left behind",
			"Cancel",
		];
		expect(optionsOf(pi)).toEqual(conversationOnly);
		await rewind(pi, " 1 --files --yes");
		expect(lastSaid(pi)).toMatchObject({
			message: expect.stringMatching(/A merge is in progress/),
		});
		expect(difference(merging, world.files({ inodes: true, mtimes: true }))).toEqual([]);
		world.git("merge", "--abort");

		world.git("update-ref", "-d", "refs/pi-rewind/store");
		await rewind(pi, "", escape);
		expect(optionsOf(pi)[0]).toMatch(
			/^1 {2}◇ second {2}now {2}no files: its snapshot is not in the repository any more$/,
		);
		await rewind(pi, "", /second/, conversationOnly[0] ?? "");
		expect((await pi.conversation()).at(-1)).toBe("assistant: one");
		expect([pi.errors, world.read("a.txt")]).toEqual([[], "theirs\n"]);
	});

	test("without git, and without points, the conversation alone goes back", async () => {
		await using world = createWorld({ init: false });
		const pi = await world.rpc({ version });
		await rewind(pi, "", escape);
		expect(optionsOf(pi)).toEqual(["Cancel"]);
		await pi.prompt("first", "one");
		await pi.prompt("second", step.write("a.txt", "a2\n"), "two");
		await rewind(pi, "", escape);
		expect(optionsOf(pi)[0]).toMatch(/^1 {2}◇ second {2}now {2}no files: no points here, /);
		await rewind(pi, " undo");
		expect(lastSaid(pi)).toMatchObject({
			message: expect.stringMatching(/^Undo is not possible: no/),
		});
		await rewind(pi, "", /second/, /^Conversation only \(/);
		expect((await pi.conversation()).at(-1)).toBe("assistant: one");
		expect([world.read("a.txt"), pi.errors]).toEqual(["a2\n", []]);
	});
});
