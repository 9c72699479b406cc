/** Many files in one turn. */
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectSame, expectSound, openWorld } from "../support/engine.ts";

test(
	"20,000 new files in one turn go, and come back exactly (B20)",
	{ timeout: 600_000 },
	async () => {
		await using setup = await openWorld();
		const { world, engine } = setup;
		const before = world.files({ inodes: true });
		const first = await engine.capture();
		for (let d = 0; d < 200; d++) {
			mkdirSync(world.path(`modules/package-${d}/lib`), { recursive: true });
			for (let f = 0; f < 100; f++)
				writeFileSync(world.path(`modules/package-${d}/lib/file-${f}.js`), `${d} ${f}\n`);
		}
		const full = world.files();
		const restored = await engine.restore(first);
		expect([restored.counts, restored.skips]).toEqual([
			{ changed: 0, added: 0, deleted: 20_000 },
			[],
		]);
		expectSame(before, world.files({ inodes: true }));
		const undone = await engine.undo(restored);
		expect(undone.counts).toEqual({ changed: 0, added: 20_000, deleted: 0 });
		expectSame(full, world.files());
		expectSound(world);
	},
);
