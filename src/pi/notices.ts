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

/** Warnings and errors only: what `silentCheckpoints` leaves. */
export const notifySilently: Notify = (ctx, message, type) => {
	if (type !== "info") notify(ctx, message, type);
};
