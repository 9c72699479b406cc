/**
 * The extension: puts the engine for repositories under Pi's events.
 *
 * The only place where the clock comes in and where the folders meet; see README.md beside this file for the map.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { createGitEngine } from "./git/open.ts";
import { startHost } from "./pi/host.ts";

export default function rewind(pi: ExtensionAPI): void {
	startHost(pi, createGitEngine(Date.now), Date.now);
}
