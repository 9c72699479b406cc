/** Our screens without a terminal: what they show, in which size, and what each key does. */
import { initTheme } from "@earendil-works/pi-coding-agent";
import { beforeAll, describe, expect, test } from "vitest";
import type { FileChange, FilePatch } from "../../src/core/changes.ts";
import { bytePathFromText, trustedObjectId } from "../../src/core/ids.ts";
import { span } from "../../src/core/spans.ts";
import { createChecklist } from "../../src/screens/checklist.ts";
import { createDiff } from "../../src/screens/diff.ts";
import { createQuestion } from "../../src/screens/question.ts";
import { createList } from "../../src/screens/list.ts";
import { openScreen, type OpenScreen, type ScreenSize } from "../support/screen.ts";

const sizes: ScreenSize[] = [
	{ columns: 120, rows: 45 },
	{ columns: 80, rows: 24 },
	{ columns: 40, rows: 12 },
];
const id = trustedObjectId("a".repeat(40));
const entry = { mode: 0o100644, id };
const changeOf = (path: string): FileChange => ({
	path: bytePathFromText(path),
	from: entry,
	to: { mode: 0o100644, id: trustedObjectId("b".repeat(40)) },
});

const marked = (screen: OpenScreen): string =>
	screen
		.lines()
		.find((line) => line.startsWith("→ "))
		?.slice(2) ?? "(none)";

describe("a list", () => {
	function open(count: number, size?: ScreenSize, bindings?: Parameters<typeof openScreen>[2]) {
		const did: string[] = [];
		const asked = new Set<number>();
		const screen = openScreen(
			(env) =>
				createList(env, {
					title: () => [span("Rows")],
					count: () => count,
					row(index) {
						asked.add(index);
						return { left: [span(`row ${index}`)] };
					},
					detail: (index) => [span(`detail ${index}`)],
					hints: () => [{ key: "enter", does: "choose" }],
					onCommand: (command, index) =>
						did.push(
							command.kind === "char" ? `${command.char} ${index}` : `${command.kind} ${index}`,
						),
				}),
			size,
			bindings,
		);
		return { screen, did, asked };
	}

	test.each(sizes)("moves by every key on $columns × $rows", (size) => {
		const { screen } = open(100, size);
		const height = screen.lines().filter((line) => /^(→| ) row/.test(line)).length;
		expect(marked(screen)).toBe("row 0");
		for (const [key, at] of [
			["down", 1],
			["j", 2],
			["up", 1],
			["k", 0],
			["k", 0],
			["end", 99],
			["j", 99],
			["home", 0],
			["G", 99],
			["g", 0],
			["pageDown", height - 1],
			["pageDown", 2 * (height - 1)],
			["pageUp", height - 1],
		] as const) {
			screen.press(key);
			expect(marked(screen), key).toBe(`row ${at}`);
			expect(screen.lines().join("\n")).toContain(`detail ${at}`);
		}
		screen.wheel(2);
		expect(marked(screen)).toBe(`row ${height + 1}`);
	});

	test("the person's own keys come first, and other keys are handed on", () => {
		const { screen, did } = open(9, sizes[1], { "tui.select.down": "x", "tui.select.cancel": "q" });
		screen.press("x", "x", "enter", "q", " ", "r");
		expect(marked(screen)).toBe("row 2");
		expect(did).toEqual(["confirm 2", "cancel 2", "  2", "r 2"]);
	});

	test("of a hundred thousand rows only those that are seen are worked out", () => {
		const { screen, asked } = open(100_000);
		screen.press("G", "g", "pageDown");
		expect(asked.size).toBeLessThan(120);
	});

	test("on a smaller screen the marked row stays in view; a list can be empty", () => {
		const { screen } = open(100);
		screen.press("pageDown");
		const row = marked(screen);
		screen.resize(40, 12);
		expect(marked(screen)).toBe(row);
		expect(open(0).screen.lines().join("")).toContain("Rows");
	});

	test("wide, combining and control characters leave every line as wide as the screen", () => {
		const names = ["日本語".repeat(30), "é".repeat(60), "👩‍👩‍👧".repeat(20)];
		const screen = openScreen(
			(env) =>
				createList(env, {
					title: () => [span(names.join(" "))],
					count: () => names.length,
					row: (index) => ({ left: [span(names[index] ?? "")], right: [[span("+1 −2")]] }),
					detail: (index) => [span(names[index] ?? "")],
					hints: () => [],
					onCommand() {},
				}),
			sizes[2],
		);
		// openScreen() measures every line that it draws.
		screen.press("down", "down");
		expect(screen.lines().join("\n")).toContain("+1 −2");
	});
});

describe("the checklist", () => {
	function open(paths: readonly string[], size?: ScreenSize) {
		let answer: readonly FileChange[] | "left" | "open" = "open";
		const screen = openScreen(
			(env) =>
				createChecklist(env, {
					title: "Which paths?",
					changes: paths.map(changeOf),
					does: "restore",
					words: { M: "changes", A: "comes", D: "goes", R: "is renamed" },
					close: (picked) => (answer = picked ?? "left"),
				}),
			size,
		);
		const names = () => (typeof answer === "string" ? answer : answer.map(({ path }) => path));
		return { screen, names };
	}

	test.each(sizes)("shows what is picked, and gives it back, on $columns × $rows", (size) => {
		const { screen, names } = open(["b/x", "b/y", "c"], size);
		const text = () => screen.lines().join("\n");
		expect(text()).toMatch(/3 of 3 picked/);
		expect(text()).toMatch(/→ {3}\[x\] M c\n/);
		screen.press("down");
		expect(text()).toMatch(/→ \[x\] b\/ .*2\/2/);
		screen.press("down", "space");
		expect(text()).toMatch(/\[-\] b\/ .*1\/2/);
		expect(text()).toMatch(/2 of 3 picked/);
		screen.press("enter");
		expect(names()).toEqual(["c", "b/y"]);
	});

	test("a and n pick all and none; with none picked enter says so and stays", () => {
		const { screen, names } = open(["b/x", "c"]);
		screen.press("n", "enter");
		expect(names()).toBe("open");
		expect(screen.lines().join("\n")).toMatch(/Nothing is picked/);
		screen.press("a", "enter");
		expect(names()).toEqual(["c", "b/x"]);
	});

	test("Escape leaves it", () => {
		const { screen, names } = open(["b/x"]);
		screen.press("space", "escape");
		expect(names()).toBe("left");
	});

	test("names that no terminal should see are shown escaped", () => {
		const { screen } = open(["evil\x1b[31m\n/\u202ename"], sizes[2]);
		expect(screen.lines().join("\n")).toContain("evil\\x1b[31m\\n/");
	});

	test("20,000 paths can be opened, paged and turned over", () => {
		const { screen, names } = open(
			Array.from({ length: 20_000 }, (_, i) => `d${i % 200}/f${i}`),
			sizes[1],
		);
		screen.press("G", "space", "g", "space", "enter");
		expect(names()).toHaveLength(20_000 - 1 - 100);
	});
});

describe("the diff", () => {
	beforeAll(() => initTheme("dark"));

	const hunk = (from: number, count: number): FilePatch => {
		const lines = Array.from({ length: count }, (_, i) => `+line ${from + i}`).join("\n");
		return {
			kind: "text",
			hunks: Buffer.from(`@@ -0,0 +${from},${count} @@\n${lines}\n`),
		};
	};

	async function open(patches: readonly FilePatch[], size?: ScreenSize) {
		const read: string[] = [];
		const did: string[] = [];
		const changes = patches.map((_, i) => changeOf(`file${i}`));
		const screen = openScreen(
			(env) =>
				createDiff(env, {
					title: [span("Restore?")],
					notes: [[span("HEAD moved.")]],
					changes,
					async patch(change) {
						read.push(change.path);
						return patches[changes.indexOf(change)] ?? hunk(1, 1);
					},
					hints: () => [],
					onCommand: (command, change) =>
						did.push(`${command.kind === "char" ? command.char : command.kind} ${change?.path}`),
				}),
			size,
		);
		/** What comes into view is read, and drawn when it is there. */
		const text = async (): Promise<string> => {
			for (let i = 0; i < 20; i++) {
				screen.lines();
				await Promise.resolve();
			}
			return screen.lines().join("\n");
		};
		await text();
		return { screen, read, did, text };
	}

	test.each(sizes)("scrolls through notes and files on $columns × $rows", async (size) => {
		const { screen, text } = await open([hunk(1, 60), hunk(61, 60)], size);
		expect(await text()).toMatch(/HEAD moved\.[\s\S]*M file0\n\+ ?1 line 1\n/);
		screen.press("j", "j", "j");
		expect(await text()).not.toContain("HEAD moved");
		screen.press("G");
		expect(await text()).toMatch(/\+120 line 120/);
		screen.press("down", "pageDown");
		expect(await text()).toMatch(/\+120 line 120/);
		screen.press("pageUp");
		expect(await text()).not.toMatch(/line 120/);
		screen.press("g");
		expect(await text()).toContain("HEAD moved");
		screen.wheel(3);
		expect(await text()).not.toContain("HEAD moved");
		screen.press("home");
		expect(await text()).toContain("HEAD moved");
	});

	test("reads only files that come into view", async () => {
		const { read, screen, text } = await open(Array.from({ length: 500 }, () => hunk(1, 40)));
		expect(read.length).toBeLessThanOrEqual(4);
		screen.press("G");
		await text();
		expect(read).toContain("file499");
		expect(read.length).toBeLessThan(20);
	});

	test("names binary and too large files, and files whose content is the same", async () => {
		const { text } = await open([
			{ kind: "binary", fromSize: 12, toSize: 2048 },
			{ kind: "oversized", fromSize: 3 << 20, toSize: undefined },
			{ kind: "text", hunks: Buffer.alloc(0) },
		]);
		const shown = await text();
		expect(shown).toMatch(/M file0\nbinary file, 12 bytes → 2\.0 KiB/);
		expect(shown).toMatch(/M file1\ntoo large to show, 3\.0 MiB/);
		expect(shown).toMatch(/M file2\nsame content/);
	});

	test("hands on what it does not know, with the file on top", async () => {
		const { screen, did, text } = await open([hunk(1, 60)]);
		screen.press("enter", "j", "j", "j", "r", "escape");
		await text();
		expect(did).toEqual(["confirm undefined", "r file0", "cancel file0"]);
	});

	test("content cannot drive the terminal", async () => {
		const { text } = await open([
			{ kind: "text", hunks: Buffer.from("@@ -0,0 +1 @@\n+a\x1b]0;x\x07\tb\r\n") },
		]);
		expect(await text()).toContain("+1 a\\x1b]0;x\\x07   b\\x0d");
	});
});

describe("a question", () => {
	function open(size: ScreenSize) {
		let answer: string | undefined = "open";
		const screen = openScreen(
			(env) =>
				createQuestion(env, {
					title:
						"Rewind to the point before your message “mend the form”?\nAlso reverts 1 file: b.",
					answers: [
						{ label: "Conversation only", value: "keep" },
						{ label: "Restore all (files + conversation) (12 changed, 3 deleted)", value: "all" },
						{ label: "Cancel", value: "cancel" },
					],
					close: (value) => (answer = value),
				}),
			size,
		);
		return { screen, answer: () => answer };
	}

	test.each(sizes)("can be read and answered on $columns × $rows", (size) => {
		const { screen, answer } = open(size);
		const text = () => screen.lines().join(" ").replaceAll(/\s+/g, " ");
		expect(marked(screen)).toBe("Conversation only");
		expect(text()).toContain("Also reverts 1 file: b.");
		screen.press("down");
		expect(text()).toMatch(/12 ?changed, ?3 ?deleted\)/);
		screen.press("enter");
		expect(answer()).toBe("all");
		screen.press("escape");
		expect(answer()).toBeUndefined();
	});
});
