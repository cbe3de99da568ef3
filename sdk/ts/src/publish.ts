/**
 * Publishing one event or an atomic batch: from the application's call to the text in a frame.
 *
 * The client makes the ids. Events unanswered when a connection breaks are sent again over the next, with the same id,
 * and stored once. What is invalid without asking the hub is refused here, and nothing is sent.
 */

import type { Connection } from "./connection/connection.js";
import { invalid, PromError, reasonOf } from "./error.js";
import type { Expectation, NewEvent, PublishOptions, Receipt } from "./event.js";
import { isEventId } from "./event-id.js";
import { canonicalHeaderName, headerFault } from "./header-rules.js";
import { checkOptions } from "./known-options.js";
import * as limits from "./limits.js";
import type { Payloads } from "./payload-text.js";
import { OPTS, Pending } from "./pending.js";
import { exceedsBytes, utf8Bytes } from "./text-size.js";
import { isReservedTopic, topicNameFault } from "./topic-name.js";

/** Rejects with a `PromError`; resolves when the event is as durable as the receipt says. */
export function publish(
  connection: Connection,
  topic: string,
  payload: unknown,
  opts: PublishOptions | undefined,
): Promise<Receipt> {
  return new Promise((resolve, reject) => {
    const id = idOf(connection, opts);
    const deadlineAt = connection.publishDeadline();
    const json = jsonOf(payload, connection.settings.payloads);
    connection.publish(new Pending(headOf(topic), json, tailOf(opts), id, deadlineAt, resolve, reject));
  });
}

/** All of them or none, even across topics. They must fit into one frame. */
export function publishBatch(connection: Connection, events: readonly NewEvent[]): Promise<Receipt[]> {
  return new Promise((resolve, reject) => {
    if (events.length === 0) return resolve([]);
    if (events.length > limits.FRAME_ITEMS) {
      throw new PromError("too_large", `${events.length} events in a batch, at most ${limits.FRAME_ITEMS} fit`);
    }
    const ids = events.map(({ opts }) => idOf(connection, opts));
    const { payloads } = connection.settings;
    const texts = events.map(
      ({ topic, payload, opts }, at) => headOf(topic) + jsonOf(payload, payloads) + OPTS + ids[at] + tailOf(opts),
    );
    connection.publish(new Pending(texts.join(","), "", "", ids, connection.publishDeadline(), resolve, reject));
  });
}

/** The beginning of an event's text, for topics that passed the check. */
const heads = new Map<string, string>();

function headOf(topic: string): string {
  return heads.get(topic) ?? checkTopic(topic);
}

function tailOf(opts: PublishOptions | undefined): string {
  return opts === undefined ? '"}}' : `"${optsText(opts)}}}`;
}

function checkTopic(topic: string): string {
  if (typeof topic !== "string") throw invalid("a topic is a string");
  const fault = topicNameFault(topic);
  if (fault !== undefined) throw invalid(`${JSON.stringify(topic.slice(0, 100))} is not a topic: ${fault}`);
  if (isReservedTopic(topic)) throw invalid(`${topic} belongs to the hub: clients read it, but do not publish there`);
  const head = `{"topic":"${topic}","payload":`;
  if (heads.size >= limits.REMEMBERED_TOPICS) heads.clear();
  heads.set(topic, head);
  return head;
}

function jsonOf(payload: unknown, payloads: Payloads | undefined): string {
  let json: string | undefined;
  try {
    json = payloads === undefined ? JSON.stringify(payload) : writtenBy(payloads, payload);
  } catch (thrown) {
    throw new PromError("bad_request", `the payload is not JSON: ${reasonOf(thrown)}`, { cause: thrown });
  }
  if (json === undefined) throw invalid(`the payload is not JSON: it is ${typeof payload}; null is the tombstone`);
  if (exceedsBytes(json, limits.PAYLOAD_BYTES)) throw tooLarge("the payload", utf8Bytes(json), limits.PAYLOAD_BYTES);
  return json;
}

/** It goes into a frame with others, so it has to be what it says it is. */
function writtenBy(payloads: Payloads, payload: unknown): string | undefined {
  const text = payloads.stringify(payload);
  if (text !== undefined) JSON.parse(text);
  return text;
}

function idOf(connection: Connection, opts: PublishOptions | undefined): string {
  return opts?.id === undefined ? connection.ids.make(Date.now()) : checkId(opts.id);
}

function checkId(id: string): string {
  if (!isEventId(id)) throw invalid(`${JSON.stringify(String(id).slice(0, 100))} is not an id: it has to be a UUID`);
  return id.toLowerCase();
}

/** Each field with a comma before it. */
function optsText(opts: PublishOptions): string {
  checkOptions("a publish", opts);
  let text = "";
  if (isSet("exact", opts.exact)) text += ',"exact":true';
  if (isSet("dual_write", opts.dual_write)) text += ',"dual_write":true';
  if (opts.expect !== undefined) text += `,"expect":${expectation(opts.expect)}`;
  if (opts.ts !== undefined) text += `,"ts":${integer("ts", opts.ts)}`;
  if (opts.key !== undefined) text += `,"key":${short("the key", opts.key, limits.KEY_BYTES)}`;
  if (opts.sid !== undefined) text += `,"sid":${short("the sid", opts.sid, limits.SID_BYTES)}`;
  if (opts.partition !== undefined) text += `,"partition":${integer("partition", opts.partition)}`;
  if (opts.headers !== undefined) text += `,"headers":{${headersText(opts.headers)}}`;
  if (opts.tags !== undefined) {
    atMost("tags", opts.tags.length, limits.TAGS);
    text += `,"tags":[${opts.tags.map((tag) => short("a tag", tag, limits.TAG_BYTES)).join(",")}]`;
  }
  if (opts.caused_by !== undefined) {
    atMost("causes", opts.caused_by.length, limits.CAUSED_BY);
    text += `,"caused_by":[${opts.caused_by.map((id) => `"${checkId(id)}"`).join(",")}]`;
  }
  return text;
}

function headersText(headers: Readonly<Record<string, string>>): string {
  const members = Object.entries(headers).map(([name, value]) => {
    if (typeof value !== "string") throw invalid(`the header ${name} is not a string`);
    const fault = headerFault(name, value);
    if (fault !== undefined) throw invalid(`the header ${JSON.stringify(name.slice(0, 100))} is refused: ${fault}`);
    return `${JSON.stringify(canonicalHeaderName(name))}:${JSON.stringify(value)}`;
  });
  atMost("headers", members.length, limits.HEADERS);
  return members.join(",");
}

function isSet(what: string, value: boolean | undefined): boolean {
  if (value !== undefined && typeof value !== "boolean") throw invalid(`${what} is ${String(value)}, not true or false`);
  return value === true;
}

/** Exactly one of the two: anything else would be an event without its condition. */
function expectation(expect: Expectation): string {
  const [[name, offset] = ["", null], ...more] = Object.entries(expect ?? {}) as [string, number | null][];
  const isKey = name === "key_offset";
  if (more.length > 0 || (!isKey && name !== "offset")) {
    throw invalid("expect has to be { offset: n }, { key_offset: n } or { key_offset: null }");
  }
  return `{"${name}":${isKey && offset === null ? "null" : natural(`expect.${name}`, offset)}}`;
}

function natural(what: string, value: number | null): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(`${what} is ${String(value)}, not an offset`);
  }
  return value;
}

function integer(what: string, value: number): number {
  if (!Number.isSafeInteger(value)) throw invalid(`${what} is ${String(value)}, not a whole number`);
  return value;
}

function short(what: string, value: string, limit: number): string {
  if (typeof value !== "string") throw invalid(`${what} is not a string`);
  if (exceedsBytes(value, limit)) throw tooLarge(what, utf8Bytes(value), limit);
  return JSON.stringify(value);
}

function atMost(what: string, count: number, limit: number): void {
  if (count > limit) throw new PromError("too_large", `${count} ${what}, at most ${limit} are taken`);
}

function tooLarge(what: string, size: number, limit: number): PromError {
  return new PromError("too_large", `${what} has ${size} bytes, the limit is ${limit}`, { stored: "no" });
}
