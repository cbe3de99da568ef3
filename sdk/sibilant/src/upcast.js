/**
 * Old payloads in the form of the newest version: the steps that the topic knows, one after the other.
 *
 * Promises: a missing step is an error, never a mislabelled event. An event without a
 * version has version 1. The event that was given is not changed.
 */

const VERSION = "x-schema-version";
const UPCASTED_FROM = "x-upcasted-from";

/**
 * @param {import("./topic.js").Topic} topic
 * @param {import("@promethean/client").EventEnvelope} event
 * @returns {import("@promethean/client").EventEnvelope}
 */
export function upcastToLatest(topic, event) {
  const said = event.headers?.[VERSION] ?? "1";
  const from = Number(said);
  if (!Number.isSafeInteger(from) || from < 1) throw new Error(`event ${event.id} has ${VERSION} ${JSON.stringify(said)}`);
  if (from >= topic.version) return event;
  let payload = event.payload;
  for (let version = from; version < topic.version; version += 1) {
    const step = topic.upcasters.get(version);
    if (step === undefined) throw new Error(`${topic.name} has no step from version ${version} to ${version + 1}`);
    payload = step(payload);
  }
  const headers = { ...event.headers, [VERSION]: String(topic.version), [UPCASTED_FROM]: String(from) };
  return { ...event, headers, payload };
}
