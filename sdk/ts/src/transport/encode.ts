/**
 * Texts into WebSocket frames: header, mask, masked bytes. Clients must mask; the key is fresh for every frame.
 *
 * A text is written into a scratch buffer first, because its length in bytes is only known then, and masked on the way
 * into a buffer of the right size, four bytes at a time.
 */

import { randomFillSync } from "node:crypto";

export const OPCODE = { continuation: 0x0, text: 0x1, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** The longest header, rounded up so that the rest can be written in words. */
const HEAD = 16;
const FIN = 0x80;
const MASKED = 0x80;

let scratch = Buffer.allocUnsafeSlow(256 * 1024);
let scratchWords = wordsOf(scratch);

const keys = new Uint32Array(1024);
let nextKey = keys.length;

export function encodeText(text: string): Buffer {
  const most = text.length * 3;
  if (most > scratch.length) {
    scratch = Buffer.allocUnsafeSlow((most + 0xffff) & ~0xffff);
    scratchWords = wordsOf(scratch);
  }
  return frame(OPCODE.text, scratch.write(text, 0, "utf8"));
}

/** Pings, pongs and closes: 125 bytes at most. */
export function encodeControl(opcode: number, payload: Uint8Array): Buffer {
  scratch.set(payload.subarray(0, 125));
  return frame(opcode, Math.min(payload.length, 125));
}

export function encodeClose(code: number, reason: string): Buffer {
  const payload = Buffer.alloc(125);
  payload.writeUInt16BE(code);
  const length = payload.write(reason, 2, "utf8");
  return encodeControl(OPCODE.close, payload.subarray(0, 2 + length));
}

/** Masks the first bytes of the scratch buffer. */
function frame(opcode: number, length: number): Buffer {
  const words = (length + 3) >>> 2;
  const out = Buffer.allocUnsafeSlow(HEAD + words * 4);
  const key = takeKey();
  const target = new Uint32Array(out.buffer, out.byteOffset + HEAD, words);
  for (let at = 0; at < words; at++) target[at] = (scratchWords[at] as number) ^ key;
  return out.subarray(writeHead(out, opcode, length, key), HEAD + length);
}

/** Returns where it begins. */
function writeHead(out: Buffer, opcode: number, length: number, key: number): number {
  // The key in the order of its bytes in memory, as they were applied.
  new DataView(out.buffer, out.byteOffset).setUint32(HEAD - 4, key, IS_LITTLE_ENDIAN);
  if (length < 126) {
    out[HEAD - 6] = FIN | opcode;
    out[HEAD - 5] = MASKED | length;
    return HEAD - 6;
  }
  if (length < 0x10000) {
    out[HEAD - 8] = FIN | opcode;
    out[HEAD - 7] = MASKED | 126;
    out.writeUInt16BE(length, HEAD - 6);
    return HEAD - 8;
  }
  out[HEAD - 14] = FIN | opcode;
  out[HEAD - 13] = MASKED | 127;
  out.writeUInt32BE(Math.floor(length / 2 ** 32), HEAD - 12);
  out.writeUInt32BE(length >>> 0, HEAD - 8);
  return HEAD - 14;
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function takeKey(): number {
  if (nextKey === keys.length) {
    randomFillSync(keys);
    nextKey = 0;
  }
  return keys[nextKey++] as number;
}

function wordsOf(buffer: Buffer): Uint32Array {
  return new Uint32Array(buffer.buffer, buffer.byteOffset, buffer.length >>> 2);
}
