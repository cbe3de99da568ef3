/**
 * Partitions inside of one subscriber: events are spread over so many lanes by their key, each lane works through its events
 * one after the other, and lanes do not wait for each other.
 *
 * Promises: a key is always in the same lane, which is `partitionOf(key, partitions)`; without a key the id decides. The group
 * keeps the order of each key (`order: "key"`), also across subscribers. It does not give partitions to members: every
 * subscriber has all lanes for what it is lent. An event that fails comes again later, and its lane goes on with other keys.
 */

import { partitionOf } from "@promethean/client";
import { nameOf } from "./topic.js";

/** Handlers that may be under way or wait for their lane, for each lane. */
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
  // Throws for a number that cannot be, before anything is subscribed to.
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
  return client.subscribe(nameOf(topic), group, inLane, { from: "earliest", order: "key", concurrency, ...options });
}
