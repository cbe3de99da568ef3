/**
 * A member of a group that divides a topic into virtual partitions: each partition has one owner among the members, and
 * within a member each partition handles its events one after the other, without waiting for the other partitions.
 *
 * Promises: a key is always in the same partition, which is `partitionOf(key, partitions)`; without a key the id decides. Two
 * members never have the same partition at a time; `onAssigned` and `onRevoked` in the options report which come and go. The group
 * keeps the order of each key (`order: "key"`). An event that fails comes again later, and its partition continues with other keys.
 * With `mode: "shared"` in the options no partition has an owner, and every member has all of them, for the events leased to it.
 */

import { partitionOf } from "@promethean/client";
import { nameOf } from "./topic.js";

/** Handlers that may run or wait, for each lane. */
const DEPTH = 16;

/**
 * @param {import("@promethean/client").PromClient} client
 * @param {import("./topic.js").Topic | string} topic
 * @param {string} group
 * @param {number} partitions
 * @param {(event: import("@promethean/client").EventEnvelope, partition: number) => unknown} handler
 * @param {import("@promethean/client").SubscribeOptions} [options]
 */
export function startPartitioned(client, topic, group, partitions, handler, options) {
  // Throws for an invalid number, before anything is subscribed to.
  partitionOf("", partitions);
  const lanes = Array.from({ length: partitions }, () => /** @type {Promise<unknown>} */ (Promise.resolve()));
  /** @param {import("@promethean/client").EventEnvelope} event */
  const inLane = (event) => {
    const partition = partitionOf(event.key ?? event.id, partitions);
    const done = (lanes[partition] ?? Promise.resolve()).then(() => handler(event, partition));
    lanes[partition] = done.catch(() => undefined);
    return done;
  };
  const concurrency = partitions * DEPTH;
  const owned = options?.mode === "shared" ? {} : /** @type {const} */ ({ mode: "partitioned", partitions });
  const defaults = /** @type {const} */ ({ from: "earliest", order: "key" });
  return client.subscribe(nameOf(topic), group, inLane, { ...defaults, concurrency, ...owned, ...options });
}
