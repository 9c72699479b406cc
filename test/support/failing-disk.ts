/**
 * Loaded into a Pi before anything else (`node --import`): makes the disk fail in the middle of a restore.
 *
 * REWIND_FAILING_DISK names a file. Once it is there, the changes that are made to the disk in REWIND_FAILING_BELOW count;
 * its content says which fail: `once:<n>` the n-th alone, `from:<n>` the n-th and all after it. See `failingDisk` in
 * e2e/scenes.ts.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { isOfRestore } from "./changes.ts";

const trigger = process.env["REWIND_FAILING_DISK"];
const below = process.env["REWIND_FAILING_BELOW"] ?? "";
let count = 0;

/** Whether the change that is about to be made fails. */
function fails(args: readonly unknown[]): boolean {
	if (trigger === undefined || !fs.existsSync(trigger)) return false;
	if (!isOfRestore(args)) return false;
	if (!args.some((arg) => String(arg).startsWith(`${below}/`))) return false;
	const [kind, number] = fs.readFileSync(trigger, "utf8").split(":");
	count++;
	return kind === "once" ? count === Number(number) : count >= Number(number);
}

for (const name of ["renameSync", "linkSync", "unlinkSync", "rmdirSync", "chmodSync"] as const) {
	const real: unknown = Reflect.get(fs, name);
	if (typeof real !== "function") throw new Error(name);
	Reflect.set(fs, name, (...args: unknown[]): unknown => {
		if (fails(args)) throw Object.assign(new Error(`EIO: planted, ${name}`), { code: "EIO" });
		return Reflect.apply(real, fs, args);
	});
}
syncBuiltinESMExports();
