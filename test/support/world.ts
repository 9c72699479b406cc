/**
 * A throwaway git repository with an environment of its own, Pis that run in it, and strict pictures of everything.
 *
 * A picture says of every path what it is, its permissions and its content; two pictures are compared line by line.
 * They are taken without git where git could change something (it refreshes an index that it reads).
 *
 * Limit: as root, which ignores permissions, nothing is unreadable.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readdirSync,
	readlinkSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment, PiOptions } from "./pi.ts";
import { isolatedEnvironment } from "./pi.ts";
import type { RpcOptions, RpcPi } from "./rpc.ts";
import { startRpc } from "./rpc.ts";
import type { TuiOptions, TuiPi } from "./tui.ts";
import { startTui } from "./tui.ts";

// ---- Pictures ----

/** Path → what is there, as one line. Names that are not UTF-8 are shown as `\xNN`. */
export type Picture = ReadonlyMap<string, string>;

export interface PictureOptions {
	/** Leaves a path out, and what is below it. */
	readonly skip?: (path: string) => boolean;
	/** Also tell whether a file was replaced, or written again with the same content. */
	readonly inodes?: boolean;
	readonly mtimes?: boolean;
}

/** Everything below `root`: files, links, special files, and folders, empty ones too. */
export function takePicture(root: string, options: PictureOptions = {}): Picture {
	const picture = new Map<string, string>();
	const walk = (folder: Buffer, prefix: string): void => {
		for (const name of readdirSync(folder, { encoding: "buffer" }).toSorted(Buffer.compare)) {
			const path = Buffer.concat([folder, Buffer.from("/"), name]);
			const shown = prefix + showName(name);
			if (options.skip?.(shown)) continue;
			const stat = lstatSync(path);
			if (stat.isDirectory()) picture.set(`${shown}/`, `folder ${modeOf(stat)}`);
			else picture.set(shown, describe(path, stat, options));
			if (stat.isDirectory()) walk(path, `${shown}/`);
		}
	};
	walk(Buffer.from(root), "");
	return picture;
}

function describe(path: Buffer, stat: Stats, { inodes, mtimes }: PictureOptions): string {
	const more = [inodes ? ` inode ${stat.ino}` : "", mtimes ? ` mtime ${stat.mtimeMs}` : ""].join(
		"",
	);
	if (stat.isSymbolicLink())
		return `link to ${showName(readlinkSync(path, { encoding: "buffer" }))}`;
	if (!stat.isFile()) return `special ${modeOf(stat)} type ${(stat.mode >> 12).toString(8)}`;
	return `file ${modeOf(stat)} ${hashOf(readFileSync(path))} ${stat.size} bytes${more}`;
}

const modeOf = (stat: Stats): string => (stat.mode & 0o7777).toString(8).padStart(3, "0");

const hashOf = (content: Uint8Array | string): string =>
	createHash("sha256").update(content).digest("hex").slice(0, 16);

function showName(name: Buffer): string {
	const text = name.toString("utf8");
	if (Buffer.from(text, "utf8").equals(name)) return text.replaceAll("\\", "\\\\");
	return name
		.toString("latin1")
		.replace(
			/[^\x20-\x7e]|\\/g,
			(char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
		);
}

/** What changed between two pictures, one line a path; empty when nothing did. */
export function difference(before: Picture, after: Picture): string[] {
	const lines: string[] = [];
	for (const path of new Set([...before.keys(), ...after.keys()])) {
		const [old, now] = [before.get(path), after.get(path)];
		if (old === now) continue;
		if (old === undefined) lines.push(`added ${path}: ${now}`);
		else if (now === undefined) lines.push(`removed ${path}: ${old}`);
		else lines.push(`changed ${path}: ${old} → ${now}`);
	}
	return lines;
}

// ---- The world ----

export interface WorldOptions {
	/** Files before the first commit, by name; default: a few. */
	readonly files?: Readonly<Record<string, string>>;
	/** Arguments of `git init`; false for a folder that is no repository. */
	readonly init?: readonly string[] | false;
	/** Commit the files; default: yes. */
	readonly commit?: boolean;
	/** The person's ~/.gitconfig. */
	readonly gitConfig?: string;
	/** Where to make it, instead of a new folder below the system's temporary one. */
	readonly at?: string;
	/** See isolatedEnvironment(). */
	readonly terminal?: boolean;
}

const filesDefault = { "a.txt": "a0\n", "dir/b.txt": "b0\n", "dir/c.txt": "c0\n" };

/** Where a Pi works is the world's affair, unless a test says otherwise. */
type InWorld<Options extends PiOptions> = Omit<Options, "cwd" | "env"> &
	Partial<Pick<Options, "cwd" | "env">>;

/** Ends with its Pis killed and its folder gone: `await using world = createWorld()`, or `end()`. */
export interface World extends AsyncDisposable {
	/** The folder of everything. */
	readonly at: string;
	/** The working tree. */
	readonly root: string;
	readonly env: Environment;
	readonly path: (name: string) => string;
	/** The content of a file of the working tree; undefined where there is none. */
	readonly read: (name: string) => string | undefined;
	/** Writes a file of the working tree and makes its folders. A name that is not UTF-8 is a Buffer. */
	readonly write: (name: string | Buffer, content: string | Uint8Array, mode?: number) => void;
	readonly remove: (name: string) => void;
	/** Runs git in the working tree; resolves with its output, throws when it fails. */
	readonly git: (...args: readonly string[]) => string;
	readonly shell: (script: string, cwd?: string) => string;
	/** The whole working tree but the `.git` at its root: ignored files and nested repositories too. */
	readonly files: (options?: PictureOptions & { readonly root?: string }) => Picture;
	/** The bytes of the person's index. */
	readonly index: (root?: string) => Picture;
	/** All of the git dir, and of the common one, but objects and what is ours. */
	readonly gitState: (root?: string) => Picture;
	readonly rpc: (options?: InWorld<RpcOptions>) => Promise<RpcPi>;
	readonly tui: (options?: InWorld<TuiOptions>) => Promise<TuiPi>;
	/** Kills the Pis, removes the folder. */
	readonly end: () => Promise<void>;
}

export function createWorld(options: WorldOptions = {}): World {
	const at = options.at ?? realpathSync(mkdtempSync(join(tmpdir(), "rewind-")));
	const root = join(at, "repo");
	const env = isolatedEnvironment(at, options);
	mkdirSync(root);
	const running: AsyncDisposable[] = [];
	const place = { cwd: root, env };
	const end = async (): Promise<void> => {
		await Promise.all(running.map((pi) => pi[Symbol.asyncDispose]()));
		removeFolder(at);
	};
	const world: World = {
		at,
		root,
		env,
		...fileVerbs(root),
		...gitVerbs(root, env),
		rpc: (more = {}) => register(running, startRpc({ ...place, ...more })),
		tui: (more = {}) => register(running, startTui({ ...place, ...more })),
		end,
		[Symbol.asyncDispose]: end,
	};
	populate(world, options);
	return world;
}

async function register<Pi extends AsyncDisposable>(
	running: AsyncDisposable[],
	starting: Promise<Pi>,
): Promise<Pi> {
	const pi = await starting;
	running.push(pi);
	return pi;
}

function populate(world: World, options: WorldOptions): void {
	const { files = filesDefault, init = [], commit = true } = options;
	if (init !== false) world.git("init", "-q", ...init);
	for (const [name, content] of Object.entries(files)) world.write(name, content);
	if (init === false || !commit) return;
	world.git("add", "-A");
	world.git("commit", "-q", "--allow-empty", "-m", "first");
}

/** A test may have left folders that nobody may enter, and a killed Pi's last child may still write. */
function removeFolder(at: string): void {
	try {
		rmSync(at, { recursive: true, force: true, maxRetries: 3 });
	} catch {
		execFileSync("chmod", ["-R", "u+rwX", at]);
		rmSync(at, { recursive: true, force: true, maxRetries: 10 });
	}
}

function fileVerbs(root: string): Pick<World, "path" | "read" | "write" | "remove" | "files"> {
	const path = (name: string): string => join(root, name);
	return {
		path,
		read: (name) => (existsSync(path(name)) ? readFileSync(path(name), "utf8") : undefined),
		write(name, content, mode) {
			const bytes = Buffer.from(name);
			const file = Buffer.concat([Buffer.from(`${root}/`), bytes]);
			mkdirSync(Buffer.from(dirname(file.toString("latin1")), "latin1"), { recursive: true });
			writeFileSync(file, content);
			if (mode !== undefined) chmodSync(file, mode);
		},
		remove: (name) => rmSync(path(name), { recursive: true }),
		files: ({ root: other = root, ...options } = {}) =>
			takePicture(other, {
				...options,
				skip: (name) => name === ".git" || options.skip?.(name) === true,
			}),
	};
}

function gitVerbs(
	root: string,
	env: Environment,
): Pick<World, "git" | "shell" | "index" | "gitState"> {
	const run = (command: string, args: readonly string[], cwd = root): string =>
		execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: "pipe", maxBuffer: 1 << 28 });
	const ask = (question: string, cwd: string): string =>
		run("git", ["rev-parse", "--path-format=absolute", question], cwd).trim();
	return {
		git: (...args) => run("git", args),
		shell: (script, cwd) => run("bash", ["-ec", script], cwd),
		index: (at = root) =>
			takePicture(ask("--git-dir", at), {
				skip: (path) => !/^(index|sharedindex\.\w+)$/.test(path),
			}),
		gitState(at = root) {
			const common = ask("--git-common-dir", at);
			const picture = new Map(takePicture(common, { skip: isOurs }));
			// Files that hold all refs, ours among them: only the others' count.
			if (picture.delete("packed-refs")) {
				const lines = readFileSync(join(common, "packed-refs"), "utf8").split("\n");
				const theirs = lines.filter((line) => !/ refs\/pi-rewind\//.test(line)).join("\n");
				picture.set("packed-refs", `others' ${hashOf(theirs)}`);
			}
			if (existsSync(join(common, "reftable"))) {
				const refs = run("git", ["for-each-ref"], at).split("\n");
				picture.set(
					"reftable",
					refs.filter((line) => !line.includes("\trefs/pi-rewind/")).join(" "),
				);
			}
			return picture;
		},
	};
}

/** Objects, and what the extension owns: its ref, its private git dirs. */
const isOurs = (path: string): boolean =>
	path === "objects" ||
	path === "reftable" ||
	/^(logs\/)?refs\/pi-rewind$/.test(path) ||
	/^(worktrees\/[^/]+\/)?pi-rewind$/.test(path);
