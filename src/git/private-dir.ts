/**
 * The private git dir of one working tree: our HEAD, index, config and attributes, beside the person's own.
 *
 * Layout of `<git dir of the worktree>/pi-rewind/`:
 *   worktree-id        random name of this working tree; moves with it
 *   all/ tracked/      one git dir per scope: HEAD (the snapshot its index stands for), index, config, info/
 *   all/young          files whose second of change was not over when they were captured (see young.ts)
 *   capture.lock       who captures now
 *   open-N.json        a session that a running Pi has open
 *   journal-N.json     a restore that is under way or was cut off
 *   stage-N            content ready to be renamed into place
 *
 * Invariants: [R13] [R14] `info/attributes` outranks every .gitattributes, so no filter runs and bytes stay bytes.
 * [R1] All of it can be deleted: it is made, or found, again.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import type { ObjectId } from "../core/ids.ts";
import { decodeObjectId } from "../core/ids.ts";
import type { Repository } from "./repository.ts";

const unbornHead = "ref: refs/heads/none\n";

export type Scope = "all" | "tracked";

export interface PrivateDir {
	/** The GIT_DIR for all work of this scope. */
	readonly gitDir: string;
	/** The snapshot that the index stands for; absent before the first one. */
	readHead(): ObjectId | undefined;
	writeHead(id: ObjectId): Promise<void>;
	/** Back to before the first snapshot. */
	forgetHead(): Promise<void>;
	/** Whether there is an index, and a snapshot that it stands for. */
	isWhole(): boolean;
	/** Makes again what somebody deleted. */
	repair(): Promise<void>;
	/** Forgets the index and all that was learned from it; the next capture hashes everything. */
	reset(): Promise<void>;
}

/**
 * `!` where the attribute has a value, `-` where it is a switch: both mean "as if no file said anything". `!diff`: the
 * content alone says what is text, when it is shown.
 */
const attributes =
	"* -text !eol -crlf -ident -filter !working-tree-encoding !diff -merge !whitespace\n";

function configText(repository: Repository): string {
	const { format, carried, excludesFile } = repository;
	const sha256 = format === "sha256";
	const core: Record<string, string> = {
		// A format that is not named would be SHA-1: trees of the wrong kind in a SHA-256 repository.
		repositoryformatversion: sha256 ? "1" : "0",
		bare: "false",
		...carried,
		untrackedCache: "true",
		logAllRefUpdates: "false",
		hooksPath: devNull,
		fsmonitor: "false",
		splitIndex: "false",
		excludesFile: quote(excludesFile),
		// Names that only other systems mind are ordinary names here.
		protectNTFS: "false",
		protectHFS: "false",
	};
	const lines = ["[core]", ...Object.entries(core).map(([name, value]) => `\t${name} = ${value}`)];
	if (sha256) lines.push("[extensions]", "\tobjectFormat = sha256");
	lines.push(
		"[gc]",
		"\tauto = 0",
		"[maintenance]",
		"\tauto = false",
		"[status]",
		"\trenames = false",
	);
	return `${lines.join("\n")}\n`;
}

const quote = (path: string): string =>
	`"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;

/** Makes or mends the private git dir of a scope. */
export async function openPrivateDir(repository: Repository, scope: Scope): Promise<PrivateDir> {
	const gitDir = join(repository.privateDir, scope);
	const headFile = join(gitDir, "HEAD");
	const dir: PrivateDir = {
		gitDir,
		readHead: () => decodeObjectId(readText(headFile, "utf8").trim(), repository.format),
		writeHead: (id) => writeAtomic(headFile, `${id}\n`),
		forgetHead: () => writeAtomic(headFile, unbornHead),
		isWhole: () => existsSync(join(gitDir, "index")) && dir.readHead() !== undefined,
		async repair() {
			await mkdir(join(gitDir, "info"), { recursive: true });
			await mkdir(join(gitDir, "refs"), { recursive: true });
			await writeIfDifferent(join(gitDir, "config"), configText(repository));
			await writeIfDifferent(join(gitDir, "info", "attributes"), attributes);
			// Without a valid HEAD git does not take the folder for a git dir. Unborn: no snapshot yet.
			if (dir.readHead() === undefined) await dir.forgetHead();
		},
		async reset() {
			for (const name of ["index", "index.lock", "young"])
				await rm(join(gitDir, name), { force: true });
		},
	};
	await dir.repair();
	return dir;
}

/**
 * A copy of the index for who did not get the lock; gives its path. git compares a file's times with the index's own,
 * so the copy does not look younger.
 */
export async function copyIndex(gitDir: string): Promise<string> {
	const from = join(gitDir, "index");
	const to = join(gitDir, `index.${process.pid}`);
	try {
		const { atimeMs, mtimeMs } = await stat(from);
		await copyFile(from, to);
		// Rounded down: an index that looks older than it is makes git look again, never less.
		await utimes(to, Math.floor(atimeMs / 1000), Math.floor(mtimeMs / 1000));
	} catch {
		// No index yet: this capture starts an empty one of its own.
	}
	return to;
}

/**
 * A small file of ours, empty where there is none that can be read. Synchronous: at every capture a few of these are
 * read, in microseconds each.
 */
export function readText(file: string, encoding: "utf8" | "latin1"): string {
	try {
		return readFileSync(file, encoding);
	} catch {
		// Absent or not to be read: it is made, or found, again. [R1]
		return "";
	}
}

/** Writes under another name, then renames: readers see the old content or the new. */
export async function writeAtomic(file: string, content: string | Buffer): Promise<void> {
	const temporary = `${file}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
	try {
		await writeFile(temporary, content);
		await rename(temporary, file);
	} catch (error) {
		await rm(temporary, { force: true });
		throw error;
	}
}

export async function writeIfDifferent(file: string, content: string | Buffer): Promise<boolean> {
	const old = await readFile(file).catch(() => undefined);
	if (old?.equals(Buffer.from(content)) === true) return false;
	await writeAtomic(file, content);
	return true;
}
