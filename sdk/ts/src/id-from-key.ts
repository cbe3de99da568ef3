/**
 * An id from a business key: the same key gives the same id, so that a restarted program can publish again when in doubt,
 * and the hub stores the event once. UUIDs of version 5 (RFC 9562): SHA-1 over a namespace and a name.
 */

import { invalid } from "./error.js";
import { isEventId } from "./event-id.js";

/**
 * The id for `key` in `namespace`, which is your own UUID: make it once, and keep it. Let the key contain everything that
 * tells one event from another: `orders.placed/4711`, not `4711`.
 */
export function idFromKey(namespace: string, key: string): string {
  if (!isEventId(namespace)) throw invalid(`${JSON.stringify(String(namespace).slice(0, 100))} is no UUID`);
  if (typeof key !== "string" || key === "") throw invalid("the key is no text");
  const space = namespace.replaceAll("-", "").match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? [];
  const bytes = sha1(Uint8Array.from([...space, ...new TextEncoder().encode(key)])).subarray(0, 16);
  bytes[6] = 0x50 | ((bytes[6] as number) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The platform's own is not there at once, and not at all in pages without TLS. */
function sha1(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 9) / 64);
  const padded = new DataView(new ArrayBuffer(blocks * 64));
  message.forEach((byte, at) => padded.setUint8(at, byte));
  padded.setUint8(message.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(message.length) * 8n);
  let state: Words = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  for (let at = 0; at < padded.byteLength; at += 64) state = mixed(state, padded, at);
  const digest = new DataView(new ArrayBuffer(20));
  state.forEach((word, at) => digest.setUint32(at * 4, word));
  return new Uint8Array(digest.buffer);
}

type Words = readonly [number, number, number, number, number];

function mixed(state: Words, padded: DataView, block: number): Words {
  const words = new Uint32Array(80);
  for (let at = 0; at < 16; at++) words[at] = padded.getUint32(block + at * 4);
  for (let at = 16; at < 80; at++) {
    const [one, two, three, four] = [words[at - 3], words[at - 8], words[at - 14], words[at - 16]] as number[];
    words[at] = rotated((one as number) ^ (two as number) ^ (three as number) ^ (four as number), 1);
  }
  let [a, b, c, d, e] = state;
  for (let at = 0; at < 80; at++) {
    const next = (rotated(a, 5) + chosen(at, b, c, d) + e + (words[at] as number)) >>> 0;
    [e, d, c, b, a] = [d, c, rotated(b, 30), a, next];
  }
  return [state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e].map((word) => word >>> 0) as never;
}

function chosen(round: number, b: number, c: number, d: number): number {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

function rotated(word: number, by: number): number {
  return ((word << by) | (word >>> (32 - by))) >>> 0;
}
