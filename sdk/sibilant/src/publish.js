/** Publishing to a topic that may know how its events get their key and which version their payloads have. */

import { nameOf } from "./topic.js";

/**
 * @param {import("@promethean/client").PromClient} client
 * @param {import("./topic.js").Topic | string} topic
 * @param {any} payload
 * @param {import("@promethean/client").PublishOptions} [options]
 * @returns {Promise<import("@promethean/client").Receipt>}
 */
export function publish(client, topic, payload, options) {
  return client.publish(nameOf(topic), payload, optionsFor(topic, payload, options));
}

/**
 * The caller's options with those of the topic added.
 *
 * @param {import("./topic.js").Topic | string} topic
 * @param {any} payload
 * @param {import("@promethean/client").PublishOptions} [options]
 * @returns {import("@promethean/client").PublishOptions}
 */
export function optionsFor(topic, payload, options = {}) {
  if (typeof topic === "string") return options;
  const key = options.key ?? topic.key?.(payload);
  const headers = topic.version === 1 ? options.headers : { "x-schema-version": String(topic.version), ...options.headers };
  return { ...options, ...(key === undefined ? {} : { key: String(key) }), ...(headers === undefined ? {} : { headers }) };
}
