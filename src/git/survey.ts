/**
 * What a capture has to look at, and what becomes of each: staged, taken off the index, or named as not covered.
 *
 * Names come from the listing and from what no listing names: forced files, files that changed in the very second in
 * which they were captured, special files.
 */
import { statfs } from "node:fs/promises";
import type { NotCovered, Snapshot } from "../core/coverage.ts";
import { RewindError } from "../core/errors.ts";
import type { BytePath } from "../core/ids.ts";
import { absolutePath, blobIdAt, holdsRepository, lstatAt } from "../disk/files.ts";
import {
	type Classified,
	classify,
	type OwnPaths,
	overTurnLimit,
	safeLstat,
	signatureOf,
} from "./classify.ts";
import { listFolders, type Listing, type RunHere, runIn } from "./listing.ts";
import type { IndexNews, PersonIndex } from "./person-index.ts";
import type { Scope } from "./private-dir.ts";
import type { Repository } from "./repository.ts";

export interface SurveyDeps {
	readonly repository: Repository;
	/** Environment of the private git dir. */
	readonly env: NodeJS.ProcessEnv;
	readonly personIndex: PersonIndex;
	readonly own: OwnPaths;
	readonly maxFileBytes: number;
	readonly scope: Scope;
}

export interface SurveyRequest {
	readonly git: RunHere;
	readonly listing: Listing;
	readonly news: IndexNews;
	readonly last: Snapshot | undefined;
	/** More paths to look at. */
	readonly also: readonly BytePath[];
	/** Paths to look at, which the index is not to be believed about. */
	readonly again: ReadonlySet<BytePath>;
	readonly signal: AbortSignal | undefined;
}

export interface Survey {
	readonly listing: Listing;
	readonly found: Classified;
	/** Captured until now, and not to be any more. */
	readonly drop: readonly BytePath[];
	/** As asked. */
	readonly again: readonly BytePath[];
	/** Captured until now; the person's index does not have it any more. */
	readonly leftScope: readonly BytePath[];
	/** Repositories in which the last snapshot may have files. */
	readonly newRepositories: readonly BytePath[];
}

/** Free disk space, beyond what is about to be written, below which nothing is captured. */
const freeBytesMin = 32 * 1024 * 1024;

/** Gives the function that surveys; it throws `no-space`, and what git's listings throw. */
export function createSurvey(deps: SurveyDeps): (request: SurveyRequest) => Promise<Survey> {
	const { repository, env, personIndex, scope } = deps;
	const { root, format } = repository;
	/** Whether the content of a file, by its path and state, is in the repository. */
	const answers = new Map<string, boolean>();
	let answeredFor: ReadonlySet<BytePath> | undefined;

	async function survey(request: SurveyRequest): Promise<Survey> {
		const { git, listing, news, last, also, again, signal } = request;
		// A captured file or link that is a folder now: git says that it is gone, and nothing of what is in it.
		const swapped = listing.changed.filter((path) => lstatAt(root, path)?.isDirectory() === true);
		const folders = [...listing.folders, ...swapped];
		const nested = folders.filter((folder) => holdsRepository(root, folder));
		// What is in them is not tracked.
		const plainFolders =
			scope === "all" ? folders.filter((folder) => !holdsRepository(root, folder)) : [];
		// To take what is not in the index off it would cost a process, and git's memory of its folders.
		const outside = new Set([
			...listing.untracked,
			...(await listFolders(git, plainFolders, signal)),
		]);
		const leaving = await leavingScope(again);
		// What the last capture left out, and no listing may name. It stays named while it is there, and comes back.
		const leftOut = new Set([
			...pathsNamed(last, "special-file"),
			...(await trackedOf([...pathsNamed(last, "too-large"), ...pathsNamed(last, "turn-limit")])),
		]);
		// Where the folder could not be searched, the last snapshot has it still.
		const unreadable = await trackedOf(pathsNamed(last, "unreadable"));
		const candidates = new Set([
			...listing.changed,
			...outside,
			...nested,
			...again,
			...news.add,
			...also,
			...leftOut,
			...unreadable,
		]);
		for (const path of leaving) candidates.delete(path);
		const found = await limitTurn(await classifyAll(candidates));
		await assertSpace(found);
		const missing = new Set(listing.missing);
		const known = new Set<string>(pathsNamed(last, "nested-repository"));
		return {
			listing,
			found,
			drop: found.drop.filter(
				(path) => missing.has(path) || !(outside.has(path) || leftOut.has(path)),
			),
			again: [...again],
			leftScope: [...news.remove, ...leaving],
			newRepositories: [...found.repositories].filter((path) => !known.has(`${path}/`)),
		};
	}

	/** In scope `tracked`: what a capture that was cut off had taken off the index already. */
	async function leavingScope(again: ReadonlySet<BytePath>): Promise<BytePath[]> {
		if (scope === "all" || again.size === 0) return [];
		const tracked = await personIndex.tracked();
		return [...again].filter((path) => !tracked.has(path));
	}

	/** Of files that are ignored, those that are tracked all the same are captured. */
	async function trackedOf(paths: readonly BytePath[]): Promise<BytePath[]> {
		if (paths.length === 0) return [];
		const tracked = await personIndex.tracked();
		return paths.filter((path) => tracked.has(path));
	}

	/** A large file that the person committed costs nothing: its very bytes are in the repository. */
	async function classifyAll(candidates: ReadonlySet<BytePath>): Promise<Classified> {
		const known = new Set<BytePath>();
		const input = {
			root,
			own: deps.own,
			maxFileBytes: deps.maxFileBytes,
			isSparse: personIndex.isSparse,
			isKnownContent: (path: BytePath) => known.has(path),
		};
		const first = classify(candidates, input);
		for (const { path, reason } of first.notCovered)
			if (reason === "too-large" && (await isInRepository(path))) known.add(path);
		return known.size === 0 ? first : classify(candidates, input);
	}

	/** Answered once for each state of the file and of the person's index: it takes reading all of a large file. */
	async function isInRepository(path: BytePath): Promise<boolean> {
		const tracked = await personIndex.tracked();
		if (!tracked.has(path)) return false;
		if (tracked !== answeredFor) answers.clear();
		answeredFor = tracked;
		const stats = safeLstat(absolutePath(root, path));
		const state = typeof stats === "object" ? `${path}\0${signatureOf(stats)}` : undefined;
		const known = state === undefined ? undefined : answers.get(state);
		if (known !== undefined) return known;
		const id = blobIdAt(root, path, format);
		if (id === undefined) return false;
		const { code } = await runIn(root, env)(["cat-file", "-e", id], { answers: [1, 128] });
		if (state !== undefined) answers.set(state, code === 0);
		return code === 0;
	}

	async function limitTurn(found: Classified): Promise<Classified> {
		if (overTurnLimit(found.sizes, () => false).size === 0) return found;
		const tracked = await personIndex.tracked();
		const over = overTurnLimit(found.sizes, (path) => tracked.has(path));
		const named = [...over].map((path): NotCovered => ({
			path,
			reason: "turn-limit",
			size: found.sizes.get(path) ?? 0,
		}));
		return {
			...found,
			stage: found.stage.filter((path) => !over.has(path)),
			drop: [...found.drop, ...over],
			notCovered: [...found.notCovered, ...named],
		};
	}

	async function assertSpace(found: Classified): Promise<void> {
		let bytes = 0;
		for (const size of found.sizes.values()) bytes += size;
		if (bytes < freeBytesMin) return; // git itself says when even that does not fit
		const { bavail, bsize } = await statfs(repository.objectsDir);
		if (bavail * bsize > bytes + freeBytesMin) return;
		throw new RewindError("no-space", "Not enough free disk space for a snapshot", {
			hint: "No files were changed; free some space",
		});
	}

	return survey;
}

const pathsNamed = (snapshot: Snapshot | undefined, why: NotCovered["reason"]): BytePath[] =>
	(snapshot?.coverage.notCovered ?? [])
		.filter(({ reason }) => reason === why)
		.map(({ path }) => path);
