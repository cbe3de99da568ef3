/** `partitionOf` gives what the hub gives. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { jumpHash, partitionOf } from "../../src/partition-of.js";
import { xxh3 } from "../../src/xxh3.js";
import { readVectors } from "./read-vectors.js";

interface Partitions {
  readonly partition_counts: readonly number[];
  readonly keys: readonly (readonly [key: string, xxh3: string, partitions: readonly number[]])[];
}

interface Series {
  readonly partition_counts: readonly number[];
  readonly partitions: readonly (readonly number[])[];
}

test("keys of every length and script have the hub's hash", () => {
  const { keys } = readVectors<Partitions>("partition.json");
  for (const [key, expected] of keys) {
    const hash = xxh3(new TextEncoder().encode(key)).toString(16).padStart(16, "0");
    assert.equal(hash, expected, JSON.stringify(key));
  }
});

test("keys go to the hub's partition", () => {
  const { keys, partition_counts } = readVectors<Partitions>("partition.json");
  assert.ok(keys.length > 2500);
  for (const [key, , partitions] of keys) {
    assert.deepEqual(partition_counts.map((count) => partitionOf(key, count)), partitions, JSON.stringify(key));
  }
});

test("ten thousand keys made by rule go to the hub's partition", () => {
  const { partition_counts, partitions } = readVectors<Series>("partition_series.json");
  assert.equal(partitions.length, 10_000);
  partitions.forEach((expected, n) => {
    const key = `key-${n}-${"x".repeat(n % 250)}`;
    assert.deepEqual(partition_counts.map((count) => partitionOf(key, count)), expected, key);
  });
});

test("bytes in the middle of a buffer are hashed as they are", () => {
  const bytes = new TextEncoder().encode("before orders after");
  assert.equal(xxh3(bytes.subarray(7, 13)), xxh3(new TextEncoder().encode("orders")));
});

test("jump hash gives the values that other implementations give", () => {
  assert.equal(jumpHash(42n, 57), 43);
  assert.equal(jumpHash(0xdead10ccn, 666), 361);
  assert.equal(jumpHash(2_016_238_256_797_177_309n, 11), 3);
  assert.equal(jumpHash(2202n, 100_001), 15_018);
});

test("a number of partitions that cannot be is refused", () => {
  for (const partitions of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => partitionOf("a", partitions), RangeError);
  }
});
