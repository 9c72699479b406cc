/** A pack stream of whole objects (gitformat-pack): how many objects reach git through one process. */
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { ObjectFormat } from "../core/ids.ts";
import type { NewObject } from "./objects.ts";

const typeNumbers = { commit: 1, tree: 2, blob: 3 } as const;

/** Each object once, in any order. `level` is zlib's: 0 where git compresses each anew, as it does for loose objects. */
export function encodePack(
	format: ObjectFormat,
	objects: readonly NewObject[],
	level: 0 | 1,
): Buffer {
	const head = Buffer.alloc(12);
	head.write("PACK", "latin1");
	head.writeUInt32BE(2, 4);
	head.writeUInt32BE(objects.length, 8);
	const parts: Buffer[] = [head];
	for (const { type, content } of objects)
		parts.push(entryHead(typeNumbers[type], content.length), deflate(content, level));
	const hash = createHash(format);
	for (const part of parts) hash.update(part);
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

/** Most objects are small: the buffers that zlib takes for large ones cost more than the work on them. */
function deflate(content: Buffer, level: 0 | 1): Buffer {
	const chunkSize = Math.min(Math.max(content.length + 128, 1_024), 1 << 20);
	return deflateSync(content, { level, chunkSize });
}
