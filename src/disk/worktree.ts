/**
 * Writes the working tree.
 *
 *   inspect ──▶ (plan) ──▶ stage ──▶ perform ──▶ complete
 *                            │           │ └─ a step fails ─▶ taken back, journal gone
 *                            └▶ discard  └─ the process dies ─▶ the journal names it [R9]
 *
 * Limit: what the file system does not show to us (extended attributes, access lists, folder times) is not kept.
 */
import { rm } from "node:fs/promises";
import { RewindError } from "../core/errors.ts";
import type { Step } from "../core/plan.ts";
import type { JournalDraft, Performed, Stage, Worktree } from "../engine/ports.ts";
import { asRewindError } from "./failures.ts";
import { inspectPaths } from "./inspect.ts";
import { readElsewhere, readInterrupted, removeJournal, writeJournal } from "./journal.ts";
import { clearLeftovers } from "./leftovers.ts";
import { type DiskStage, isStageFolder, makeStage } from "./stage.ts";
import { createSteps, type StepsOptions, type StepsRun } from "./steps.ts";

export interface WorktreeOptions extends StepsOptions {
	/** Where stages and journals live. */
	readonly privateDir: string;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
}

/** The writer of one working tree. Its methods throw `RewindError`, and `inspect` what the file system says. */
export function createWorktree(options: WorktreeOptions): Worktree {
	const { root, privateDir } = options;
	const stages = new Map<string, DiskStage>();

	async function perform(
		given: Stage,
		steps: readonly Step[],
		draft: JournalDraft,
	): Promise<Performed> {
		const stage = stages.get(given.id);
		if (stage === undefined)
			throw new RewindError("invariant-broken", "BUG: this stage is not prepared any more");
		const journal = await writeJournal(privateDir, draft, stage.folders);
		const run = createSteps(options, stage, steps, draft);
		try {
			await run.doAll();
		} catch (error) {
			const failed = takeBack(run, error);
			if (failed.code === "restore-rolled-back") await complete(stage, journal);
			throw failed;
		}
		return { ...run.verify(), complete: () => complete(stage, journal) };
	}

	/** The journal first: without it the stage is rubbish, without the stage the journal is still a promise. */
	async function complete(stage: DiskStage, journal: string): Promise<void> {
		await removeJournal(journal);
		stages.delete(stage.id);
		await stage.discard();
	}

	return {
		inspect: (paths) => inspectPaths(root, paths),
		async stage(steps, readBlobs, signal) {
			const stage = await makeStage(root, privateDir, steps, readBlobs, signal);
			stages.set(stage.id, stage);
			return {
				id: stage.id,
				async discard() {
					stages.delete(stage.id);
					await stage.discard();
				},
			};
		},
		perform,
		interrupted: () => readInterrupted(privateDir, options.now()),
		elsewhere: () => readElsewhere(privateDir, options.now()),
		async forget({ file, journal }) {
			for (const folder of journal.stages)
				if (isStageFolder(root, privateDir, folder))
					await rm(folder, { recursive: true, force: true });
			await removeJournal(file);
		},
		clearLeftovers: () => clearLeftovers(root, privateDir, options.now()),
	};
}

/** Takes a failed restore back and says what is true now. */
function takeBack(run: StepsRun, cause: unknown): RewindError {
	const failed = asRewindError(cause, "The restore failed", "");
	try {
		run.takeBack();
	} catch (second) {
		// The journal stays: at the next start both ways out are on offer. [R9]
		return new RewindError(
			"restore-interrupted",
			`${failed.message}, and rolling back failed too`,
			{
				hint: "Some files are restored and some are not; start Pi again to finish or roll back",
				cause: new AggregateError([cause, second]),
			},
		);
	}
	return new RewindError(
		"restore-rolled-back",
		`${failed.message}; all files are as they were before`,
		{
			...(failed.hint === undefined ? {} : { hint: failed.hint }),
			data: failed.data,
			cause,
		},
	);
}
