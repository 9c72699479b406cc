/**
 * Finds the repository of a folder, or says why it cannot be used.
 *
 * Discovery runs git without GIT_DIR and with the person's own config: the only way to honour `safe.directory`. [R13]
 * What a repository's config could use to move the root elsewhere (`core.worktree`) is refused: `<root>/.git` must
 * lead to the git dir found.
 */
import { constants } from "node:fs";
import { access, lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isRewindError } from "../core/errors.ts";
import type { ObjectFormat } from "../core/ids.ts";
import { type GitResult, harmless, lineOf, nulRecords, personEnv, runGit } from "./run.ts";

/** `rev-parse --path-format` came with 2.31; everything else used here is older. */
export const gitVersionMin = "2.31";

export interface Repository {
	/** Real path of the working tree's top folder. */
	readonly root: string;
	/** Git dir of this working tree; for a linked worktree, its own below the common dir. */
	readonly gitDir: string;
	readonly commonDir: string;
	readonly objectsDir: string;
	readonly format: ObjectFormat;
	/** Where ours lives: `<gitDir>/pi-rewind`. */
	readonly privateDir: string;
	/** Whether refs are files; else (reftable) only git may read them. */
	readonly refsAreFiles: boolean;
	/** Settings that must carry over to the private git dir, as `core.<name> = <value>`. */
	readonly carried: Readonly<Record<string, string>>;
	/** The person's excludes file, absolute, whether or not it exists; empty when they set it to nothing. */
	readonly excludesFile: string;
}

export type Refusal =
	| "not-a-repository"
	| "bare"
	| "inside-git-dir"
	| "git-missing"
	| "git-too-old"
	| "ownership"
	| "git-dir-elsewhere"
	| "read-only"
	| "root-too-wide"
	| "git-refused";

export type Discovery =
	| { readonly kind: "repository"; readonly repository: Repository }
	| {
			readonly kind: "unavailable";
			readonly reason: Refusal;
			/** For people: what is so, and what to do about it. */
			readonly message: string;
	  };

const no = (reason: Refusal, message: string): Discovery => ({
	kind: "unavailable",
	reason,
	message,
});

/** Looks for the repository that `cwd` belongs to. Reads only, but for making sure that its git dir can be written. */
export async function discover(
	cwd: string,
	env: NodeJS.ProcessEnv = process.env,
): Promise<Discovery> {
	const where = await revParse(cwd, env);
	if ("kind" in where) return where;
	const { root, gitDir, commonDir, objectsDir, format } = where;
	const elsewhere = await refuseElsewhere(root, gitDir);
	if (elsewhere !== undefined) return elsewhere;
	const wide = await refuseWideRoot(root, env);
	if (wide !== undefined) return wide;
	const privateDir = join(gitDir, "pi-rewind");
	const readOnly = await refuseReadOnly(privateDir, objectsDir);
	if (readOnly !== undefined) return readOnly;
	const config = await readConfig(root, gitDir, env);
	return {
		kind: "repository",
		repository: { root, gitDir, commonDir, objectsDir, format, privateDir, ...config },
	};
}

interface Where {
	root: string;
	gitDir: string;
	commonDir: string;
	objectsDir: string;
	format: ObjectFormat;
}

async function revParse(cwd: string, env: NodeJS.ProcessEnv): Promise<Where | Discovery> {
	let result: GitResult;
	try {
		await stat(cwd);
		result = await runGit({
			args: [
				...harmless,
				"rev-parse",
				"--path-format=absolute",
				"--is-bare-repository",
				"--is-inside-work-tree",
				"--absolute-git-dir",
				"--git-common-dir",
				"--git-path",
				"objects",
				"--show-object-format",
				"--show-toplevel",
			],
			cwd,
			env: personEnv(env),
			answers: [128, 129],
		});
	} catch (error) {
		if (isRewindError(error) && error.code === "io-failed" && error.data["code"] === "ENOENT")
			return no("git-missing", "git was not found · Install git, or put it on PATH");
		throw error;
	}
	const lines = result.stdout.toString("utf8").split("\n");
	const [bare, inside, gitDir, common, objects, format, top] = lines;
	if (result.code !== 0) return refusalOf(result, bare, inside, cwd, env);
	if (lines.length !== 8 || gitDir === undefined || common === undefined || objects === undefined)
		return (
			(await refuseOldGit(cwd, env)) ??
			no("git-refused", "The repository's path holds a newline · Move it to another path")
		);
	if (top === undefined || (format !== "sha1" && format !== "sha256"))
		return no(
			"git-refused",
			`Unknown object format ${JSON.stringify(format)} · Use a newer pi-rewind`,
		);
	return {
		root: await realpath(top),
		gitDir: await realpath(gitDir),
		commonDir: await realpath(common),
		objectsDir: await realpath(objects),
		format,
	};
}

/** git names the reason only in words; LC_ALL=C keeps them the same. */
async function refusalOf(
	result: GitResult,
	bare: string | undefined,
	inside: string | undefined,
	cwd: string,
	env: NodeJS.ProcessEnv,
): Promise<Discovery> {
	const old = await refuseOldGit(cwd, env);
	if (old !== undefined) return old;
	if (/dubious ownership/.test(result.stderr)) {
		return no(
			"ownership",
			"git refuses this repository: it belongs to another user · If you trust it, run: git config --global --add safe.directory <its folder>",
		);
	}
	if (bare === "true") return no("bare", "This is a bare repository: it has no working tree");
	if (inside === "false")
		return no("inside-git-dir", "Pi runs inside a git dir, not in a working tree");
	if (/not a git repository/.test(result.stderr))
		return no(
			"not-a-repository",
			"This folder is in no git repository · Run git init to get points",
		);
	// What it refuses can stand on lines of its own, indented.
	const said = /^(?:fatal|error): (.*(?:\n[ \t]+.*)*)/m.exec(result.stderr)?.[1];
	const words = said?.replace(/\s+/g, " ").trim() ?? "no reason given";
	return no("git-refused", `git refuses this repository: ${words}`);
}

async function refuseOldGit(cwd: string, env: NodeJS.ProcessEnv): Promise<Discovery | undefined> {
	const { stdout } = await runGit({ args: ["version"], cwd, env: personEnv(env) });
	const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout.toString()) ?? [])
		.slice(1)
		.map(Number);
	if (major > 2 || (major === 2 && minor >= 31)) return undefined;
	return no(
		"git-too-old",
		`git ${major}.${minor} is too old · Install git ${gitVersionMin} or newer`,
	);
}

/** `<root>/.git`, a folder or a file that names one, must lead to the git dir that discovery found. */
async function refuseElsewhere(root: string, gitDir: string): Promise<Discovery | undefined> {
	if ((await gitDirNamedBy(root)) === gitDir) return undefined;
	return no(
		"git-dir-elsewhere",
		"The git dir says that its working tree is here, but the folder's own .git does not lead to it (core.worktree?) · Start Pi in the repository that you mean",
	);
}

/** Real path of the git dir that `<folder>/.git` leads to; absent when there is none. */
export async function gitDirNamedBy(folder: string): Promise<string | undefined> {
	const link = join(folder, ".git");
	try {
		if ((await stat(link)).isDirectory()) return await realpath(link);
		const text = await readFile(link, "utf8");
		const named = /^gitdir: (.*?)\r?\n?$/s.exec(text)?.[1];
		if (named === undefined) return undefined;
		return await realpath(isAbsolute(named) ? named : resolve(folder, named));
	} catch {
		// No .git, or one that leads nowhere: both mean that this folder is not the root found.
		return undefined;
	}
}

/** A repository of the whole home folder (dotfiles) would put everything a person has into each snapshot. */
async function refuseWideRoot(
	root: string,
	env: NodeJS.ProcessEnv,
): Promise<Discovery | undefined> {
	const home = await realpath(env["HOME"] ?? homedir()).catch(() => homedir());
	if (root !== "/" && root !== home && !home.startsWith(root.endsWith(sep) ? root : root + sep))
		return undefined;
	return no(
		"root-too-wide",
		"The repository's root is your home folder, or above it: far too much to snapshot · Start Pi in a repository below it",
	);
}

async function refuseReadOnly(
	privateDir: string,
	objectsDir: string,
): Promise<Discovery | undefined> {
	try {
		await mkdir(privateDir, { recursive: true });
		await access(privateDir, constants.W_OK | constants.X_OK);
		await access(objectsDir, constants.W_OK | constants.X_OK);
		return undefined;
	} catch (error) {
		const why = error instanceof Error && "code" in error ? String(error.code) : "unknown";
		return no(
			"read-only",
			`The git dir cannot be written (${why}) · Points need a writable git dir`,
		);
	}
}

async function readConfig(
	root: string,
	gitDir: string,
	env: NodeJS.ProcessEnv,
): Promise<Pick<Repository, "refsAreFiles" | "carried" | "excludesFile">> {
	const args = [
		"--git-dir",
		gitDir,
		...harmless,
		"config",
		"-z",
		"--get-regexp",
		"^(core|extensions)\\.",
	];
	const { stdout } = await runGit({ args, cwd: root, env: personEnv(env), answers: [1] });
	const config = new Map<string, string>();
	for (const record of nulRecords(stdout)) {
		const cut = record.indexOf("\n");
		// A key without "=" is true.
		if (cut < 0) config.set(record, "true");
		else
			config.set(
				record.slice(0, cut),
				Buffer.from(record.slice(cut + 1), "latin1").toString("utf8"),
			);
	}
	const isTrue = (key: string): boolean => /^(true|yes|on|1)$/i.test(config.get(key) ?? "");
	const carried: Record<string, string> = {};
	for (const name of ["filemode", "symlinks", "ignorecase", "precomposeunicode"]) {
		const value = config.get(`core.${name}`);
		if (value !== undefined) carried[name] = isTrue(`core.${name}`) ? "true" : "false";
	}
	return {
		refsAreFiles: (config.get("extensions.refstorage") ?? "files") === "files",
		carried,
		excludesFile: await excludesFile(config.get("core.excludesfile"), root, gitDir, env),
	};
}

async function excludesFile(
	configured: string | undefined,
	root: string,
	gitDir: string,
	env: NodeJS.ProcessEnv,
): Promise<string> {
	const home = env["HOME"] ?? homedir();
	if (configured === "") return "";
	if (configured === undefined) {
		const config = env["XDG_CONFIG_HOME"];
		return join(
			config === undefined || config === "" ? join(home, ".config") : config,
			"git",
			"ignore",
		);
	}
	// git expands ~, ~user and %(prefix) itself.
	const args = [
		"--git-dir",
		gitDir,
		...harmless,
		"config",
		"--type=path",
		"--get",
		"core.excludesFile",
	];
	const expanded = await runGit({ args, cwd: root, env: personEnv(env), answers: [1, 128] });
	return resolve(root, expanded.code === 0 ? lineOf(expanded.stdout) : configured);
}

/**
 * Whether `cwd` still belongs to `repository`: no `.git` came between, the root's own still leads to the same git dir.
 * Cheap (a few lstat calls), so that each capture may ask.
 */
export async function stillIn(cwd: string, repository: Repository): Promise<boolean> {
	let folder = await realpath(cwd).catch(() => undefined);
	if (folder === undefined) return (await gitDirNamedBy(repository.root)) === repository.gitDir;
	for (; folder !== repository.root; folder = dirname(folder)) {
		if (folder === dirname(folder)) return false;
		if (await exists(join(folder, ".git"))) return false;
	}
	return (await gitDirNamedBy(repository.root)) === repository.gitDir;
}

const exists = (path: string): Promise<boolean> =>
	lstat(path).then(
		() => true,
		() => false,
	);
