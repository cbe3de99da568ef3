/**
 * XXH3 with 64 bits, without a seed: the hash behind `partitionOf`.
 *
 * Promises the same number as the hub for the same bytes, of any length; `protocol/vectors` proves it. Written to be
 * correct rather than fast: a key takes a few microseconds.
 */

const MASK = 0xffff_ffff_ffff_ffffn;
const LOW_HALF = 0xffff_ffffn;

const PRIME32_1 = 0x9e37_79b1n;
const PRIME32_2 = 0x85eb_ca77n;
const PRIME32_3 = 0xc2b2_ae3dn;
const PRIME64_1 = 0x9e37_79b1_85eb_ca87n;
const PRIME64_2 = 0xc2b2_ae3d_27d4_eb4fn;
const PRIME64_3 = 0x1656_67b1_9e37_79f9n;
const PRIME64_4 = 0x85eb_ca77_c2b2_ae63n;
const PRIME64_5 = 0x27d4_eb2f_1656_67c5n;
const PRIME_OF_MIX = 0x1656_6791_9e37_79f9n;
const PRIME_OF_SHORT = 0x9fb2_1c65_1e98_df25n;

const STRIPE_BYTES = 64;
const STRIPES_IN_BLOCK = 16;
const LANES = 8;

/** The 192 bytes that the algorithm mixes in, as hexadecimal digits. */
const SECRET_HEX =
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
  "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
  "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
  "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
  "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
  "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e";

let secretBytes: DataView | undefined;

/** Made when first needed, so that programs that never hash do not pay for it. */
function secret(): DataView {
  if (secretBytes === undefined) {
    const bytes = new Uint8Array(SECRET_HEX.length / 2);
    for (let at = 0; at < bytes.length; at += 1) {
      bytes[at] = Number.parseInt(SECRET_HEX.slice(2 * at, 2 * at + 2), 16);
    }
    secretBytes = new DataView(bytes.buffer);
  }
  return secretBytes;
}

/** The hash of these bytes, as an unsigned 64-bit number. */
export function xxh3(bytes: Uint8Array): bigint {
  const input = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = input.byteLength;
  if (length <= 16) return ofAtMost16(input);
  if (length <= 128) return ofAtMost128(input);
  if (length <= 240) return ofAtMost240(input);
  return ofMany(input);
}

function ofAtMost16(input: DataView): bigint {
  const length = input.byteLength;
  if (length > 8) {
    const low = word(input, 0) ^ word(secret(), 24) ^ word(secret(), 32);
    const high = word(input, length - 8) ^ word(secret(), 40) ^ word(secret(), 48);
    return mixUp(BigInt(length) + swapBytes(low) + high + foldedProduct(low, high));
  }
  if (length >= 4) {
    const both = BigInt(input.getUint32(length - 4, true)) + (BigInt(input.getUint32(0, true)) << 32n);
    return mixUpShort(both ^ word(secret(), 8) ^ word(secret(), 16), BigInt(length));
  }
  if (length === 0) return mixUpAsXxh64(word(secret(), 56) ^ word(secret(), 64));
  const [first, middle, last] = [input.getUint8(0), input.getUint8(length >> 1), input.getUint8(length - 1)];
  const combined = ((first << 16) | (middle << 24) | last | (length << 8)) >>> 0;
  return mixUpAsXxh64(BigInt(combined) ^ BigInt((secret().getUint32(0, true) ^ secret().getUint32(4, true)) >>> 0));
}

/** From both ends towards the middle, 16 bytes at a time. */
function ofAtMost128(input: DataView): bigint {
  const length = input.byteLength;
  let sum = BigInt(length) * PRIME64_1;
  for (let round = (length - 1) >> 5; round >= 0; round -= 1) {
    sum += mix16(input, 16 * round, 32 * round);
    sum += mix16(input, length - 16 * (round + 1), 32 * round + 16);
  }
  return mixUp(sum);
}

function ofAtMost240(input: DataView): bigint {
  const length = input.byteLength;
  let sum = BigInt(length) * PRIME64_1;
  for (let round = 0; round < 8; round += 1) sum += mix16(input, 16 * round, 16 * round);
  sum = mixUp(sum);
  for (let round = 8; round < length >> 4; round += 1) sum += mix16(input, 16 * round, 16 * (round - 8) + 3);
  return mixUp(sum + mix16(input, length - 16, 119));
}

/** Stripes of 64 bytes in eight lanes; after each block of 16 stripes the lanes are scrambled. */
function ofMany(input: DataView): bigint {
  const lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
  const length = input.byteLength;
  // The last stripe always ends with the input, so the one before it may be left incomplete.
  const stripes = Math.floor((length - 1) / STRIPE_BYTES);
  for (let stripe = 0; stripe < stripes; stripe += 1) {
    accumulate(lanes, input, stripe * STRIPE_BYTES, 8 * (stripe % STRIPES_IN_BLOCK));
    if (stripe % STRIPES_IN_BLOCK === STRIPES_IN_BLOCK - 1) scramble(lanes);
  }
  accumulate(lanes, input, length - STRIPE_BYTES, 121);
  let sum = BigInt(length) * PRIME64_1;
  for (let pair = 0; pair < LANES; pair += 2) {
    const keyed = (lane: number): bigint => laneAt(lanes, lane) ^ word(secret(), 11 + 8 * lane);
    sum += foldedProduct(keyed(pair), keyed(pair + 1));
  }
  return mixUp(sum);
}

function accumulate(lanes: bigint[], input: DataView, inputAt: number, secretAt: number): void {
  for (let lane = 0; lane < LANES; lane += 1) {
    const value = word(input, inputAt + 8 * lane);
    const keyed = value ^ word(secret(), secretAt + 8 * lane);
    lanes[lane ^ 1] = (laneAt(lanes, lane ^ 1) + value) & MASK;
    lanes[lane] = (laneAt(lanes, lane) + (keyed & LOW_HALF) * (keyed >> 32n)) & MASK;
  }
}

function scramble(lanes: bigint[]): void {
  for (let lane = 0; lane < LANES; lane += 1) {
    const value = laneAt(lanes, lane);
    lanes[lane] = ((value ^ (value >> 47n) ^ word(secret(), 128 + 8 * lane)) * PRIME32_1) & MASK;
  }
}

function laneAt(lanes: readonly bigint[], lane: number): bigint {
  return lanes[lane] ?? 0n;
}

function mix16(input: DataView, inputAt: number, secretAt: number): bigint {
  const low = word(input, inputAt) ^ word(secret(), secretAt);
  return foldedProduct(low, word(input, inputAt + 8) ^ word(secret(), secretAt + 8));
}

/** Both halves of the 128-bit product, one over the other. */
function foldedProduct(left: bigint, right: bigint): bigint {
  const product = left * right;
  return (product & MASK) ^ (product >> 64n);
}

function mixUp(sum: bigint): bigint {
  const value = sum & MASK;
  const mixed = ((value ^ (value >> 37n)) * PRIME_OF_MIX) & MASK;
  return mixed ^ (mixed >> 32n);
}

function mixUpShort(value: bigint, length: bigint): bigint {
  let mixed = value ^ rotateLeft(value, 49n) ^ rotateLeft(value, 24n);
  mixed = (mixed * PRIME_OF_SHORT) & MASK;
  mixed = ((mixed ^ ((mixed >> 35n) + length)) * PRIME_OF_SHORT) & MASK;
  return mixed ^ (mixed >> 28n);
}

function mixUpAsXxh64(value: bigint): bigint {
  let mixed = ((value ^ (value >> 33n)) * PRIME64_2) & MASK;
  mixed = ((mixed ^ (mixed >> 29n)) * PRIME64_3) & MASK;
  return mixed ^ (mixed >> 32n);
}

function rotateLeft(value: bigint, bits: bigint): bigint {
  return ((value << bits) | (value >> (64n - bits))) & MASK;
}

function swapBytes(value: bigint): bigint {
  let swapped = 0n;
  for (let rest = value, byte = 0; byte < 8; byte += 1, rest >>= 8n) swapped = (swapped << 8n) | (rest & 0xffn);
  return swapped;
}

function word(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true);
}
