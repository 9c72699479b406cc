/** Files that come while a capture is made: whether or not it has them, the next one does. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openWorld, owner } from "../support/engine.ts";

test("a file that comes into a folder in the second in which a capture looked into it is in the next one", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a0\n" } });
	const { world, engine } = setup;
	await engine.capture();
	for (let round = 0; round < 3; round++) {
		// The look falls into one second, the writing of the index into the next.
		await sleep(1900 - (Date.now() % 1000));
		const second = Math.floor(Date.now() / 1000);
		world.write("a.txt", `${round}\n`);
		world.shell(`touch -d @${second}.91 .`);
		await engine.capture();
		world.write(`new-${round}.txt`, "n\n");
		// As if it had come right after the look.
		world.shell(`touch -d @${second}.99 .`);
		expect(engine.names(await engine.capture())).toContain(`new-${round}.txt`);
	}
});

test("a capture that was cut off in between hides no such file", async () => {
	await using setup = await openWorld({ files: { "a.txt": "a0\n" } });
	const { world, engine } = setup;
	// From then on git remembers the folder.
	await engine.capture();
	world.write("first.txt", "f\n");
	await engine.capture();
	await sleep(1900 - (Date.now() % 1000));
	const second = Math.floor(Date.now() / 1000);
	world.write("a.txt", "1\n");
	world.shell(`touch -d @${second}.91 .`);
	await engine.capture();
	world.write("new.txt", "n\n");
	world.shell(`touch -d @${second}.99 .`);
	await sleep(2500);
	const signal = AbortSignal.abort();
	await expect(engine.rewind.capture({ owner, signal })).rejects.toThrow(/stopped|aborted|cancel/i);
	expect(engine.names(await engine.capture())).toContain("new.txt");
});
