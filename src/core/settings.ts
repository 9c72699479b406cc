/**
 * The settings under `rewind` in Pi's settings files.
 *
 * Owns names, defaults and bounds. Values come in layers, the later one overriding key by key; each wrong value is
 * named once and ignored, and what an earlier layer said, or the default, stays. [R10] [R12]
 *
 * Settings do not switch invariants off: `safetySnapshot: false`, for one, only hides the undo offer.
 */
import * as v from "valibot";
import type { RetentionPolicy } from "./retention.ts";

/** What to do with the files on a navigation, when nobody needs to be asked. */
export type NavigationDefault = "ask" | "keep";

export interface Settings {
	/** Take points on one's own; without, old ones can still be restored. */
	readonly autoSnapshots: boolean;
	readonly includeUntracked: boolean;
	/** Offer *undo* after a restore; the snapshot itself is always taken. [R4] */
	readonly safetySnapshot: boolean;
	/** Hides the chip and notices, never warnings. [R12] */
	readonly silentCheckpoints: boolean;
	readonly showStatus: boolean;
	/** Tools that count as mutating, besides those that do anyway. */
	readonly watch: readonly string[];
	/** Tools that do not. */
	readonly ignore: readonly string[];
	/** Larger files are not covered. [R7] */
	readonly maxFileMiB: number;
	/** Sources that may speak to us on `pi.events`. */
	readonly integrations: readonly string[];
	readonly onTree: NavigationDefault;
	readonly onFork: NavigationDefault;
	readonly retention: Retention;
}

/** Which snapshots may go, and how long a session's start may take over it. */
export interface Retention extends RetentionPolicy {
	/** Milliseconds that the sweep in the background of a start may take; what takes longer waits for the next one. */
	readonly startupBudgetMs: number;
}

/** What one settings file says under `rewind`. */
export interface SettingsLayer {
	/** The file, as a person knows it. */
	readonly source: string;
	readonly value: unknown;
}

export interface DecodedSettings {
	readonly settings: Settings;
	/** One sentence for each value that was ignored. */
	readonly issues: readonly string[];
}

/** 2 GiB less one MiB: git's streaming and Node's buffers both end there. */
export const fileMiBMax = 2_047;

interface Field<T> {
	readonly initial: T;
	readonly schema: v.GenericSchema<unknown, T>;
	/** Completes "expected …". */
	readonly expected: string;
}

const flag = (initial: boolean): Field<boolean> => ({
	initial,
	schema: v.boolean(),
	expected: "true or false",
});

const names = (initial: readonly string[]): Field<readonly string[]> => ({
	initial,
	schema: v.array(v.string()),
	expected: "a list of strings",
});

const navigation: Field<NavigationDefault> = {
	initial: "ask",
	schema: v.picklist(["ask", "keep"]),
	expected: '"ask" or "keep"',
};

const fileSize: Field<number> = {
	initial: 32,
	schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(fileMiBMax)),
	expected: `a number above 0 and at most ${fileMiBMax}`,
};

/** A limit; without a value there is none. */
const limit = (
	schema: v.GenericSchema<unknown, number>,
	expected: string,
): Field<number | undefined> => ({ initial: undefined, schema, expected });

const atLeastZero = (initial: number): Field<number> => ({
	initial,
	schema: v.pipe(v.number(), v.finite(), v.minValue(0)),
	expected: "a number of at least 0",
});

const scanMode: Field<Retention["scanMode"]> = {
	initial: "ancestor-only",
	schema: v.picklist(["ancestor-only", "repo-sessions"]),
	expected: '"ancestor-only" or "repo-sessions"',
};

type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

const retentionFields: Fields<Retention> = {
	maxSnapshots: limit(v.pipe(v.number(), v.safeInteger(), v.minValue(1)), "a whole number above 0"),
	maxAgeDays: limit(v.pipe(v.number(), v.finite(), v.gtValue(0)), "a number above 0"),
	pinLabeledEntries: flag(true),
	scanMode,
	startupBudgetMs: atLeastZero(5_000),
	graceHours: atLeastZero(24),
};

const fields: Fields<Omit<Settings, "retention">> = {
	autoSnapshots: flag(true),
	includeUntracked: flag(true),
	safetySnapshot: flag(true),
	silentCheckpoints: flag(false),
	showStatus: flag(true),
	watch: names([]),
	ignore: names([]),
	maxFileMiB: fileSize,
	integrations: names(["fork-from-first", "pi-custom-compaction"]),
	onTree: navigation,
	onFork: navigation,
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The settings that the layers give together, and what was ignored in them. */
export function decodeSettings(layers: readonly SettingsLayer[]): DecodedSettings {
	const issues: string[] = [];
	const top = objectsOf(layers, "rewind", issues);
	const decode = decoder(fields, top, "rewind", issues);
	const flat: Omit<Settings, "retention"> = {
		autoSnapshots: decode("autoSnapshots"),
		includeUntracked: decode("includeUntracked"),
		safetySnapshot: decode("safetySnapshot"),
		silentCheckpoints: decode("silentCheckpoints"),
		showStatus: decode("showStatus"),
		watch: decode("watch"),
		ignore: decode("ignore"),
		maxFileMiB: decode("maxFileMiB"),
		integrations: decode("integrations"),
		onTree: decode("onTree"),
		onFork: decode("onFork"),
	};
	const nested = top.flatMap(({ source, value }) =>
		Object.hasOwn(value, "retention") ? [{ source, value: value["retention"] }] : [],
	);
	const inner = objectsOf(nested, "rewind.retention", issues);
	const decodeInner = decoder(retentionFields, inner, "rewind.retention", issues);
	const retention: Retention = {
		maxSnapshots: decodeInner("maxSnapshots"),
		maxAgeDays: decodeInner("maxAgeDays"),
		pinLabeledEntries: decodeInner("pinLabeledEntries"),
		scanMode: decodeInner("scanMode"),
		startupBudgetMs: decodeInner("startupBudgetMs"),
		graceHours: decodeInner("graceHours"),
	};
	issues.push(...unknownKeys([...Object.keys(fields), "retention"], top, "rewind"));
	issues.push(...unknownKeys(Object.keys(retentionFields), inner, "rewind.retention"));
	return { settings: { ...flat, retention }, issues };
}

interface ObjectLayer {
	readonly source: string;
	readonly value: Readonly<Record<string, unknown>>;
}

function objectsOf(
	layers: readonly SettingsLayer[],
	name: string,
	issues: string[],
): readonly ObjectLayer[] {
	return layers.flatMap(({ source, value }) => {
		if (isObject(value)) return [{ source, value }];
		issues.push(ignored(name, source, "an object", value));
		return [];
	});
}

/** Reads one key: the last layer that says something right about it decides. */
function decoder<T>(
	known: Fields<T>,
	layers: readonly ObjectLayer[],
	prefix: string,
	issues: string[],
): <K extends keyof T & string>(key: K) => T[K] {
	return (key) => {
		const { initial, schema, expected } = known[key];
		let decoded = initial;
		for (const { source, value } of layers) {
			if (!Object.hasOwn(value, key)) continue;
			const result = v.safeParse(schema, value[key]);
			if (result.success) decoded = result.output;
			else issues.push(ignored(`${prefix}.${key}`, source, expected, value[key]));
		}
		return decoded;
	};
}

const unknownKeys = (
	known: readonly string[],
	layers: readonly ObjectLayer[],
	prefix: string,
): string[] =>
	layers.flatMap(({ source, value }) =>
		Object.keys(value)
			.filter((key) => !known.includes(key))
			.map((key) => unknownKey(known, prefix, key, source)),
	);

export const defaultSettings: Settings = decodeSettings([]).settings;

/** Tools of Pi that only look. A tool that is not known may do anything. */
const readingTools: readonly string[] = ["read", "grep", "find", "ls"];

/** Whether a call of the tool may change files, so that the answer after it needs a capture. */
export const isMutatingTool = (
	name: string,
	{ watch, ignore }: Pick<Settings, "watch" | "ignore">,
): boolean => !ignore.includes(name) && (watch.includes(name) || !readingTools.includes(name));

const ignored = (key: string, source: string, expected: string, value: unknown): string =>
	`Setting ${key} in ${source} was ignored and left as it was: expected ${expected}, received ${excerpt(value)}`;

function unknownKey(
	knownKeys: readonly string[],
	prefix: string,
	key: string,
	source: string,
): string {
	const meant = knownKeys.find((known) => known.toLowerCase() === key.toLowerCase());
	const hint = meant === undefined ? "" : `, did you mean ${meant}?`;
	return `Setting ${prefix}.${printable(key)} in ${source} was ignored and left as it is: unknown setting${hint}`;
}

const excerpt = (value: unknown): string => printable(JSON.stringify(value) ?? "nothing");

/** Characters of a value that are quoted: enough to find it by. */
const quotedMax = 45;

/** Short, and without what could drive a terminal: a project's file is not ours. [R13] */
function printable(text: string): string {
	const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
	return plain.length <= quotedMax ? plain : `${plain.slice(0, quotedMax - 1)}…`;
}
