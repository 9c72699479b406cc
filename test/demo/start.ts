/**
 * `npm start`: the interactive Pi with the extension and the scripted model, to try going back by hand.
 *
 *   npm start                       in a throwaway repository
 *   npm start -- --cwd DIR          in a folder of yours (the agent dir is a throwaway one all the same)
 *   npm start -- --pi 0.84.0        another version of Pi
 *   npm start -- --again FOLDER     the throwaway folder of an earlier start, resuming its session
 *
 * Nothing is removed at the end: the folder is named, so that what happened can be looked at.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Environment, PiVersion } from "../support/pi.ts";
import {
	isolatedEnvironment,
	newestPi,
	piArguments,
	piVersions,
	rewindExtension,
	writeSettings,
} from "../support/pi.ts";
import { createWorld } from "../support/world.ts";

const files = {
	"README.md": "# A throwaway repository\n\nChange it, break it, go back.\n",
	"src/hello.js": 'console.log("hello");\n',
	"notes.md": "- the first note\n",
};

/** Where Pi will run. */
interface Place {
	/** The throwaway folder: agent dir, sessions, and the repository unless it is the person's. */
	readonly at: string;
	readonly cwd: string;
	readonly env: Environment;
	readonly args: readonly string[];
}

async function start(): Promise<number> {
	const { values } = parseArgs({
		options: {
			cwd: { type: "string" },
			pi: { type: "string", default: newestPi },
			again: { type: "string" },
		},
	});
	const version = versionOf(values.pi);
	const { at, cwd, env, args } = placeOf(values.cwd, values.again);
	writeSettings(join(at, "agent", "settings.json"), { quietStartup: true });
	const [command = "", ...rest] = [...piArguments(version, [rewindExtension]), ...args];
	const child = spawn(command, rest, { cwd, env, stdio: "inherit" });
	// Ctrl+C is a key of Pi's; it must not end us, who still have to say where the folder is.
	process.on("SIGINT", () => {});
	const [code] = await once(child, "exit");
	console.log(`\nThe files: ${cwd}\nPi's session and settings: ${join(at, "agent")}`);
	const place = values.cwd === undefined ? "" : ` --cwd ${values.cwd}`;
	console.log(`Resume with: npm start -- --again ${at}${place}`);
	return typeof code === "number" ? code : 1;
}

function versionOf(text: string): PiVersion {
	const version = piVersions.find((each) => each === text);
	if (version === undefined)
		throw new Error(`--pi is one of ${piVersions.join(", ")}, not "${text}"`);
	return version;
}

function placeOf(cwd: string | undefined, again: string | undefined): Place {
	if (again !== undefined && !existsSync(join(again, "agent"))) {
		throw new Error(`${again} is not a folder of an earlier start`);
	}
	const at = realpathSync(again ?? mkdtempSync(join(tmpdir(), "rewind-try-")));
	// A new session greets with what the model understands; a resumed one does not.
	const args = again === undefined ? ["help"] : ["-c"];
	if (cwd !== undefined) return { at, cwd: resolve(cwd), env: personalEnvironment(at), args };
	if (again !== undefined) {
		return { at, cwd: join(at, "repo"), env: isolatedEnvironment(at, { terminal: true }), args };
	}
	const { root, env } = createWorld({ at, files, terminal: true });
	return { at, cwd: root, env, args };
}

/** In the person's own folder their HOME holds too: their ignore rules and `safe.directory` belong to it. */
function personalEnvironment(at: string): Environment {
	const { HOME = "" } = process.env;
	return { ...isolatedEnvironment(at, { terminal: true }), HOME };
}

try {
	process.exitCode = await start();
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 2;
}
