/**
 * Which partition a key belongs to: jump consistent hash (Lamping & Veach) over XXH3 of the key's UTF-8 bytes.
 *
 * Promises the hub's answer; `protocol/vectors/partition.json` and `partition_series.json` check both.
 */

import { xxh3 } from "./xxh3.js";

const MULTIPLIER = 2_862_933_555_777_941_757n;
const MASK = 0xffff_ffff_ffff_ffffn;

/** The partition of `key` among `partitions`, from 0. Throws a `RangeError` unless `partitions` is a whole number above 0. */
export function partitionOf(key: string, partitions: number): number {
  if (!Number.isSafeInteger(partitions) || partitions < 1) {
    throw new RangeError(`a topic has 1 partition or more, not ${partitions}`);
  }
  return partitions === 1 ? 0 : jumpHash(xxh3(new TextEncoder().encode(key)), partitions);
}

/** Growing from n to n+1 buckets moves one key in n+1, all to the new bucket. */
export function jumpHash(hash: bigint, buckets: number): number {
  let key = hash;
  let bucket = 0;
  for (let next = 0; next < buckets; ) {
    bucket = next;
    key = (key * MULTIPLIER + 1n) & MASK;
    next = Math.floor((bucket + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return bucket;
}
