/**
 * Permission bits, where git's two modes say too little: a 0600 file must not come back readable to others.
 *
 * Limit: bits are known of files that were staged, or that a restore is about to replace or delete; a `chmod` alone, which
 * git does not see, is not.
 */
import type { CoverageLists, NotCovered } from "../core/coverage.ts";
import type { BytePath } from "../core/ids.ts";
import { absolutePath } from "../disk/files.ts";
import { type Classified, safeLstat } from "./classify.ts";

/** Files whose bits differ are all listed up to here; beyond it, only those that are stricter than usual. */
const modesMax = 20_000;

/** The bits of the snapshot before, brought up to date for what was staged or `asked` for. */
export function bitsNow(
	before: CoverageLists | undefined,
	found: Classified,
	failed: readonly NotCovered[],
	asked: ReadonlyMap<BytePath, number>,
): Pick<CoverageLists, "umask" | "modes"> {
	// The umask of the first snapshot stays the yardstick: what is not listed was measured by it.
	const umask = before?.umask ?? process.umask();
	const modes = new Map(before?.modes ?? []);
	for (const path of [...found.stage, ...found.drop]) modes.delete(path);
	const unstaged = new Set(failed.map(({ path }) => path));
	for (const [path, bits] of [...found.bits, ...asked]) {
		if (unstaged.has(path)) continue;
		const usual = ((bits & 0o100) !== 0 ? 0o777 : 0o666) & ~umask;
		if (bits === usual) modes.delete(path);
		else modes.set(path, bits);
	}
	if (modes.size > modesMax)
		for (const [path, bits] of modes) if ((0o644 & ~bits) === 0) modes.delete(path);
	return { umask, modes };
}

/** Permission bits of regular files as they are now; other paths, and those we may not look at, are left out. */
export function readBits(root: string, paths: readonly BytePath[]): Map<BytePath, number> {
	const bits = new Map<BytePath, number>();
	for (const path of paths) {
		const stats = safeLstat(absolutePath(root, path));
		if (typeof stats === "object" && stats.isFile()) bits.set(path, Number(stats.mode) & 0o777);
	}
	return bits;
}
