/**
 * What other extensions may ask of us on `pi.events`, from sources that the settings allow.
 *
 *   rewind:fork-preference   { source, mode: "conversation-only" }   the next fork keeps files and asks nothing; once
 *   rewind:checkpoint-entry  { source, entryId }                     that entry belongs to the files as they are now
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export interface Integrations {
	/** Whether the next fork is to keep files; asking uses it up. */
	takeForkPreference(): boolean;
}

export function listenToIntegrations(
	pi: ExtensionAPI,
	deps: { allows(source: string): boolean; bindNow(entryId: string): void },
): Integrations {
	let keepAtNextFork = false;
	const field = (data: unknown, key: string): unknown =>
		typeof data === "object" && data !== null ? Reflect.get(data, key) : undefined;
	const isAllowed = (data: unknown): boolean => {
		const source = field(data, "source");
		return typeof source === "string" && deps.allows(source);
	};
	pi.events.on("rewind:fork-preference", (data) => {
		if (isAllowed(data) && field(data, "mode") === "conversation-only") keepAtNextFork = true;
	});
	pi.events.on("rewind:checkpoint-entry", (data) => {
		const entryId = field(data, "entryId");
		if (isAllowed(data) && typeof entryId === "string") deps.bindNow(entryId);
	});
	return {
		takeForkPreference() {
			const keep = keepAtNextFork;
			keepAtNextFork = false;
			return keep;
		},
	};
}
