/** Objects that are written come back from git as they are, of every size at which their encoding changes. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newObject } from "../../src/git/objects.ts";
import { createObjectWriter } from "../../src/git/object-writer.ts";
import { expectSound, gitBytes } from "../support/engine.ts";
import { createWorld } from "../support/world.ts";

/** Of the size in a pack's entry (4, 11, 18 bits), of a stored block (64 KiB), of what is small and what is not. */
const sizes = [0, 1, 15, 16, 2_047, 2_048, 65_535, 65_536, 65_537, 262_143, 262_144, 5 << 20];

test.each(["sha1", "sha256"] as const)("blobs of every size, each once, %s", async (format) => {
	await using world = createWorld({ init: [`--object-format=${format}`] });
	const writer = createObjectWriter(format, world.root, world.env);
	const blobs = sizes.flatMap((size) =>
		[randomBytes(size), Buffer.alloc(size, "a")].map((content) =>
			newObject(format, "blob", content),
		),
	);
	await writer.write([...blobs, ...blobs]);
	for (const { id, content } of blobs)
		expect(gitBytes(world, ["cat-file", "blob", id]).equals(content)).toBe(true);
	expectSound(world);
});

test("nothing is written for nothing", async () => {
	await using world = createWorld();
	await createObjectWriter("sha1", world.root, { PATH: "/nowhere" }).write([]);
});
