/**
 * The chip in Pi's footer, and what is told once: how many points, what is not covered, why there are none.
 * Quiet on success. [R12]
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { describeNotCovered } from "../core/choices.ts";
import { describeError, isRewindError } from "../core/errors.ts";
import type { Settings } from "../core/settings.ts";
import type { Opened } from "../engine/open.ts";
import type { Captured } from "../engine/ports.ts";
import { afterRedraw, type NoticeType, type Notify } from "./notices.ts";
import type { Session } from "./session.ts";

const statusKey = "rewind";

export interface ChipFacts {
	/** Entries of the session that have a point. */
	readonly points: number;
	readonly notCovered: number;
	/** Why no points are taken, in a few words; absent when they are. */
	readonly off?: string;
	/** The last boundary has no point. */
	readonly failing: boolean;
}

/** `◆ 12 points · 2 not covered`. */
export function chipText({ points, notCovered, off, failing }: ChipFacts): string {
	if (off !== undefined) return `◇ no points: ${off}`;
	const count = `◆ ${points} ${points === 1 ? "point" : "points"}`;
	const gaps = notCovered > 0 ? ` · ${notCovered} not covered` : "";
	return `${count}${gaps}${failing ? " · last one failed" : ""}`;
}

export interface Status {
	/** An engine was opened, or could not be. */
	opened(opened: Opened): void;
	point(captured: Captured): void;
	failed(error: unknown): void;
}

/** One per session; each thing that is not covered, and each cause of a failure, is told once. */
export function createStatus(
	ctx: ExtensionContext,
	session: Session,
	settings: Settings,
	notify: Notify,
): Status {
	let off = settings.autoSnapshots ? undefined : "switched off";
	let failing = false;
	let notCovered = 0;
	const told = new Set<string>();
	/** A boundary can be at a navigation. */
	const say = afterRedraw(notify);

	function show(): void {
		try {
			if (!ctx.hasUI) return;
			const points = session.ledger().bindings.size;
			const text = chipText({ points, notCovered, failing, ...(off === undefined ? {} : { off }) });
			const hidden = !settings.showStatus || (settings.silentCheckpoints && !failing);
			ctx.ui.setStatus(statusKey, hidden ? undefined : text);
		} catch {
			// The session was replaced while a capture ended: its chip is gone with it.
		}
	}

	function tellOnce(key: string, message: string, type: NoticeType): void {
		if (told.has(key)) return;
		told.add(key);
		say(ctx, message, type);
	}

	return {
		opened(opened) {
			if (settings.autoSnapshots) off = opened.kind === "ready" ? undefined : opened.reason;
			// That a folder is no repository needs no more words than the chip's; any other reason has a remedy.
			if (opened.kind === "unavailable" && !opened.mayChange)
				tellOnce(opened.reason, `rewind takes no points here: ${opened.message}`, "info");
			show();
		},
		point(captured) {
			failing = false;
			notCovered = captured.notCovered.length;
			const fresh = captured.notCovered.filter(
				({ path, reason }) => !told.has(`${reason} ${path}`),
			);
			for (const { path, reason } of fresh) told.add(`${reason} ${path}`);
			// Without a screen nobody could do anything about it: the snapshot itself says so.
			if (fresh.length > 0 && ctx.hasUI)
				say(
					ctx,
					`Not covered by rewind, left alone by every restore: ${describeNotCovered(fresh)}`,
					"warning",
				);
			show();
		},
		failed(error) {
			failing = true;
			const key = `failed ${isRewindError(error) ? error.code : "unknown"}`;
			tellOnce(key, `No point here: ${describeError(error)}`, "warning");
			show();
		},
	};
}
