/**
 * Which sessions belong together: whatever `parentSession` ties, at any depth and in any direction.
 *
 * A family is closed under "forked from": ancestors, descendants and siblings, also over a session that is not there any
 * more but is named as a parent, or was recorded as an owner with its file.
 *
 * Invariant: [R8] knowing of one more session never splits a family.
 */

/** A session, as far as its place among others goes. Files are absolute and canonical, so that equal means same. */
export interface Relative {
	readonly sessionId: string;
	readonly file?: string | undefined;
	readonly parentFile?: string | undefined;
}

/** Gives the family of a session, as an opaque value: equal for two sessions exactly when they belong together. */
export function familiesOf(relatives: Iterable<Relative>): (sessionId: string) => string {
	const above = new Map<string, string>();

	function top(name: string): string {
		let at = name;
		for (let next = above.get(at); next !== undefined; next = above.get(at)) {
			const further = above.get(next);
			if (further !== undefined) above.set(at, further);
			at = next;
		}
		return at;
	}

	function tie(one: string, other: string): void {
		const [a, b] = [top(one), top(other)];
		if (a !== b) above.set(a, b);
	}

	for (const { sessionId, file, parentFile } of relatives) {
		if (file !== undefined) tie(idName(sessionId), fileName(file));
		if (parentFile !== undefined) tie(idName(sessionId), fileName(parentFile));
	}
	return (sessionId) => top(idName(sessionId));
}

/** An id can look like a path. */
const idName = (sessionId: string): string => `id ${sessionId}`;
const fileName = (file: string): string => `file ${file}`;
