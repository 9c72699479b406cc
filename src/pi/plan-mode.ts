/**
 * Whether an extension holds the session in plan mode. Pi knows no such mode: extensions make one by switching off the
 * tools that write, as Pi's own example does, and offer a command to come back.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/**
 * The tools that write are there and switched off, and somebody has a command for plans. A session that was started
 * without those tools, or a person who never has them on, is in no plan mode.
 */
export function isPlanMode(
	pi: Pick<ExtensionAPI, "getAllTools" | "getActiveTools" | "getCommands">,
): boolean {
	const known = new Set(pi.getAllTools().map(({ name }) => name));
	const active = new Set(pi.getActiveTools());
	const isOff = (name: string): boolean => known.has(name) && !active.has(name);
	if (!isOff("edit") || !isOff("write")) return false;
	return pi.getCommands().some(({ name }) => /\bplan/.test(name));
}
