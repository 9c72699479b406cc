/**
 * The model behind `npm start`: understands a few plain commands, edits files, says what it did.
 *
 * A pure function of the transcript: the last user message is a list of actions, and the number of assistant messages
 * after it says which one is next. So it needs no memory, and resume, fork and `/tree` cannot confuse it.
 */
import type { Message } from "@earendil-works/pi-ai";
import type { Step, ToolStep } from "./scripted-model.ts";

interface Action {
	/** Said before the tool runs. */
	readonly text: string;
	readonly tool?: ToolStep;
}

const manual = `I am a scripted model for trying rewind: no account, no network, no thinking. I understand

    write FILE TEXT          create or replace a file
    append FILE TEXT         add a line
    edit FILE OLD -> NEW     replace text in a file
    delete FILE              remove a file or a folder
    run COMMAND              any shell command
    help                     this text

one a line, or several with "; " between them. Anything else adds a line to notes.md.
Then go back with /rewind, /tree or /fork, and watch the files follow.`;

/** What the model says next. */
export function friendlyStep(messages: readonly Message[]): Step {
	const asked = messages.findLastIndex(({ role }) => role === "user");
	const prompt = messages[asked];
	const since = messages.slice(asked + 1);
	const actions = actionsOf(prompt === undefined ? "help" : textOf(prompt));
	const next = actions[since.filter(({ role }) => role === "assistant").length];
	if (next === undefined) return conclusion(since);
	return next.tool === undefined ? next.text : { text: next.text, tools: [next.tool] };
}

function conclusion(since: readonly Message[]): string {
	const results = since.filter((message) => message.role === "toolResult");
	const failed = results.filter((result) => result.isError);
	const done = results.length - failed.length;
	const lines = [`Done: ${done} ${done === 1 ? "step" : "steps"}.`];
	for (const result of failed) lines.push(`A step failed: ${textOf(result).trim()}`);
	lines.push("(Scripted model: say `help` for what I understand. Try /rewind to go back.)");
	return lines.join("\n");
}

function actionsOf(prompt: string): Action[] {
	const commands = prompt.split("\n").flatMap(commandsOf);
	return commands.length === 0 ? [{ text: manual }] : commands.map(actionOf);
}

/** "run" takes the rest of its line, for a shell command may hold semicolons itself. */
function commandsOf(line: string): string[] {
	const run = line.search(/(?<=^|; )\s*run\s/i);
	const parts = (run < 0 ? line : line.slice(0, run)).split("; ");
	if (run >= 0) parts.push(line.slice(run));
	return parts.map((part) => part.trim()).filter(Boolean);
}

function actionOf(command: string): Action {
	const [, verb = "", rest = ""] = /^(\S+)\s*([\s\S]*)$/.exec(command) ?? [];
	const [, file = "", text = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? [];
	switch (verb.toLowerCase()) {
		case "help":
		case "hello":
		case "hi":
			return { text: manual };
		case "run":
			if (rest !== "") return bash(`Running \`${rest}\`.`, rest);
			break;
		case "write":
			if (file !== "") return write(file, text);
			break;
		case "append":
			if (file !== "") return append(`Adding a line to ${file}.`, file, text);
			break;
		case "edit":
			if (file !== "") return edit(file, text);
			break;
		case "delete":
			if (file !== "") return bash(`Deleting ${file}.`, `rm -r -- ${quoted(file)}`);
			break;
	}
	return append(
		"I do not understand that, so I write it down in notes.md.",
		"notes.md",
		`- ${command}`,
	);
}

const write = (path: string, text: string): Action => ({
	text: `Writing ${path}.`,
	tool: { name: "write", args: { path, content: `${text}\n` } },
});

/** Without an arrow there is nothing to look for: the text is added. */
function edit(path: string, text: string): Action {
	const [oldText = "", newText] = text.split(/\s*->\s*/, 2);
	if (newText === undefined || oldText === "")
		return append(`Adding a line to ${path}.`, path, text);
	return {
		text: `Replacing “${oldText}” with “${newText}” in ${path}.`,
		tool: { name: "edit", args: { path, edits: [{ oldText, newText }] } },
	};
}

const append = (text: string, path: string, line: string): Action =>
	bash(text, `printf '%s\\n' ${quoted(line)} >> ${quoted(path)}`);

const bash = (text: string, command: string): Action => ({
	text,
	tool: { name: "bash", args: { command } },
});

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function textOf({ content }: Message): string {
	if (typeof content === "string") return content;
	return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
