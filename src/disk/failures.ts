/** Turns a failure of the file system into the project's error: which kind, and what is still true. */
import { isRewindError, RewindError } from "../core/errors.ts";
import { errorCode } from "./files.ts";

const words = {
	"no-space": "no space left on device",
	"permission-denied": "permission denied",
	"read-only": "the file system is read-only",
} as const;

/** `what` is what failed, on what; `stillTrue` becomes the hint. An error of ours is given back as it is. */
export function asRewindError(error: unknown, what: string, stillTrue: string): RewindError {
	if (isRewindError(error)) return error;
	const code = errorCode(error);
	const more = { ...(stillTrue === "" ? {} : { hint: stillTrue }), data: { code }, cause: error };
	switch (code) {
		case "ENOSPC":
		case "EDQUOT":
			return new RewindError("no-space", `${what}: ${words["no-space"]}`, more);
		case "EACCES":
		case "EPERM":
			return new RewindError("permission-denied", `${what}: ${words["permission-denied"]}`, more);
		case "EROFS":
			return new RewindError("permission-denied", `${what}: ${words["read-only"]}`, more);
		default:
			return new RewindError("io-failed", `${what}: ${code ?? String(error)}`, more);
	}
}
