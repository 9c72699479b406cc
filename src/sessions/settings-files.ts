/**
 * Reads the `rewind` key of Pi's settings files: the person's, and the project's where the project is trusted.
 *
 * Pi's own `getSettings` is absent on 0.84, so the files are read here, as Pi reads them. Decides nothing about the
 * values; a file that cannot be used is named, and what it would have said stays at its default. [R12]
 */
import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { SettingsLayer } from "../core/settings.ts";

/** Larger than any settings file; a project's file is not ours to trust. [R13] */
const settingsBytesMax = 1024 * 1024;

export interface SettingsPlaces {
	/** Pi's folder of the person. */
	readonly agentDir: string;
	/** The session's folder. */
	readonly cwd: string;
	/** Name of Pi's folder in a project. */
	readonly configDirName: string;
	/** Whether the person trusts the project; else its file is not read. [R13] */
	readonly projectTrusted: boolean;
}

export interface SettingsLayers {
	/** For `decodeSettings`: the person's first, so that the project's overrides it. */
	readonly layers: readonly SettingsLayer[];
	/** One sentence for each file that could not be used. */
	readonly issues: readonly string[];
}

type FileRead =
	| { readonly kind: "layer"; readonly layer: SettingsLayer }
	| { readonly kind: "nothing" }
	| { readonly kind: "issue"; readonly issue: string };

export async function readSettingsLayers(places: SettingsPlaces): Promise<SettingsLayers> {
	const { agentDir, cwd, configDirName, projectTrusted } = places;
	const files = [resolve(agentDir, "settings.json")];
	if (projectTrusted) files.push(resolve(join(cwd, configDirName), "settings.json"));
	// One file can be both, when Pi's folder was moved into the project.
	const reads = await Promise.all([...new Set(files)].map(readLayer));
	return {
		layers: reads.flatMap((read) => (read.kind === "layer" ? [read.layer] : [])),
		issues: reads.flatMap((read) => (read.kind === "issue" ? [read.issue] : [])),
	};
}

async function readLayer(file: string): Promise<FileRead> {
	const read = await readObject(file);
	if (typeof read === "string") return unusable(file, read);
	if (read === undefined || !("rewind" in read)) return { kind: "nothing" };
	return { kind: "layer", layer: { source: file, value: read["rewind"] } };
}

/** What one of Pi's own files says; nothing where it is not there or cannot be used, which Pi itself tells. */
export async function readSettingsFile(file: string): Promise<Readonly<Record<string, unknown>>> {
	const read = await readObject(file);
	return read === undefined || typeof read === "string" ? {} : read;
}

/** The object in a file; absent where there is no file, the reason in words where it cannot be used. */
async function readObject(
	file: string,
): Promise<Readonly<Record<string, unknown>> | string | undefined> {
	let text: string;
	try {
		const info = await stat(file);
		// Before opening: a FIFO would wait for a writer.
		if (!info.isFile()) return "it is not a file";
		if (info.size > settingsBytesMax) return "it is larger than 1 MiB";
		text = await readFile(file, "utf8");
	} catch (error) {
		const code = error instanceof Error && "code" in error ? error.code : undefined;
		// Absence is the answer for a file that is not there.
		if (code === "ENOENT" || code === "ENOTDIR") return undefined;
		return `it cannot be read (${String(code ?? error)})`;
	}
	let settings: unknown;
	try {
		settings = JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch {
		// The parser's message quotes the file; where it breaks is for an editor to say.
		return "it is not JSON";
	}
	return isObject(settings) ? settings : "it is not an object";
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const unusable = (file: string, why: string): FileRead => ({
	kind: "issue",
	issue: `Settings in ${file} were ignored and left as their defaults: ${why}`,
});
