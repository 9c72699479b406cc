/** Says things to the person, wherever they sit. Callers hold a context that may be stale by the time they speak. */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

export type NoticeType = "info" | "warning" | "error";
export type Notify = (ctx: ExtensionContext, message: string, type: NoticeType) => void;

/** In print and json modes nobody sees notices: what needs a person goes to stderr. [R12] */
export const notify: Notify = (ctx, message, type) => {
	try {
		if (ctx.hasUI) ctx.ui.notify(message, type);
		else if (type !== "info") process.stderr.write(`rewind: ${message}\n`);
	} catch {
		// The session was replaced in the meantime: nobody is there to be told.
	}
};

/** Pi draws the screen anew right after a navigation and at a session's start; what is said before that is wiped. */
const redrawMs = 300;

/** Says it once the screen stands; at once where there is none. */
export const afterRedraw =
	(say: Notify): Notify =>
	(ctx, message, type) => {
		if (hasScreen(ctx)) setTimeout(() => say(ctx, message, type), redrawMs).unref();
		else say(ctx, message, type);
	};

function hasScreen(ctx: ExtensionContext): boolean {
	try {
		return ctx.hasUI;
	} catch {
		// The session was replaced in the meantime: nobody is there to be told.
		return false;
	}
}

/** Warnings and errors only: what `silentCheckpoints` leaves. */
export const notifySilently: Notify = (ctx, message, type) => {
	if (type !== "info") notify(ctx, message, type);
};
