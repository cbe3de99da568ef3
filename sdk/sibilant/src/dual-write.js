/**
 * One event in two topics while readers move from one to the other: `orders.placed` and `orders.placed.v2`.
 *
 * Promises: both are stored or neither, and both carry the version. They are two events with two ids.
 */

import { nameOf } from "./topic.js";
import { optionsFor } from "./publish.js";

/**
 * @param {import("@promethean/client").PromClient} client
 * @param {import("./topic.js").Topic | string} topic
 * @param {number} version
 * @param {any} payload
 * @param {Omit<import("@promethean/client").PublishOptions, "id">} [options]
 * @returns {Promise<import("@promethean/client").Receipt[]>} First the topic's, then its version's.
 */
export function dualWrite(client, topic, version, payload, options) {
  const name = nameOf(topic);
  if (!Number.isSafeInteger(version) || version < 1) throw new RangeError(`version ${version} of ${name} is no version`);
  const known = optionsFor(topic, payload, options);
  const opts = { ...known, headers: { ...known.headers, "x-schema-version": String(version) } };
  // What is expected is of the topic; its version's has other offsets.
  const { expect: _, ...ofCopy } = opts;
  return client.publishBatch([
    { topic: name, payload, opts },
    { topic: `${name}.v${version}`, payload, opts: ofCopy },
  ]);
}
