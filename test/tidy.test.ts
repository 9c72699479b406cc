/**
 * The style that a reader relies on, held by reading the sources: who may import whom, what no file may contain.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
	.filter((name) => /\.[jt]s$/.test(name))
	.map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }));
const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).filter(
	(name) => name.endsWith(".ts"),
);

/** What each folder may import: other folders of ours, packages, and which part of Node. */
const arrows: Record<string, { folders: string[]; packages: RegExp }> = {
	core: { folders: ["core"], packages: /^valibot$/ },
	engine: { folders: ["core", "engine"], packages: /^$/ },
	disk: {
		folders: ["core", "engine", "disk"],
		packages: /^node:(fs|fs\/promises|path|os|crypto)$/,
	},
	git: {
		folders: ["core", "engine", "disk", "git"],
		packages: /^node:(fs|fs\/promises|path|os|crypto|child_process|worker_threads|zlib)$/,
	},
	sessions: {
		folders: ["core", "sessions"],
		packages: /^node:(fs|fs\/promises|path|crypto)$/,
	},
	screens: {
		folders: ["core", "screens"],
		packages: /^@earendil-works\/pi-(coding-agent|tui)$/,
	},
	pi: {
		folders: ["core", "engine", "sessions", "screens", "pi"],
		packages: /^(node:(fs|fs\/promises|path|crypto)|@earendil-works\/pi-(coding-agent|tui))$/,
	},
	cli: {
		folders: ["core", "engine", "sessions", "cli"],
		packages: /^node:(fs\/promises|path|util)$/,
	},
	".": {
		folders: ["git", "pi", "cli"],
		packages: /^(@earendil-works\/pi-coding-agent|node:(events|fs|os|readline\/promises))$/,
	},
};

function importsOf(text: string): string[] {
	return [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)";/gms)].flatMap(([, from]) =>
		from === undefined ? [] : [from],
	);
}

describe("the sources", () => {
	test("there are sources, and every folder has its arrows", () => {
		expect(sources.length).toBeGreaterThan(20);
		const folders = new Set(sources.map(({ name }) => dirname(name)));
		expect([...folders].toSorted()).toEqual(Object.keys(arrows).toSorted());
	});

	test("JavaScript is only what runs in a thread, where nothing translates TypeScript", () => {
		const plain = sources.map(({ name }) => name).filter((name) => name.endsWith(".js"));
		expect(plain.toSorted()).toEqual(["git/index-file.js", "git/look-worker.js"]);
		for (const { name, text } of sources.filter((each) => each.name.endsWith(".js")))
			expect(
				importsOf(text).filter((from) => from.endsWith(".ts")),
				name,
			).toEqual([]);
	});

	test.each(sources)("$name imports only what its folder may", ({ name, text }) => {
		const folder = dirname(name);
		const allowed = arrows[folder];
		for (const from of importsOf(text)) {
			if (!from.startsWith(".")) {
				expect(from, `${name} may not import a package like this`).toMatch(
					allowed?.packages ?? /^$/,
				);
				continue;
			}
			expect(from, "imports name the file").toMatch(/\.[jt]s$/);
			const target = dirname(relative(join(root, "src"), resolve(root, "src", folder, from)));
			expect(allowed?.folders, `${name} imports ${from}`).toContain(target);
		}
	});

	test.each(sources)(
		"$name opens with what it is, and is small enough to read",
		({ name, text }) => {
			expect(
				text.replace(/^#!.*\n/, "").startsWith("/**"),
				"a head that says what the file owns",
			).toBe(true);
			expect(text.split("\n").length).toBeLessThanOrEqual(400);
			// A sentence for a person stays in one piece, so that it can be searched for.
			const long = text
				.split("\n")
				.filter((line) => line.length > 125 && !/^\s*(return |what: )?["`]/.test(line));
			expect(long, `long lines in ${name}`).toEqual([]);
		},
	);

	test.each(sources)("$name has none of what the style bans", ({ name, text }) => {
		const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
		expect(code).not.toMatch(/\bconsole\./);
		expect(code).not.toMatch(/\bprocess\.exit\b/);
		expect(text).not.toMatch(/\b(TODO|FIXME|XXX)\b/);
		if (name !== "core/ids.ts")
			expect(code).not.toMatch(/[)\w\]}"] as (?!const\b)[A-Z{[][\w<>[\]| ]*[;,)]/);
		if (/^(core|engine)\//.test(name))
			expect(code).not.toMatch(/\bDate\.now\b|\bMath\.random\b|\bprocess\./);
	});

	test("an error that is swallowed carries its licence", () => {
		for (const { name, text } of sources) {
			for (const [block] of text.matchAll(/catch(?: \(\w+\))? \{[^{}]*\}/g)) {
				if (/throw|reject|onFailure|notify|failed|problem|return new|Error\(/.test(block)) continue;
				expect(/\/\/|\/\*/.test(block), `${name}: ${block}`).toBe(true);
			}
		}
	});

	test("cited invariants exist", () => {
		for (const { name, text } of sources)
			for (const [, number] of text.matchAll(/\[R(\d+)\]/g))
				expect(Number(number), name).toSatisfy((n: number) => n >= 1 && n <= 15);
	});
});

describe("the tests", () => {
	test("none is left out, skipped or alone", () => {
		for (const name of tests) {
			const text = readFileSync(join(root, "test", name), "utf8");
			if (name !== "tidy.test.ts")
				expect(text, name).not.toMatch(/\b(test|describe|it)\.(only|todo)\b/);
			if (/ from "vitest"/.test(text) && /^\s*(test|describe)(\.each)?\(/m.test(text))
				expect(name).toMatch(/\.test\.ts$/);
		}
	});
});

describe("the project", () => {
	test("the top level holds what a newcomer expects, and nothing else", () => {
		const known = [
			"package.json",
			"tsconfig.json",
			"tsconfig.build.json",
			"dist",
			"vitest.config.ts",
			"package-lock.json",
			"src",
			"test",
			"PORT.md",
			"README.md",
			"LICENSE",
			"node_modules",
		];
		const names = readdirSync(root).filter((name) => !name.startsWith("."));
		expect(names.filter((name) => !known.includes(name))).toEqual([]);
	});

	test("versions of development dependencies are exact", () => {
		const {
			devDependencies,
			dependencies,
		}: Record<string, Record<string, string>> = JSON.parse(
			readFileSync(join(root, "package.json"), "utf8"),
		);
		for (const version of Object.values({ ...devDependencies, ...dependencies }))
			expect(version).toMatch(/^(npm:.*@)?\d+\.\d+\.\d+$/);
	});
});
