/** A pack stream of whole objects (gitformat-pack): how many objects reach git through one process. */
import { createHash } from "node:crypto";
import { deflate, deflateSync } from "node:zlib";
import type { ObjectFormat, ObjectId } from "../core/ids.ts";
import { createBreather } from "../disk/files.ts";
import type { NewObject } from "./objects.ts";

const typeNumbers = { commit: 1, tree: 2, blob: 3 } as const;

/** Each object once, in any order. */
export async function encodePack(
	format: ObjectFormat,
	objects: readonly NewObject[],
): Promise<Buffer> {
	const breathe = createBreather();
	const distinct = new Map<ObjectId, NewObject>(objects.map((object) => [object.id, object]));
	const head = Buffer.alloc(12);
	head.write("PACK", "latin1");
	head.writeUInt32BE(2, 4);
	head.writeUInt32BE(distinct.size, 8);
	const hash = createHash(format).update(head);
	const parts: Buffer[] = [head];
	for (const { type, content } of distinct.values()) {
		const entry = [entryHead(typeNumbers[type], content.length), await deflated(content)];
		for (const part of entry) hash.update(part);
		parts.push(...entry);
		await breathe();
	}
	return Buffer.concat([...parts, hash.digest()]);
}

/** Type and size: four bits of the size beside the type, then seven a byte, low ones first; the high bit: more to come. */
function entryHead(type: number, size: number): Buffer {
	const bytes: number[] = [];
	let byte = type * 16 + (size % 16);
	for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
		bytes.push(byte + 128);
		byte = rest % 128;
	}
	return Buffer.from([...bytes, byte]);
}

/** Up to here a trip through the thread pool takes longer than the work. */
const smallBytes = 64 << 10;

/**
 * Not compressed: git inflates what it reads, and compresses each object on its own when it writes it. Most objects are
 * small: the buffers that zlib takes for large ones would cost more than the work on them.
 */
async function deflated(content: Buffer): Promise<Buffer> {
	const chunkSize = Math.min(Math.max(content.length + 128, 1_024), 1 << 20);
	const options = { level: 0, chunkSize };
	if (content.length <= smallBytes) return deflateSync(content, options);
	return new Promise((resolve, reject) =>
		deflate(content, options, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
	);
}
