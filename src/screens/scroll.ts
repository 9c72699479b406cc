/** Where a list or a text stands on the screen. Pure. */

export type Move = "up" | "down" | "pageUp" | "pageDown" | "first" | "last";

/** The marked row of a list, and the row that stands on top. */
export interface Scroll {
	readonly cursor: number;
	readonly top: number;
}

/** Moves the mark; the list follows. `height` is how many rows are seen. */
export function moveCursor(scroll: Scroll, move: Move, count: number, height: number): Scroll {
	const page = Math.max(1, height - 1);
	const by = { up: -1, down: 1, pageUp: -page, pageDown: page, first: -count, last: count }[move];
	return keepInView({ ...scroll, cursor: scroll.cursor + by }, count, height);
}

/** The nearest place that shows the mark and leaves no room unused, after the list or the screen changed. */
export function keepInView(
	{ cursor: at, top: from }: Scroll,
	count: number,
	height: number,
): Scroll {
	const cursor = Math.max(0, Math.min(at, count - 1));
	const room = Math.max(1, height);
	const top = Math.max(cursor - room + 1, Math.min(from, cursor, Math.max(0, count - room)));
	return { cursor, top };
}

/** A line of a text in sections: the lengths of those that nobody saw yet are not known. */
export interface Place {
	readonly section: number;
	readonly line: number;
}

/** A text in sections. `lengthOf` is at least 1. */
export interface Sections {
	readonly count: number;
	lengthOf(section: number): number;
}

/** The place so many lines further, or back, not beyond the first and the last line. */
export function movePlace({ section, line }: Place, by: number, text: Sections): Place {
	let at = section;
	let offset = line + by;
	while (offset < 0) {
		if (at === 0) return { section: 0, line: 0 };
		at -= 1;
		offset += text.lengthOf(at);
	}
	for (let length = text.lengthOf(at); offset >= length; length = text.lengthOf(at)) {
		if (at + 1 >= text.count) return { section: at, line: length - 1 };
		offset -= length;
		at += 1;
	}
	return { section: at, line: offset };
}

/** The lowest place that may stand on top: below it the screen would have empty lines. */
export function lastTop(text: Sections, height: number): Place {
	const section = Math.max(0, text.count - 1);
	const end: Place = { section, line: text.lengthOf(section) - 1 };
	return movePlace(end, 1 - Math.max(1, height), text);
}

export const isAfter = (a: Place, b: Place): boolean =>
	a.section > b.section || (a.section === b.section && a.line > b.line);

/** The places of the lines that are seen, from the top. */
export function placesFrom(top: Place, height: number, text: Sections): Place[] {
	const places: Place[] = [];
	let { section, line } = top;
	while (places.length < height && section < text.count) {
		if (line >= text.lengthOf(section)) {
			section += 1;
			line = 0;
			continue;
		}
		places.push({ section, line });
		line += 1;
	}
	return places;
}
