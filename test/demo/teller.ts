/**
 * Prints the demo: titles, what the person says, what changed on disk, and every check.
 *
 * Colours only on a terminal, and never with NO_COLOR.
 */
import type { WriteStream } from "node:tty";

export interface Teller {
	readonly title: (text: string) => void;
	readonly chapter: (text: string) => void;
	readonly say: (text: string) => void;
	readonly person: (text: string) => void;
	/** A dialog and which of its options is taken. */
	readonly dialog: (title: string, options: readonly string[], taken: RegExp) => void;
	/** Lines of difference(). */
	readonly changes: (lines: readonly string[]) => void;
	readonly check: (claim: string, holds?: boolean) => void;
	readonly failures: () => number;
	readonly end: (seconds: number) => void;
}

export function teller(out: WriteStream): Teller {
	const colours = out.isTTY && process.env["NO_COLOR"] === undefined;
	const paint = (code: number, text: string): string =>
		colours ? `\x1b[${code}m${text}\x1b[0m` : text;
	const [bold, dim, red, green, cyan] = [1, 2, 31, 32, 36];
	const print = (line = ""): void => void out.write(`${line}\n`);
	const failed: string[] = [];
	let checks = 0;
	return {
		title: (text) => print(paint(bold, text)),
		chapter: (text) => print(`\n${paint(bold, text)}`),
		say: (text) => print(`  ${text}`),
		person: (text) => print(`  ${paint(cyan, "you")}  ${text}`),
		dialog(title, options, taken) {
			const choice = options.find((option) => taken.test(option));
			for (const line of title.split("\n")) print(`  ${paint(cyan, "pi")}   ${line}`);
			for (const option of options) {
				print(
					option === choice ? `     ${paint(cyan, `→ ${option}`)}` : paint(dim, `       ${option}`),
				);
			}
		},
		changes(lines) {
			for (const line of lines) {
				const [, kind = "", path = ""] = /^(\w+) (.*?): /.exec(line) ?? [];
				print(paint(dim, `       ${kind.padEnd(8)} ${path}`));
			}
		},
		check(claim, holds = true) {
			checks++;
			if (!holds) failed.push(claim);
			print(`  ${holds ? paint(green, "✓") : paint(red, "✗")}    ${claim}`);
		},
		failures: () => failed.length,
		end(seconds) {
			const sum = `${checks - failed.length} of ${checks} checks hold (${seconds.toFixed(1)} s)`;
			print(`\n${paint(failed.length === 0 ? green : red, sum)}`);
			for (const claim of failed) print(`  ${paint(red, "✗")} ${claim}`);
		},
	};
}
