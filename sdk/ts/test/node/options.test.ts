/** Unknown options are refused at run time too, and ids come out of business keys. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Delivery, idFromKey, isEventId, PromClient } from "../../src/index.js";
import { until } from "../scenarios/expectations.js";
import { FakeHub } from "./fake-hub.js";

/** As JavaScript would pass them. */
const odd = (options: object): never => options as never;

test("an unknown option is refused with its name, and with what was probably meant", async () => {
  const hub = new FakeHub();
  const wrong = () => new PromClient("http://hub", undefined, odd({ transport: hub, giveUpAfterMS: 5 }));
  assert.throws(wrong, { code: "bad_request", message: /"giveUpAfterMS".*did you mean giveUpAfterMs\?/ });
  await using client = new PromClient("http://hub", undefined, { transport: hub, onNotice: () => {} });
  await client.connect();
  const refused = { code: "bad_request", message: /did you mean maxInFlight\?/ };
  await assert.rejects(client.subscribe("a", "g", () => {}, odd({ max_in_flight: 5 })), refused);
  assert.throws(() => client.events("a", odd({ group: "g", maxInflight: 5 })), refused);
  assert.throws(() => client.deliveries("a", "g", odd({ maxinflight: 5 })), refused);
  await assert.rejects(client.publish("a", 1, odd({ Key: "k" })), { message: /did you mean key\?/ });
  await assert.rejects(client.publishBatch([{ topic: "a", payload: 1, opts: odd({ causedBy: [] }) }]), {
    message: /did you mean caused_by\?/,
  });
  assert.deepEqual(hub.sent("SUBSCRIBE").concat(hub.sent("PUBLISH")), []);
  const nacked: Promise<void>[] = [];
  const handler = (_: unknown, delivery: Delivery) => {
    nacked.push(delivery.nack("no", odd({ delay_ms: 5 })));
  };
  await client.subscribe("a", "g", handler);
  const events = [{ id: "x", topic: "a", partition: 0, offset: 0, payload: 1 }];
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: { max_attempts: 5, ack_deadline_ms: 90_000 } });
  await until(() => nacked.length === 1, "the handler");
  await assert.rejects(nacked[0] as Promise<void>, { message: /did you mean delayMs\?/ });
});

test("an option of groups is refused without one", async () => {
  const hub = new FakeHub();
  await using client = new PromClient("http://hub", undefined, { transport: hub });
  const refused = { code: "bad_request", message: /"order" is no option of a subscriber without a group/ };
  assert.throws(() => client.events("a", odd({ order: "key" })), refused);
  await assert.rejects(client.subscribe("a", null, () => {}, odd({ order: "key" })), refused);
  await client.subscribe("a", null, () => {}, { from: "earliest", concurrency: 2, onGap: () => {} });
});

test("a business key makes the same id again, as other languages make it", () => {
  const DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  assert.equal(idFromKey(DNS, "www.example.com"), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
  assert.equal(idFromKey(DNS.toUpperCase(), "www.example.com"), idFromKey(DNS, "www.example.com"));
  const lengths = Array.from({ length: 200 }, (_, length) => idFromKey(DNS, "ä".repeat(length + 1)));
  assert.equal(new Set(lengths).size, 200);
  assert.ok(lengths.every(isEventId));
  assert.throws(() => idFromKey("orders", "4711"), { code: "bad_request" });
  assert.throws(() => idFromKey(DNS, ""), { code: "bad_request" });
});
