/**
 * The one error of the project: a code, who must act, and a sentence that says what is still true.
 *
 * Rules: thrown only by the port or engine step that first knows; wrapped at most once, keeping `cause`; nobody
 * matches on text; one code has one cause. A failure while handling a failure is an `AggregateError` as `cause`.
 */

/** Who must act: the person, their environment, nobody (retry), … */
export type ErrorKind =
	| "user"
	| "environment"
	| "conflict"
	| "refused"
	| "corrupt"
	| "interrupted"
	| "bug";

const kinds = {
	"git-failed": "environment",
	"git-timeout": "environment",
	"io-failed": "environment",
	"no-space": "environment",
	"permission-denied": "environment",
	aborted: "user",
	"keepalive-contended": "conflict",
	"files-changed": "conflict",
	"operation-in-progress": "refused",
	"object-missing": "corrupt",
	"restore-interrupted": "interrupted",
	"restore-rolled-back": "environment",
	"root-vanished": "environment",
	"bad-usage": "user",
	"no-such-point": "user",
	"point-unavailable": "refused",
	"session-open": "refused",
	"recovery-due": "refused",
	"not-confirmed": "refused",
	"no-engine": "refused",
	"invariant-broken": "bug",
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;

const mark = Symbol.for("pi-rewind.error");

export class RewindError extends Error {
	readonly code: ErrorCode;
	readonly kind: ErrorKind;
	/** Facts for a log or a test: paths, ids, exit codes. */
	readonly data: Readonly<Record<string, unknown>>;
	/** What the person can do about it. */
	readonly hint: string | undefined;
	readonly [mark] = true;

	/** `message` is what failed, on what, and what is still true, without a period at its end. */
	constructor(
		code: ErrorCode,
		message: string,
		more: { hint?: string; data?: Record<string, unknown>; cause?: unknown } = {},
	) {
		super(message, more.cause === undefined ? {} : { cause: more.cause });
		this.name = "RewindError";
		this.code = code;
		this.kind = kinds[code];
		this.data = more.data ?? {};
		this.hint = more.hint;
	}
}

/** By mark, not by class: the module may be loaded twice in one process. */
export const isRewindError = (error: unknown): error is RewindError =>
	typeof error === "object" && error !== null && mark in error;

/** One line for a person: what failed and what to do. Control characters never reach the terminal. */
export function describeError(error: unknown): string {
	const text = isRewindError(error)
		? `${error.message}${error.hint ? ` · ${error.hint}` : ""}`
		: error instanceof Error
			? error.message
			: String(error);
	return text.replace(/[\p{Cc}]+/gu, " ").trim();
}

/** Throws `aborted` once the signal says so: for work between two calls that listen to it themselves. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted === true) throw new RewindError("aborted", "That was cancelled");
}
