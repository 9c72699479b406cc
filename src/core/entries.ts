/**
 * Reads session entries: which can have a point, and what to call them.
 *
 * Takes what Pi has in memory and what stands in a session file alike, so the shapes here ask for no more than is read.
 */

/** What is read of a session entry; any entry of Pi's fits. */
export interface NamedEntry {
	readonly type: string;
	readonly customType?: string;
	readonly message?: NamedMessage;
}

/** What is read of a message. */
export interface NamedMessage {
	readonly role: string;
	readonly content?: string | readonly object[];
	/** Of a tool's result. */
	readonly toolName?: string;
	/** Of a `!command`. */
	readonly command?: string;
}

export type PointKind = "user" | "assistant" | "compaction" | "summary" | "integration" | "none";

/** Which boundary an entry is; `none` has no point of its own. */
export function pointKind(entry: NamedEntry): PointKind {
	switch (entry.type) {
		case "message":
			if (entry.message?.role === "user") return "user";
			return entry.message?.role === "assistant" ? "assistant" : "none";
		case "compaction":
			return "compaction";
		case "branch_summary":
			return "summary";
		case "custom_message":
			return "integration";
		default:
			return "none";
	}
}

const excerptLength = 40;

/** `the answer “said one”`: how a person recognises the entry. Control characters are left out. */
export function describeEntry(entry: NamedEntry): string {
	switch (entry.type) {
		case "message":
			return entry.message === undefined ? "the message" : describeMessage(entry.message);
		case "compaction":
			return "the compaction";
		case "branch_summary":
			return "the branch summary";
		case "custom_message":
			return `the ${excerpt(entry.customType ?? "custom")} message`;
		default:
			return `the ${entry.type.replaceAll("_", " ")} entry`;
	}
}

function describeMessage(message: NamedMessage): string {
	switch (message.role) {
		case "user":
			return `the point before your message${quoted(textOf(message.content))}`;
		case "assistant":
			return `the answer${quoted(textOf(message.content))}`;
		case "toolResult":
			return `the result of ${excerpt(message.toolName ?? "a tool")}`;
		case "bashExecution":
			return `the command${quoted(message.command ?? "")}`;
		default:
			return `the ${message.role} message`;
	}
}

/** The text parts of a message; images and tool calls left out. */
export function textOf(content: string | readonly object[] | undefined): string {
	if (content === undefined) return "";
	if (typeof content === "string") return content;
	const texts = content.map((part) =>
		"text" in part && typeof part.text === "string" ? part.text : "",
	);
	return texts.filter(Boolean).join(" ");
}

function quoted(text: string): string {
	const short = excerpt(text);
	return short === "" ? "" : ` “${short}”`;
}

/** The first characters on one line, without what could drive a terminal. */
export function excerpt(text: string): string {
	const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
	const chars = Array.from(new Intl.Segmenter().segment(line), ({ segment }) => segment);
	return chars.length > excerptLength ? `${chars.slice(0, excerptLength - 1).join("")}…` : line;
}
