/**
 * Makes repositories to measure in, fast and always the same: the commit comes from `git fast-import` (one pack), the
 * files from `git checkout`; only untracked and ignored ones are written here.
 *
 * Per 100 files: 95 tracked, 5 untracked, 20 more ignored; folders 2 to 6 deep; a root .gitignore, nested ones in some.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface BenchRepository {
	readonly root: string;
	readonly tracked: readonly string[];
	readonly untracked: number;
	readonly ignored: number;
	readonly folders: number;
}

const words = ["core", "util", "view", "data", "page", "test", "model", "route"];
const filesPerFolder = 5;

/** A small generator with a seed, so that every run measures the same tree. */
function randomNumbers(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

export async function makeRepository(root: string, files: number): Promise<BenchRepository> {
	mkdirSync(root, { recursive: true });
	const git = (...args: readonly string[]): void =>
		void execFileSync("git", args, { cwd: root, stdio: "pipe" });
	git("init", "-q", "-b", "main");
	git("config", "gc.auto", "0");
	git("config", "user.name", "bench");
	git("config", "user.email", "bench@localhost");
	const random = randomNumbers(files);
	const content = contentMaker(random);
	const { tracked, untracked, ignored, ignoreFiles, folders } = layOut(files, random);
	await importCommit(root, [
		...ignoreFiles.map((path) => ({ path, content: Buffer.from("*.log\n") })),
		{ path: ".gitignore", content: Buffer.from("node_modules/\ndist/\n*.tmp\n") },
		...tracked.map((path) => ({ path, content: content(path) })),
	]);
	git("checkout", "-q", "-f", "main");
	for (const path of [...untracked, ...ignored]) {
		mkdirSync(join(root, dirname(path)), { recursive: true });
		writeFileSync(join(root, path), content(path));
	}
	// Whole seconds: what is made in the second of an index write is read again and again by git 2.39.
	await new Promise((resolve) => setTimeout(resolve, 1_100));
	git("update-index", "-q", "--refresh");
	git("status", "--porcelain", "-uall");
	return {
		root,
		tracked,
		untracked: untracked.length,
		ignored: ignored.length,
		folders,
	};
}

interface Layout {
	tracked: string[];
	untracked: string[];
	ignored: string[];
	ignoreFiles: string[];
	folders: number;
}

function layOut(files: number, random: (below: number) => number): Layout {
	const layout: Layout = { tracked: [], untracked: [], ignored: [], ignoreFiles: [], folders: 0 };
	const folders = new Set<string>();
	const wanted = Math.ceil(files / filesPerFolder);
	for (let tries = 0; folders.size < wanted && tries < wanted * 20; tries++) {
		const depth = 2 + random(5);
		folders.add(Array.from({ length: depth }, () => words[random(words.length)]).join("/"));
	}
	const list = [...folders];
	layout.folders = list.length;
	for (const [i, folder] of list.entries())
		if (i % 100 === 0) layout.ignoreFiles.push(`${folder}/.gitignore`);
	for (let i = 0; i < files; i++) {
		const folder = list[i % list.length] ?? "";
		const place = i % 20 === 19 ? layout.untracked : layout.tracked;
		place.push(`${folder}/file-${i}.ts`);
		if (i % 5 === 0) layout.ignored.push(`node_modules/package-${i % 997}/lib/file-${i}.js`);
		if (i % 500 === 0) layout.ignored.push(`${folder}/run-${i}.tmp`);
	}
	return layout;
}

/** 0.5 to 3 KB of text that compresses like text does, different for each path. */
function contentMaker(random: (below: number) => number): (path: string) => Buffer {
	const lines = Array.from(
		{ length: 4_000 },
		() => `export const ${words[random(8)]}${random(1e6)} = ${words[random(8)]}(${random(1e6)});\n`,
	);
	const pool = Buffer.from(lines.join(""));
	return (path) => {
		const from = random(pool.length - 4_096);
		return Buffer.concat([
			Buffer.from(`// ${path}\n`),
			pool.subarray(from, from + 512 + random(2_560)),
		]);
	};
}

async function importCommit(
	root: string,
	files: readonly { readonly path: string; readonly content: Buffer }[],
): Promise<void> {
	const child = spawn("git", ["fast-import", "--quiet", "--depth=0"], {
		cwd: root,
		stdio: ["pipe", "ignore", "inherit"],
	});
	const closed = once(child, "close");
	child.stdin.write(
		"commit refs/heads/main\ncommitter bench <bench@localhost> 1700000000 +0000\ndata 5\nfirst\n",
	);
	for (const { path, content } of files) {
		const head = Buffer.from(`M 100644 inline ${path}\ndata ${content.length}\n`);
		const free = child.stdin.write(Buffer.concat([head, content, Buffer.from("\n")]));
		if (!free) await once(child.stdin, "drain");
	}
	child.stdin.end("done\n");
	const [code] = await closed;
	if (code !== 0) throw new Error(`git fast-import ended with ${String(code)}`);
}

/** Changes files of a repository, each time to content that never was there before. */
export function createEditor({ root, tracked }: BenchRepository): (count: number) => void {
	let edits = 0;
	return (count) => {
		const step = Math.floor(tracked.length / count);
		for (let i = 0; i < count; i++) {
			const path = tracked[i * step] ?? "";
			edits++;
			const text = `// edit ${edits} of ${path}\n${"export const changed = true;\n".repeat(40)}`;
			writeFileSync(join(root, path), text);
		}
	};
}
