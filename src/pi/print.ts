/**
 * What a command prints where there is no screen.
 *
 * In print and json modes Pi turns `process.stdout` over to stderr, so that nothing but its own output gets there; it
 * prints answers only, and a command has none. In print mode a command's text is what was asked for and goes to the
 * real stdout; in json mode stdout is for Pi's records alone, and the text goes to stderr.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { write } from "node:fs";

/** How long a reader that does not read is waited for, and how often it is looked. */
const retryMs = 10;
const retriesMax = 1_000;

/** Prints lines of text; over RPC and in the terminal they are shown as a notice. */
export async function printText(ctx: ExtensionContext, text: string): Promise<void> {
	if (ctx.hasUI) ctx.ui.notify(text, "info");
	else if (ctx.mode === "print") await writeAll(1, Buffer.from(`${text}\n`));
	else process.stderr.write(`${text}\n`);
}

/** Prints why a command did not do what it was asked. */
export async function printRefusal(ctx: ExtensionContext, text: string): Promise<void> {
	markFailed(ctx);
	await printText(ctx, text);
}

/** Where Pi ends after the command, a script sees by its exit code that it was not done. */
export function markFailed({ mode }: ExtensionContext): void {
	if (mode === "print" || mode === "json") process.exitCode = 1;
}

/** A pipe takes what it can hold; the rest waits for its reader. */
async function writeAll(fd: number, bytes: Buffer): Promise<void> {
	let at = 0;
	for (let tries = 0; at < bytes.length && tries < retriesMax; tries++) {
		const written = await writeSome(fd, bytes.subarray(at));
		if (written === undefined) await new Promise((resolve) => setTimeout(resolve, retryMs));
		else [at, tries] = [at + written, 0];
	}
}

/** Absent when the pipe is full for the moment. */
function writeSome(fd: number, bytes: Buffer): Promise<number | undefined> {
	return new Promise((resolve, reject) =>
		write(fd, bytes, (error, written) => {
			if (error === null) resolve(written);
			else if (error.code === "EAGAIN") resolve(undefined);
			else reject(error);
		}),
	);
}
