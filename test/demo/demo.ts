/**
 * `npm run demo`: a whole conversation with the real Pi and the extension, told step by step and checked on disk.
 *
 * Needs no account and no network: the model is scripted. Everything happens in a throwaway repository. Each line that
 * starts with ✓ was compared with the files, the session or the git dir; the first ✗ makes the exit code 1.
 */
import type { Step } from "../support/pi.ts";
import { newestPi, step } from "../support/pi.ts";
import type { DialogAnswer, RpcPi } from "../support/rpc.ts";
import type { Picture, World } from "../support/world.ts";
import { createWorld, difference } from "../support/world.ts";
import { teller } from "./teller.ts";

const tell = teller(process.stdout);

/** What the person would have to lose. */
interface Story {
	readonly world: World;
	/** The files after the first, second, third prompt; 0 is before any. */
	readonly after: Picture[];
	pi: RpcPi;
}

async function play(): Promise<void> {
	tell.title(`Rewind on Pi ${newestPi}, with a scripted model`);
	const world = createWorld({
		files: {
			"README.md": "# Tea\n\nA program that makes tea.\n",
			"src/kettle.js": "export const degrees = 20;\n",
			"src/old-pot.js": "// Grandmother's pot.\n",
			".gitignore": "secret.txt\n",
		},
	});
	try {
		world.write("secret.txt", "ignored by git, so never touched\n");
		const git = { state: world.gitState(), index: world.index() };
		const story: Story = { world, after: [world.files()], pi: await world.rpc() };
		await workThreePrompts(story);
		await goBackAndUndo(story);
		await forkWithFiles(story);
		await codeOnly(story);
		await resume(story);
		tell.chapter("And git?");
		same("HEAD, branches, config and hooks are untouched", git.state, world.gitState());
		same("the index has the same bytes", git.index, world.index());
		world.git("fsck", "--strict");
		tell.check("git fsck --strict finds nothing");
	} finally {
		await world.end();
	}
}

async function workThreePrompts({ world, after, pi }: Story): Promise<void> {
	tell.chapter("Three prompts change files");
	const prompt = async (text: string, ...steps: readonly Step[]): Promise<void> => {
		tell.person(text);
		const before = world.files();
		await pi.prompt(text, ...steps);
		tell.changes(difference(before, world.files()));
		after.push(world.files());
	};
	await prompt(
		"Heat the water",
		step.edit("src/kettle.js", "20", "100"),
		step.write("src/tea.js", 'import { degrees } from "./kettle.js";\n'),
		"The kettle is at 100 degrees.",
	);
	await prompt(
		"Tidy up, and write a guide",
		step.bash("rm src/old-pot.js && mkdir docs && echo 'Boil, pour, wait.' > docs/guide.md"),
		step.write("src/tea.js", "export const ready = true;\n"),
		"Tidied.",
	);
	await prompt(
		"Now simplify everything",
		step.bash("rm -r src && printf '#!/bin/sh\\n' > tea && chmod +x tea"),
		step.edit("README.md", "makes tea", "made tea"),
		"Everything is simple now.",
	);
}

async function goBackAndUndo(story: Story): Promise<void> {
	const { world, pi, after } = story;
	tell.chapter("That was too simple: /tree to the answer “Tidied.”, restoring files");
	await pi.tree(await pi.answer(1), { choose: pick(/^Restore files to that point/) });
	same("every file is as it was after the second prompt", after[2], world.files());
	tell.check("so is the conversation", (await pi.conversation()).at(-1) === "assistant: Tidied.");

	tell.chapter("Or was it? /tree to the last answer, undoing the restore");
	await pi.tree(await pi.answer(2), { choose: pick(/^Undo last file rewind/) });
	same("every file is as it was before the restore", after[3], world.files());

	tell.chapter("/tree to the first answer, keeping the files");
	await pi.tree(await pi.answer(0), { choose: pick(/^Keep current files/) });
	same("no file changed", after[3], world.files());
}

async function forkWithFiles({ world, pi, after }: Story): Promise<void> {
	tell.chapter("/fork before the second prompt, files and conversation");
	const parent = await pi.sessionFile();
	await pi.fork(await pi.user(1), { choose: pick(/^Restore all/) });
	same("every file is as it was before the second prompt", after[1], world.files());
	tell.check("it is another session", (await pi.sessionFile()) !== parent);
	const said = await pi.conversation();
	tell.check(
		"its conversation ends before that prompt",
		!said.includes("user: Tidy up, and write a guide"),
	);
}

async function codeOnly({ world, pi }: Story): Promise<void> {
	tell.chapter("In the fork: a prompt, a change by hand, and /fork with code only");
	const before = world.files();
	tell.person("Add milk");
	await pi.prompt("Add milk", step.write("src/milk.js", "export {};\n"), "Milk is in.");
	world.write("src/sugar.js", "// by hand\n");
	tell.changes(difference(before, world.files()));
	const conversation = await pi.conversation();
	const moved = await pi.fork(await pi.user(-1), { choose: pick(/^Code only/) });
	same("every file is as it was before that prompt", before, world.files());
	tell.check("the conversation stays, in the same session", moved.cancelled);
	tell.check("with every message", String(await pi.conversation()) === String(conversation));
}

async function resume(story: Story): Promise<void> {
	const { world, after } = story;
	tell.chapter("Pi quits, and another process resumes the fork");
	const session = await story.pi.sessionFile();
	const errors = story.pi.errors.length;
	const { code } = await story.pi.stop();
	tell.check("Pi ended in order", code === 0);
	const pi = (story.pi = await world.rpc({ args: ["--session", session] }));
	tell.say("The first answer was given in the parent session, by a process that is gone:");
	world.remove("src/kettle.js");
	await pi.tree(await pi.answer(0), { choose: pick(/^Restore files to that point/) });
	same("every file is as it was after the first prompt", after[1], world.files());
	tell.check("no exception came out of the extension", errors + pi.errors.length === 0);
	await pi.stop();
}

/** Chooses an option, and shows the dialog as the person would see it. */
const pick =
	(option: RegExp): DialogAnswer =>
	(dialog) => {
		tell.dialog(dialog.title, dialog.options, option);
		return option;
	};

/** Checks that two pictures are equal, and shows where they are not. */
function same(claim: string, expected: Picture | undefined, actual: Picture): void {
	const lines = difference(expected ?? new Map(), actual);
	tell.check(claim, lines.length === 0);
	tell.changes(lines);
}

const started = Date.now();
try {
	await play();
} catch (error) {
	tell.check(
		`the demo ran to its end: ${error instanceof Error ? error.message : String(error)}`,
		false,
	);
}
tell.end((Date.now() - started) / 1000);
process.exitCode = tell.failures() === 0 ? 0 : 1;
