/** Finding sessions in folders on a real disk: their headers, what hides one, and what a sweep is told of them. */
import { execFileSync } from "node:child_process";
import {
	appendFile,
	chmod,
	mkdir,
	mkdtemp,
	realpath,
	rename,
	rm,
	symlink,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { trustedObjectId } from "../../src/core/ids.ts";
import { emptyLedger, foldLedger } from "../../src/core/ledger.ts";
import { type Binding, encodeTurn } from "../../src/core/records.ts";
import { createCatalog, type Found } from "../../src/sessions/catalog.ts";
import { createSessionLog } from "../../src/sessions/log.ts";
import { readSources, type SourcesRequest } from "../../src/sessions/sources.ts";

const a = trustedObjectId("a".repeat(40));
const b = trustedObjectId("b".repeat(40));
const isRoot = process.getuid?.() === 0;

let dir = "";
beforeEach(async () => {
	dir = await realpath(await mkdtemp(join(tmpdir(), "rewind-catalog-")));
});
afterEach(() => rm(dir, { recursive: true }));

const json = (value: unknown): string => `${JSON.stringify(value)}\n`;
const header = (id: string, parentSession?: string): string =>
	json({
		type: "session",
		version: 3,
		id,
		timestamp: "2026-01-01T00:00:00.000Z",
		cwd: dir,
		parentSession,
	});
const turn = (...bindings: Binding[]): string =>
	json({ type: "custom", customType: "rewind-turn", data: encodeTurn(bindings), id: "r1" });
const message = json({ type: "message", id: "m1", parentId: null, message: { role: "user" } });

async function write(name: string, ...lines: readonly string[]): Promise<string> {
	const file = join(dir, name);
	await mkdir(dirname(file), { recursive: true });
	await writeFile(file, lines.join(""));
	return file;
}
const root = (name = "", nested = false) => ({ folder: join(dir, name), nested });
const catalog = () => createCatalog(createSessionLog());
const ids = ({ sessions }: Found): string[] =>
	sessions.map(({ sessionId }) => sessionId).toSorted();

describe("finding", () => {
	test("sessions lie in a folder, or in the folders of one; nothing else is one", async () => {
		await write("flat.jsonl", header("flat"));
		await write("--one--/x.jsonl", header("x"), message);
		await write("--two--/y.jsonl", header("y"));
		await write("--two--/deeper/z.jsonl", header("z"));
		await write("notes.txt", "not looked at");
		await mkdir(join(dir, "folder.jsonl"));
		expect(ids(await catalog().find([root()]))).toEqual(["flat"]);
		const found = await catalog().find([root("", true), root("--one--")]);
		expect([ids(found), found.problems]).toEqual([["flat", "x", "y"], []]);
	});

	test("a root that is not there holds none", async () => {
		await write("file", "");
		const found = await catalog().find([root("gone"), root("file"), root("gone", true)]);
		expect(found).toEqual({ sessions: [], problems: [] });
	});

	test("parents are named as they would be found, there or not, through links and relative", async () => {
		const parent = await write("real/p.jsonl", header("p"));
		await symlink("real", join(dir, "link"));
		await write("c1.jsonl", header("c1", join(dir, "link/p.jsonl")));
		await write("c2.jsonl", header("c2", "real/p.jsonl"));
		await write("c3.jsonl", header("c3", join(dir, "link/gone.jsonl")));
		await write("c4.jsonl", header("c4", "/nowhere/at/all.jsonl"));
		const { sessions } = await catalog().find([root()]);
		expect(Object.fromEntries(sessions.map((each) => [each.sessionId, each.parentFile]))).toEqual({
			c1: parent,
			c2: parent,
			c3: join(dir, "real/gone.jsonl"),
			c4: "/nowhere/at/all.jsonl",
		});
	});

	test("a link to a session is that session, once; one that leads nowhere is none", async () => {
		const file = await write("elsewhere/s.jsonl", header("s"));
		await symlink(file, join(dir, "one.jsonl"));
		await symlink(file, join(dir, "two.jsonl"));
		await symlink("nowhere", join(dir, "three.jsonl"));
		const found = await catalog().find([root(), root("elsewhere")]);
		expect(found).toMatchObject({ sessions: [{ sessionId: "s", file }], problems: [] });
	});

	test.each([
		["empty", [""]],
		["cut in its header", [header("s").slice(0, -20)]],
		["an entry first", [message]],
		["a header that is no session", [json({ type: "session" }), message]],
		["bytes", ["\0\0\0\0"]],
	])("a file that may have been a session is a problem: %s [R8]", async (_name, lines) => {
		const file = await write("s.jsonl", ...lines);
		expect(await catalog().find([root()])).toEqual({
			sessions: [],
			problems: [{ path: file, why: "does not begin with a session header" }],
		});
	});

	test.each([
		["another tool's lines", [json({ prompt: "x", completion: "y" }), message]],
		["a list", ["[1,2]\n", message]],
	])("a file that surely is none is passed over: %s", async (_name, lines) => {
		await write("s.jsonl", ...lines);
		expect(await catalog().find([root()])).toEqual({ sessions: [], problems: [] });
	});

	test("a header behind torn lines is found, as Pi finds it; a FIFO is not waited for", async () => {
		await write("s.jsonl", `{"torn\n${"x".repeat(10_000)}\n`, header("s"));
		execFileSync("mkfifo", [join(dir, "f.jsonl")]);
		expect(ids(await catalog().find([root()]))).toEqual(["s"]);
	});

	test.skipIf(isRoot)("what may not be read is a problem [R8]", async () => {
		const file = await write("s.jsonl", header("s"));
		await write("shut/t.jsonl", header("t"));
		await chmod(file, 0);
		await chmod(join(dir, "shut"), 0);
		try {
			const { problems } = await catalog().find([root("", true)]);
			expect(problems.map(({ path }) => path).toSorted()).toEqual([file, join(dir, "shut")]);
		} finally {
			await chmod(join(dir, "shut"), 0o700);
		}
	});

	test("what changed is seen; an aborted search ends with its reason", async () => {
		const file = await write("s.jsonl", header("s"));
		const same = catalog();
		expect(ids(await same.find([root()]))).toEqual(["s"]);
		await write("t.jsonl", header("t"));
		await rename(await write("new", header("replaced")), file);
		expect(ids(await same.find([root()]))).toEqual(["replaced", "t"]);
		const reason = new Error("enough");
		await expect(same.find([root()], AbortSignal.abort(reason))).rejects.toBe(reason);
	});
});

test("a file is deleted only where its folder is there and holds other things", async () => {
	const there = await write("full/s.jsonl", header("s"));
	await mkdir(join(dir, "empty"));
	const paths = [
		there,
		join(dir, "full/t.jsonl"),
		join(dir, "empty/t.jsonl"),
		join(dir, "gone/t.jsonl"),
	];
	const places = await catalog().places(paths);
	expect(paths.map((path) => places.get(path)?.state)).toEqual([
		"there",
		"deleted",
		"unknown",
		"unknown",
	]);
});

describe("what a sweep is told", () => {
	const sources = (more: Partial<SourcesRequest>) =>
		readSources(catalog(), {
			roots: [root()],
			scanMode: "ancestor-only",
			current: "a",
			owners: [],
			...more,
		});
	/** Ids of those that were read, and of those that were only seen. */
	const told = async (
		more: Partial<SourcesRequest>,
	): Promise<{ read: string[]; seen: string[] }> => {
		const { sessions } = await sources(more);
		const of = (isRead: boolean): string[] =>
			sessions
				.filter(({ ledger }) => (ledger !== undefined) === isRead)
				.map(({ sessionId }) => sessionId)
				.toSorted();
		return { read: of(true), seen: of(false) };
	};

	test("the records of the lineage, or of every owner's, and no more", async () => {
		const file = await write("a.jsonl", header("a"), turn(["e1", a]));
		await write("child.jsonl", header("child", file));
		await write("z.jsonl", header("z"));
		await write("y.jsonl", header("y"));
		const owners = [{ sessionId: "z", sessionFile: join(dir, "z.jsonl") }, { sessionId: "a" }];
		expect(await told({ owners })).toEqual({ read: ["a", "child"], seen: ["y", "z"] });
		expect(await told({ owners, scanMode: "repo-sessions" })).toEqual({
			read: ["a", "child", "z"],
			seen: ["y"],
		});
	});

	test("folders of owners are looked into, too; a parent that is gone ties its children", async () => {
		const gone = join(dir, "custom/gone.jsonl");
		await write("a.jsonl", header("a", gone));
		await write("custom/sibling.jsonl", header("sibling", gone));
		await write("custom/z.jsonl", header("z"));
		const owners = [{ sessionId: "gone", sessionFile: gone }];
		expect(await told({ owners })).toEqual({ read: ["a", "sibling"], seen: ["z"] });
	});

	test("what a running session knows of itself is taken before its file, which may not be there", async () => {
		await write("a.jsonl", header("a"), turn(["e1", a]));
		const ledger = foldLedger([
			{ type: "custom", customType: "rewind-turn", id: "r", data: encodeTurn([["e1", b]]) },
		]);
		for (const sessionFile of [join(dir, "a.jsonl"), join(dir, "none.jsonl"), undefined]) {
			const { sessions } = await sources({ own: [{ sessionId: "a", sessionFile, ledger }] });
			const found = sessions.filter(({ ledger: read }) => read !== undefined);
			expect(found[0]).toMatchObject({ sessionId: "a", ledger });
			// A file of another name with its id is another copy, which may say more.
			expect(found).toHaveLength(sessionFile === join(dir, "a.jsonl") ? 1 : 2);
		}
	});

	test("what hides a session is in the answer, and so is a torn end", async () => {
		await write("a.jsonl", header("a"), '{"type":"cust');
		const broken = await write("broken.jsonl", "");
		const { sessions, hidden } = await sources({});
		expect(sessions).toMatchObject([{ sessionId: "a", isTorn: true, ledger: emptyLedger }]);
		expect(hidden).toEqual([{ path: broken, why: "does not begin with a session header" }]);
	});

	test("reading again reads only what was appended", async () => {
		const file = await write("a.jsonl", header("a"), turn(["e1", a]));
		const same = catalog();
		const request = {
			roots: [root()],
			scanMode: "ancestor-only",
			current: "a",
			owners: [],
		} as const;
		await readSources(same, request);
		await appendFile(file, turn(["e2", b]));
		const { sessions } = await readSources(same, request);
		expect([...(sessions[0]?.ledger?.bindings ?? [])]).toEqual([
			["e1", a],
			["e2", b],
		]);
	});
});
