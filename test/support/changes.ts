/**
 * Which calls of `node:fs` are changes that a restore makes to the disk: what the faults count.
 *
 * A capture before it makes some of its own, in the private git dir; those are no steps of a restore.
 */

/** True when a path among the arguments is in the working tree or in a stage. */
export const isOfRestore = (args: readonly unknown[]): boolean =>
	args.some(
		(arg) =>
			(typeof arg === "string" || Buffer.isBuffer(arg)) &&
			String(arg).startsWith("/") &&
			!/\/pi-rewind(\/(?!stage-)|$)/.test(String(arg)),
	);
