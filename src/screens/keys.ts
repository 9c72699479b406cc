/** What a pressed key means on our screens: the person's own keybindings first, then the keys of pagers and lists. */
import type { KeybindingsManager } from "@earendil-works/pi-coding-agent";
import { decodeKittyPrintable, matchesKey } from "@earendil-works/pi-tui";
import type { Move } from "./scroll.ts";

/** The person's keybindings. */
export type Bindings = Pick<KeybindingsManager, "matches" | "getKeys">;

export type Command =
	| { readonly kind: "move"; readonly move: Move }
	| { readonly kind: "confirm" }
	| { readonly kind: "cancel" }
	/** Any other printable key. */
	| { readonly kind: "char"; readonly char: string };

const moves = {
	"tui.select.up": "up",
	"tui.select.down": "down",
	"tui.select.pageUp": "pageUp",
	"tui.select.pageDown": "pageDown",
} as const;
const bound = [
	"tui.select.up",
	"tui.select.down",
	"tui.select.pageUp",
	"tui.select.pageDown",
] as const;

const chars: Readonly<Record<string, Move>> = { k: "up", j: "down", g: "first", G: "last" };

/** Absent for keys that mean nothing here. */
export function readKey(data: string, keybindings: Bindings): Command | undefined {
	for (const name of bound)
		if (keybindings.matches(data, name)) return { kind: "move", move: moves[name] };
	if (keybindings.matches(data, "tui.select.confirm") || data === "\n") return { kind: "confirm" };
	if (keybindings.matches(data, "tui.select.cancel")) return { kind: "cancel" };
	if (matchesKey(data, "home")) return { kind: "move", move: "first" };
	if (matchesKey(data, "end")) return { kind: "move", move: "last" };
	const char = decodeKittyPrintable(data) ?? data;
	const move = chars[char];
	if (move !== undefined) return { kind: "move", move };
	return /^[\x20-\x7e]$/.test(char) ? { kind: "char", char } : undefined;
}

/** A key and what it does, for the line that names the keys. */
export interface Hint {
	readonly key: string;
	readonly does: string;
}

/** The key that the person bound to an action, by its short name. */
export function boundKey(
	keybindings: Bindings,
	action: "tui.select.confirm" | "tui.select.cancel",
): string {
	const [first = "unbound"] = keybindings.getKeys(action);
	return first === "escape" ? "esc" : first;
}
