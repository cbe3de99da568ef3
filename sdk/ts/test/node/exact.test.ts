/** Payloads that `JSON` would change: integers above 2⁵³, in both directions. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Delivery, type Payloads, PromClient } from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { payloadTexts } from "../../src/payload-text.js";
import { until } from "../scenarios/expectations.js";

let harness: Harness;
before(async () => void (harness = await startHarness()));
after(() => harness?.close());

const RAW: Payloads = { parse: (text) => text, stringify: (payload) => payload as string };
const BIG = '{"id":9007199254740993,"amounts":[18446744073709551615,-9223372036854775808],"text":"}]\\"{[,"}';

test("with payloads as texts, integers above 2⁵³ come as they were published", async () => {
  await using client = new PromClient(harness.url, undefined, { payloads: RAW });
  await client.publish("exact.raw", BIG);
  await client.publishBatch([
    { topic: "exact.raw", payload: "12345678901234567890" },
    { topic: "exact.raw", payload: '"text"' },
  ]);
  const seen: unknown[] = [];
  for await (const { payload } of client.events("exact.raw", { group: "g", from: "earliest" })) {
    seen.push(payload);
    if (seen.length === 3) break;
  }
  assert.deepEqual(seen, [BIG, "12345678901234567890", '"text"']);
  const tail: unknown[] = [];
  for await (const { payload } of client.events("exact.raw", { from: "earliest" })) {
    if (tail.push(payload) === 3) break;
  }
  assert.deepEqual(tail, seen);
});

test("numbers that no number holds are infinite, and exact as texts; half a surrogate pair is refused", async () => {
  await using exact = new PromClient(harness.url, undefined, { payloads: RAW });
  const texts = ["1e400", "9".repeat(3000)];
  for (const text of texts) await exact.publish("exact.huge", text);
  const seen: unknown[] = [];
  for await (const { payload } of exact.events("exact.huge", { from: "earliest" })) {
    if (seen.push(payload) === texts.length) break;
  }
  assert.deepEqual(seen, texts);
  await using plain = new PromClient(harness.url);
  const read: unknown[] = [];
  for await (const { payload } of plain.events("exact.huge", { from: "earliest" })) {
    if (read.push(payload) === texts.length) break;
  }
  assert.deepEqual(read, [Infinity, Infinity]);
  await assert.rejects(plain.publish("exact.huge", { text: "\ud800" }), { code: "bad_request" });
});

test("what cannot be read is thrown in the handler, and what is no JSON is refused before it leaves", async () => {
  const payloads: Payloads = {
    parse(text) {
      if (text === "1") throw new Error("one is too few");
      return Number(text);
    },
    stringify: (payload) => String(payload),
  };
  const failed: unknown[] = [];
  await using client = new PromClient(harness.url, undefined, {
    payloads,
    onNotice: (notice) => notice.type === "handler_failed" && failed.push(notice.error),
  });
  await assert.rejects(client.publish("exact.odd", '1},"opts":{'), { code: "bad_request" });
  await assert.rejects(client.publish("exact.odd", undefined), { code: "bad_request" });
  await Promise.all([client.publish("exact.odd", 1), client.publish("exact.odd", 2)]);
  const seen: unknown[] = [];
  const handler = ({ payload }: { payload: unknown }, { event }: Delivery) => void seen.push(payload, event.payload);
  await client.subscribe("exact.odd", "g", handler, { from: "earliest", maxAttempts: 1 });
  await until(() => failed.length === 1 && seen.length === 2, "both events");
  assert.deepEqual([String(failed[0]), seen], ["Error: one is too few", [2, 2]]);
});

test("the texts of payloads are found wherever they stand, and however long they are", () => {
  const long = JSON.stringify("\\\"x\n".repeat(300_000));
  const payloads = ["null", "-1.5e3", "[]", '{"payload":{"payload":[1,{}]}}', long, '"}"', `[${long},{"a":${long}}]`];
  const events = payloads.map((payload, at) =>
    at % 2 === 0 ? `{"id":"x","headers":{"x-payload":"]}"},"payload":${payload}}` : `{ "payload" : ${payload} , "tags" : ["a"] }`,
  );
  assert.deepEqual(payloadTexts(`{"op":"EVENTS","events":[${events.join(" , ")}],"ctx":{"attempts":{}}}`), payloads);
  assert.deepEqual(payloadTexts('{"op":"EVENT","topic":"a","event":{"payload":1,"id":"x"},"ctx":null}'), ["1"]);
  assert.deepEqual(payloadTexts('{"op":"EVENTS","events":[]}'), []);
});
