/** Runs the real Pi once without a person: `-p` and `--mode json`. */
import { spawn } from "node:child_process";
import type { PiOptions, Step } from "./pi.ts";
import { prepareLaunch } from "./pi.ts";

export interface PrintOptions extends PiOptions {
	readonly mode: "print" | "json";
	readonly prompt: string;
	readonly steps: readonly Step[];
}

export interface Printed {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Resolves when Pi has ended; a Pi that does not is killed, which its code tells. */
export function runPi(options: PrintOptions): Promise<Printed> {
	const { mode, prompt, steps, cwd, timeoutMs = 60_000 } = options;
	const launch = prepareLaunch(options, mode === "print" ? ["-p"] : ["--mode", "json"]);
	launch.addSteps(steps);
	const [command = "", ...args] = launch.argv;
	const child = spawn(command, [...args, prompt], {
		cwd,
		env: launch.env,
		stdio: ["ignore", "pipe", "pipe"],
		timeout: timeoutMs,
		killSignal: "SIGKILL",
	});
	let [stdout, stderr] = ["", ""];
	child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
	child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (code) => resolve({ code, stdout, stderr }));
	});
}
