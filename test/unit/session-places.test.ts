/** Pi's folders are found where the real Pi would make them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agentDirOf, isProjectTrusted, sessionFoldersOf } from "../../src/sessions/places.ts";

let at: string;
beforeEach(() => {
	at = realpathSync(mkdtempSync(join(tmpdir(), "places-")));
});
afterEach(() => rmSync(at, { recursive: true, force: true }));

const around = (env: Record<string, string>) => ({ env, home: join(at, "home"), cwd: at });

test("the agent dir is the one that the environment names, else below the home folder", () => {
	expect(agentDirOf(around({}))).toBe(join(at, "home/.pi/agent"));
	expect(agentDirOf(around({ PI_CODING_AGENT_DIR: "~/mine" }))).toBe(join(at, "home/mine"));
	expect(agentDirOf(around({ PI_CODING_AGENT_DIR: "here" }))).toBe(join(at, "here"));
});

test.each(["repo", "a b", "x:y", "deep/er/still", "ü"])(
	"the default folder of %j is the one that Pi makes",
	async (name) => {
		const cwd = join(at, name);
		const agentDir = join(at, "agent");
		mkdirSync(cwd, { recursive: true });
		const before = process.env["PI_CODING_AGENT_DIR"];
		process.env["PI_CODING_AGENT_DIR"] = agentDir;
		try {
			const folders = await sessionFoldersOf(around({ PI_CODING_AGENT_DIR: agentDir }), cwd);
			expect(folders).toEqual([
				{ folder: SessionManager.create(cwd).getSessionDir(), isShared: false },
			]);
		} finally {
			if (before === undefined) delete process.env["PI_CODING_AGENT_DIR"];
			else process.env["PI_CODING_AGENT_DIR"] = before;
		}
	},
);

test("a folder of one's own comes from the environment before the settings, and holds others' sessions too", async () => {
	const env = { PI_CODING_AGENT_DIR: join(at, "agent") };
	mkdirSync(join(at, "agent"));
	writeFileSync(join(at, "agent/settings.json"), '{ "sessionDir": "~/kept" }');
	const first = async (more: Record<string, string>) =>
		(await sessionFoldersOf(around({ ...env, ...more }), join(at, "repo")))[0];
	expect(await first({})).toEqual({ folder: join(at, "home/kept"), isShared: true });
	expect(await first({ PI_CODING_AGENT_SESSION_DIR: "rel" })).toEqual({
		folder: join(at, "repo/rel"),
		isShared: true,
	});
});

describe("a project is trusted", () => {
	const decide = (trust: Record<string, boolean>, settings: object = {}) => {
		mkdirSync(join(at, "agent"), { recursive: true });
		mkdirSync(join(at, "work/repo"), { recursive: true });
		writeFileSync(join(at, "agent/trust.json"), JSON.stringify(trust));
		writeFileSync(join(at, "agent/settings.json"), JSON.stringify(settings));
	};
	const trusted = (cwd = "work/repo") => isProjectTrusted(join(at, "agent"), join(at, cwd));

	test("when the nearest decision says so", async () => {
		decide({ [join(at, "work")]: true });
		expect(await trusted()).toBe(true);
		decide({ [join(at, "work")]: true, [join(at, "work/repo")]: false });
		expect(await trusted()).toBe(false);
		symlinkSync(join(at, "work/repo"), join(at, "link"));
		decide({ [join(at, "work/repo")]: true });
		expect(await trusted("link")).toBe(true);
	});

	test("without a decision only when the person trusts all", async () => {
		decide({});
		expect(await trusted()).toBe(false);
		decide({}, { defaultProjectTrust: "always" });
		expect(await trusted()).toBe(true);
	});
});
