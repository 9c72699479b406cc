/** A throwaway folder to measure in, and an environment that has nothing of the person's. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Changes this process's environment: git must not read the person's config. */
export function makeWorkplace(): { readonly at: string } & Disposable {
	const at = realpathSync(mkdtempSync(join(tmpdir(), "rewind-bench-")));
	const home = join(at, "home");
	mkdirSync(home);
	for (const name of Object.keys(process.env))
		if (name.startsWith("GIT_") || name === "XDG_CONFIG_HOME") delete process.env[name];
	Object.assign(process.env, { HOME: home, GIT_CONFIG_NOSYSTEM: "1" });
	const remove = (): void => rmSync(at, { recursive: true, force: true });
	process.once("exit", remove);
	for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
	return { at, [Symbol.dispose]: remove };
}
