/** Subscribing with the defaults of Sibilant programs: from the earliest event, 100 at a time. */

import { nameOf } from "./topic.js";

const DEFAULTS = /** @type {const} */ ({ from: "earliest", batchSize: 100 });

/**
 * @typedef {(event: import("@promethean/client").EventEnvelope, delivery: import("@promethean/client").Delivery) => unknown} Handler
 */

/**
 * @param {import("@promethean/client").PromClient} client
 * @param {import("./topic.js").Topic | string} topic A topic, its name, or a pattern.
 * @param {string} group
 * @param {Handler} handler
 * @param {import("@promethean/client").SubscribeOptions} [options]
 */
export function subscribe(client, topic, group, handler, options) {
  return client.subscribe(nameOf(topic), group, handler, { ...DEFAULTS, ...options });
}

/**
 * @param {import("@promethean/client").PromClient} client
 * @param {import("./topic.js").Topic | string} topic
 * @param {string} group
 */
export function unsubscribe(client, topic, group) {
  return client.unsubscribe(nameOf(topic), group);
}
