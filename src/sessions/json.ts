/** Reads JSON that anybody may have written: absence for what is none, never an exception. [R10] */

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Absent for text that is not JSON. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		// Absence is the answer for text that is not JSON; the caller counts it where it matters. [R10]
		return undefined;
	}
}
