/** Opens a screen of ours over the whole of Pi's, and closes it with what was chosen. */
import { BorderedLoader, type ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import type { ScreenEnv } from "./frame.ts";

export interface Screen extends Component {
	dispose?(): void;
}

const wholeTerminal = { width: "100%", maxHeight: "100%", row: 0, col: 0 } as const;

/**
 * Shows one screen until it calls `close`; absent when it was left without an answer, and where there is no terminal.
 * `message` is what the person is asked, for terminals that show it elsewhere.
 */
export async function showScreen<T>(
	ui: ExtensionContext["ui"],
	message: string,
	create: (env: ScreenEnv, close: (answer: T | undefined) => void) => Screen,
): Promise<T | undefined> {
	return await ui.custom<T | undefined>(
		(tui, theme, keybindings, done) => create({ tui, theme, keybindings }, done),
		{
			overlay: true,
			overlayOptions: wholeTerminal,
			blocked: { kind: "question", message },
		},
	);
}

/** Work that is over sooner is not worth a flicker. */
const patienceMs = 250;

/** Thrown into nobody's face: the person cancelled, and knows. */
export const cancelled = Symbol("cancelled");

/**
 * Does something that can take long: says what, and lets the person cancel it, once it has taken a moment. Without a
 * terminal it is just done. Throws what `act` throws, unless it was cancelled. `act` calls `onReached` when it cannot be
 * cancelled any more: then nothing offers that.
 */
export async function withProgress<T>(
	ctx: ExtensionContext,
	message: string,
	act: (signal: AbortSignal, onReached: () => void) => Promise<T>,
): Promise<T | typeof cancelled> {
	// First of all: of a session that was replaced it throws, and then nothing has begun.
	const isTerminal = ctx.mode === "tui";
	const abort = new AbortController();
	const reached = Promise.withResolvers<boolean>();
	const work = act(abort.signal, () => reached.resolve(true));
	if (!isTerminal) return await work;
	const settled = Promise.race([
		reached.promise,
		work.then(
			() => true,
			() => true,
		),
	]);
	const timer = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), patienceMs));
	if (!(await Promise.race([settled, timer])))
		await ctx.ui.custom<void>((tui, theme, _keybindings, done) => {
			const loader = new BorderedLoader(tui, theme, message);
			// At once: what cannot be cancelled right away must not hold the terminal.
			loader.onAbort = () => {
				abort.abort();
				done();
			};
			void settled.then(() => done());
			return loader;
		});
	try {
		const result = await work;
		return result;
	} catch (error) {
		if (abort.signal.aborted) return cancelled;
		throw error;
	}
}
