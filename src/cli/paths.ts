/** Paths as a person gives them: relative to where they are, of files or folders of the repository. */
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { RewindError } from "../core/errors.ts";
import { type BytePath, bytePathFromText } from "../core/ids.ts";
import { realOr } from "./sessions.ts";
import { plainText } from "./text.ts";
import type { Workplace } from "./workplace.ts";

/** Paths from the root. Throws `bad-usage` for one outside the repository. */
export async function pathsOf(
	{ cwd, root }: Pick<Workplace, "cwd" | "root">,
	given: readonly string[],
): Promise<BytePath[]> {
	return Promise.all(
		given.map(async (text) => {
			const absolute = resolve(cwd, text);
			// As it is written where that is inside: a folder of then can be a link by now. Else a link may lead here.
			const path =
				below(root, absolute) ??
				below(root, join(await realOr(dirname(absolute)), basename(absolute)));
			if (path !== undefined) return bytePathFromText(path);
			throw new RewindError(
				"bad-usage",
				`${plainText(text)} is outside of the repository ${plainText(root)}`,
				{ hint: "A PATH is a file or folder of the repository" },
			);
		}),
	);
}

function below(root: string, path: string): string | undefined {
	const from = relative(root, path);
	return from === ".." || from.startsWith(`..${sep}`) ? undefined : from;
}
