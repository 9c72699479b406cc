/** Where the person's HEAD stands is recorded as git says, however it is stored. */
import { expect, test } from "vitest";
import { openEngine, openWorld } from "../support/engine.ts";
import type { World } from "../support/world.ts";

const cases: Readonly<Record<string, string>> = {
	"a loose branch": "true",
	"a packed branch": "git pack-refs --all",
	"a packed branch beside one that ends like it":
		"git branch x/main; git branch ain; git pack-refs --all",
	"a loose branch before the same, packed":
		"git pack-refs --all; git commit -q --allow-empty -m next",
	"a branch with slashes, packed": "git switch -qc a/b/c; git pack-refs --all",
	"a branch below which another was":
		"git switch -qc a; git switch -qc t; git branch -D a; git branch a/b; git branch -D a/b; git switch -qc a",
	"no commit yet": "git switch -q --orphan new",
	"no commit yet, others packed": "git pack-refs --all; git switch -q --orphan new",
	"a branch that was deleted": "git update-ref -d refs/heads/main",
	detached: "git checkout -q --detach",
	"detached at a tag": "git tag -a -m t t; git checkout -q t",
	"a link for a HEAD": "rm .git/HEAD; ln -s refs/heads/main .git/HEAD",
	"a HEAD that an editor wrote": "printf 'ref: refs/heads/main \\r\\n' > .git/HEAD",
	"a branch that names another":
		"git symbolic-ref refs/heads/alias refs/heads/main; git symbolic-ref HEAD refs/heads/alias",
	"a name that is not ASCII": "git switch -qc zurück; git pack-refs --all",
};

/** Empty where there is none. */
function asked(world: World): { head: string; branch: string } {
	const branch = world.shell("git symbolic-ref --quiet HEAD || true").trim();
	const head = world.shell("git rev-parse --verify --quiet 'HEAD^{commit}' || true").trim();
	return { head, branch };
}

test.each(Object.entries(cases))("%s", async (_, script) => {
	await using setup = await openWorld();
	const { world, engine } = setup;
	world.shell(script);
	const { head } = await engine.capture();
	expect({ head: head?.head ?? "", branch: head?.branch ?? "" }).toEqual(asked(world));
});

test("in a linked worktree", async () => {
	await using setup = await openWorld();
	const { world } = setup;
	world.shell("git worktree add -q ../linked -b side; git pack-refs --all");
	await using linked = await openEngine(world, { cwd: `${world.at}/linked` });
	expect((await linked.capture()).head).toMatchObject({
		branch: "refs/heads/side",
		head: world.git("rev-parse", "side").trim(),
	});
});
