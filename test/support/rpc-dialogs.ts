/**
 * Plays the person before the dialogs that extensions open over RPC.
 *
 * Invariants: each dialog gets at most one answer; an answer that a dialog does not offer fails the test, for a driver
 * that presses Escape instead would hide it.
 */
import * as v from "valibot";
import type { Wire } from "./rpc-wire.ts";

const dialogSchema = v.looseObject({
	id: v.string(),
	method: v.picklist(["select", "confirm", "input", "editor"]),
	title: v.optional(v.string(), ""),
	message: v.optional(v.string()),
	options: v.optional(v.array(v.string()), []),
});
type DialogRequest = v.InferOutput<typeof dialogSchema>;

/** A dialog that an extension opened, in order of appearance. */
export interface Dialog {
	readonly method: DialogRequest["method"];
	readonly title: string;
	readonly message: string | undefined;
	readonly options: readonly string[];
	/** What was sent: an option, a text, yes or no; undefined for Escape, and while it stands open. */
	answer: string | boolean | undefined;
}

/** Answers a dialog as Escape does. */
export const escape = Symbol("escape");
/** Leaves a dialog open: for what happens meanwhile, and for Pi being killed in it. */
export const leaveOpen = Symbol("leaveOpen");

/**
 * A pattern picks the first option that it matches, a string is an option or a typed text, a boolean answers a
 * confirmation. A function is called while the dialog stands and says which of these it is.
 */
export type DialogAnswer =
	| RegExp
	| string
	| boolean
	| typeof escape
	| typeof leaveOpen
	| ((dialog: Dialog) => DialogAnswer | Promise<DialogAnswer>);

export interface Dialogs {
	readonly dialogs: readonly Dialog[];
	/** Sets the answers to the coming dialogs; those that are never asked for are forgotten at the next call. */
	readonly choose: (...answers: readonly DialogAnswer[]) => void;
	/** Answers a dialog that was left open. */
	readonly reply: (dialog: Dialog, answer: DialogAnswer) => Promise<void>;
	/** Answers that nobody asked for yet. */
	readonly unasked: () => number;
}

/** Answers each dialog as it comes: with the next of the chosen answers, else as Escape does. */
export function answerDialogs(wire: Wire): Dialogs {
	const dialogs: Dialog[] = [];
	const requests = new Map<Dialog, DialogRequest>();
	const answers: DialogAnswer[] = [];

	async function reply(dialog: Dialog, answer: DialogAnswer): Promise<void> {
		const settled = await settle(dialog, answer);
		if (settled === leaveOpen) return;
		const request = requests.get(dialog);
		if (request === undefined) throw new Error(`"${dialog.title}" was answered already`);
		requests.delete(dialog);
		const value = settled === escape ? undefined : valueOf(dialog, settled);
		dialog.answer = value;
		const { id } = request;
		wire.write({ type: "extension_ui_response", id, ...responseOf(dialog, value) });
	}

	wire.each((record) => {
		if (record.type !== "extension_ui_request") return;
		const request = v.safeParse(dialogSchema, record);
		if (!request.success) return;
		const { method, title, message, options } = request.output;
		const dialog: Dialog = { method, title, message, options, answer: undefined };
		dialogs.push(dialog);
		requests.set(dialog, request.output);
		reply(dialog, answers.shift() ?? escape).catch((error: Error) => wire.fail(error));
	});
	return {
		dialogs,
		reply,
		choose: (...next) => void answers.splice(0, Infinity, ...next),
		unasked: () => answers.length,
	};
}

type SettledAnswer = Exclude<DialogAnswer, (dialog: Dialog) => unknown>;

async function settle(dialog: Dialog, answer: DialogAnswer): Promise<SettledAnswer> {
	return typeof answer === "function" ? await settle(dialog, await answer(dialog)) : answer;
}

/** What to send; throws when the dialog has no such option, for then the test is wrong about the extension. */
function valueOf(dialog: Dialog, answer: RegExp | string | boolean): string | boolean {
	const { method, options, title } = dialog;
	const picked = answer instanceof RegExp ? options.find((each) => answer.test(each)) : answer;
	const fits =
		method === "confirm"
			? typeof picked === "boolean"
			: typeof picked === "string" && (method !== "select" || options.includes(picked));
	if (picked !== undefined && fits) return picked;
	const offered = options.map((each) => `\n  ${each}`).join("");
	throw new Error(`${String(answer)} answers no ${method} "${title}"${offered}`);
}

const responseOf = (dialog: Dialog, value: string | boolean | undefined): object => {
	if (value === undefined) return { cancelled: true };
	return dialog.method === "confirm" ? { confirmed: value } : { value };
};
