/** Settings: layers, and the words for what was ignored. */
import { describe, expect, test } from "vitest";
import { decodeSettings, defaultSettings, isMutatingTool } from "../../src/core/settings.ts";

const mine = (value: unknown) => ({ source: "~/.pi/agent/settings.json", value });
const project = (value: unknown) => ({ source: ".pi/settings.json", value });

test("without any file the defaults hold", () => {
	expect(decodeSettings([])).toEqual({
		settings: {
			autoSnapshots: true,
			includeUntracked: true,
			safetySnapshot: true,
			silentCheckpoints: false,
			showStatus: true,
			watch: [],
			ignore: [],
			maxFileMiB: 32,
			integrations: ["fork-from-first", "pi-custom-compaction"],
			onTree: "ask",
			onFork: "ask",
			retention: {
				maxSnapshots: undefined,
				maxAgeDays: undefined,
				pinLabeledEntries: true,
				scanMode: "ancestor-only",
				startupBudgetMs: 5_000,
				graceHours: 24,
			},
		},
		issues: [],
	});
});

test("later layers override key by key", () => {
	const layers = [
		mine({ maxFileMiB: 8, onTree: "keep", watch: ["a"] }),
		project({ maxFileMiB: 0.5, watch: [], integrations: [] }),
	];
	expect(decodeSettings(layers)).toEqual({
		settings: { ...defaultSettings, maxFileMiB: 0.5, onTree: "keep", integrations: [] },
		issues: [],
	});
});

test("a wrong value is named once, and what an earlier layer said stays", () => {
	const { settings, issues } = decodeSettings([
		mine({ maxFileMiB: 8, showStatus: "yes" }),
		project({ maxFileMiB: "32", onFork: "never", ignore: ["x", 1] }),
	]);
	expect(settings).toEqual({ ...defaultSettings, maxFileMiB: 8 });
	expect(issues).toMatchInlineSnapshot(`
		[
		  "Setting rewind.showStatus in ~/.pi/agent/settings.json was ignored and left as it was: expected true or false, received "yes"",
		  "Setting rewind.ignore in .pi/settings.json was ignored and left as it was: expected a list of strings, received ["x",1]",
		  "Setting rewind.maxFileMiB in .pi/settings.json was ignored and left as it was: expected a number above 0 and at most 2047, received "32"",
		  "Setting rewind.onFork in .pi/settings.json was ignored and left as it was: expected "ask" or "keep", received "never"",
		]
	`);
});

test.each([0, -1, 2048, Number.POSITIVE_INFINITY, Number.NaN, null, true])(
	"maxFileMiB cannot be %s",
	(maxFileMiB) => {
		const { settings, issues } = decodeSettings([mine({ maxFileMiB })]);
		expect(settings).toEqual(defaultSettings);
		expect(issues).toHaveLength(1);
	},
);

test.each([0.001, 2047])("maxFileMiB can be %s", (maxFileMiB) => {
	expect(decodeSettings([mine({ maxFileMiB })])).toEqual({
		settings: { ...defaultSettings, maxFileMiB },
		issues: [],
	});
});

test.each([null, [], "on", 1])("a layer that is no object is one issue: %j", (value) => {
	const { settings, issues } = decodeSettings([mine(value), project({ onTree: "keep" })]);
	expect(settings.onTree).toBe("keep");
	expect(issues).toEqual([
		`Setting rewind in ~/.pi/agent/settings.json was ignored and left as it was: expected an object, received ${JSON.stringify(value)}`,
	]);
});

test("an unknown key is named, with the one that was meant where only case differs", () => {
	expect(decodeSettings([mine({ maxFileMib: 3, colour: "red" })]).issues).toEqual([
		"Setting rewind.maxFileMib in ~/.pi/agent/settings.json was ignored and left as it is: unknown setting, did you mean maxFileMiB?",
		"Setting rewind.colour in ~/.pi/agent/settings.json was ignored and left as it is: unknown setting",
	]);
});

describe("retention", () => {
	test("layers override key by key, as outside", () => {
		const layers = [
			mine({ retention: { maxSnapshots: 100, graceHours: 0 } }),
			project({ retention: { maxSnapshots: 20, scanMode: "repo-sessions" } }),
		];
		expect(decodeSettings(layers)).toEqual({
			settings: {
				...defaultSettings,
				retention: {
					...defaultSettings.retention,
					maxSnapshots: 20,
					graceHours: 0,
					scanMode: "repo-sessions",
				},
			},
			issues: [],
		});
	});

	test("a wrong value is named once and limits nothing", () => {
		const retention = {
			maxSnapshots: 0,
			maxAgeDays: "30d",
			pinLabeledEntries: 1,
			scanMode: "all",
			startupBudgetMs: -1,
			graceHours: null,
			maxage: 3,
			maxSnapShots: 3,
		};
		const { settings, issues } = decodeSettings([mine({ retention })]);
		expect(settings).toEqual(defaultSettings);
		expect(issues).toMatchInlineSnapshot(`
			[
			  "Setting rewind.retention.maxSnapshots in ~/.pi/agent/settings.json was ignored and left as it was: expected a whole number above 0, received 0",
			  "Setting rewind.retention.maxAgeDays in ~/.pi/agent/settings.json was ignored and left as it was: expected a number above 0, received "30d"",
			  "Setting rewind.retention.pinLabeledEntries in ~/.pi/agent/settings.json was ignored and left as it was: expected true or false, received 1",
			  "Setting rewind.retention.scanMode in ~/.pi/agent/settings.json was ignored and left as it was: expected "ancestor-only" or "repo-sessions", received "all"",
			  "Setting rewind.retention.startupBudgetMs in ~/.pi/agent/settings.json was ignored and left as it was: expected a number of at least 0, received -1",
			  "Setting rewind.retention.graceHours in ~/.pi/agent/settings.json was ignored and left as it was: expected a number of at least 0, received null",
			  "Setting rewind.retention.maxage in ~/.pi/agent/settings.json was ignored and left as it is: unknown setting",
			  "Setting rewind.retention.maxSnapShots in ~/.pi/agent/settings.json was ignored and left as it is: unknown setting, did you mean maxSnapshots?",
			]
		`);
	});

	test.each([0.5, -3, Number.MAX_VALUE, "20", true])(
		"maxSnapshots cannot be %s",
		(maxSnapshots) => {
			const { settings, issues } = decodeSettings([mine({ retention: { maxSnapshots } })]);
			expect(settings).toEqual(defaultSettings);
			expect(issues).toHaveLength(1);
		},
	);

	test.each([null, [], "on"])("that is no object is one issue: %j", (retention) => {
		const { settings, issues } = decodeSettings([mine({ retention })]);
		expect(settings).toEqual(defaultSettings);
		expect(issues).toEqual([
			`Setting rewind.retention in ~/.pi/agent/settings.json was ignored and left as it was: expected an object, received ${JSON.stringify(retention)}`,
		]);
	});
});

test("what an issue quotes is short and drives no terminal [R13]", () => {
	const hostile = JSON.parse(
		`{"__proto__":1,"a\\u001b]0;x\\u202e\\n":1,"onTree":"${"x".repeat(500)}"}`,
	);
	const { settings, issues } = decodeSettings([project(hostile)]);
	expect(settings).toEqual(defaultSettings);
	expect(issues).toHaveLength(3);
	for (const issue of issues) {
		expect(issue.length).toBeLessThan(160);
		expect(issue).not.toMatch(/[\p{Cc}\p{Cf}]/u);
	}
});

test.each([
	["read", false],
	["grep", false],
	["find", false],
	["ls", false],
	["edit", true],
	["write", true],
	["bash", true],
	["some-extension-tool", true],
])("without settings, %s counts as mutating: %s", (tool, isMutating) => {
	expect(isMutatingTool(tool, defaultSettings)).toBe(isMutating);
});

test("watch adds a tool, ignore removes one, and ignore wins", () => {
	const settings = { watch: ["read", "grep"], ignore: ["grep", "web"] };
	expect(isMutatingTool("read", settings)).toBe(true);
	expect(isMutatingTool("grep", settings)).toBe(false);
	expect(isMutatingTool("web", settings)).toBe(false);
	expect(isMutatingTool("edit", settings)).toBe(true);
});
