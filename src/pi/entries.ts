/** Reads Pi's session entries: which can have a point, and what to call them. Pure, but for Pi's types. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";

export type PointKind = "user" | "assistant" | "compaction" | "summary" | "integration" | "none";

/** Which boundary an entry is; `none` has no point of its own. */
export function pointKind(entry: SessionEntry): PointKind {
	switch (entry.type) {
		case "message":
			if (entry.message.role === "user") return "user";
			return entry.message.role === "assistant" ? "assistant" : "none";
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
export function describeEntry(entry: SessionEntry): string {
	switch (entry.type) {
		case "message":
			return describeMessage(entry.message);
		case "compaction":
			return "the compaction";
		case "branch_summary":
			return "the branch summary";
		case "custom_message":
			return `the ${excerpt(entry.customType)} message`;
		default:
			return `the ${entry.type.replaceAll("_", " ")} entry`;
	}
}

type Message = Extract<SessionEntry, { type: "message" }>["message"];

function describeMessage(message: Message): string {
	switch (message.role) {
		case "user":
			return `the point before your message${quoted(textOf(message.content))}`;
		case "assistant":
			return `the answer${quoted(textOf(message.content))}`;
		case "toolResult":
			return `the result of ${excerpt(message.toolName)}`;
		case "bashExecution":
			return `the command${quoted(message.command)}`;
		default:
			return `the ${message.role} message`;
	}
}

/** The text parts of a message; images and tool calls left out. */
export function textOf(content: string | readonly object[]): string {
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

function excerpt(text: string): string {
	const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
	const chars = Array.from(new Intl.Segmenter().segment(line), ({ segment }) => segment);
	return chars.length > excerptLength ? `${chars.slice(0, excerptLength - 1).join("")}…` : line;
}
