/** What travels: few frames for many events and many acks. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Delivery, type EventEnvelope, PromClient } from "../../src/index.js";
import { until } from "../scenarios/expectations.js";
import { FakeHub, type Frame } from "./fake-hub.js";

const LEASE = { max_attempts: 5, ack_deadline_ms: 30_000 };

function event(offset: number, topic = "a", partition = 0): Frame {
  return {
    id: `0192f0c1-2345-7abc-8def-${String(offset).padStart(12, "0")}`,
    ts: 1,
    stored_ts: 1,
    topic,
    partition,
    offset,
    payload: offset,
  };
}

async function connected(hub: FakeHub): Promise<PromClient> {
  const client = new PromClient("http://hub", "token", {
    transport: hub,
    backoff: { firstMs: 1, maxMs: 5 },
    drainTimeoutMs: 100,
  });
  await client.connect();
  return client;
}

test("publishes made together share a frame, each with its own id", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  const answers = [1, 2, 3].map((n) => client.publish("a", n));
  answers.push(Promise.resolve().then(() => client.publish("b", 4)));
  const receipts = await Promise.all(answers);
  assert.equal(hub.sent("PUBLISH").length, 1);
  const { events } = hub.sent("PUBLISH")[0] as Frame;
  assert.deepEqual(
    events.map((sent: Frame) => [sent["topic"], sent["payload"]]),
    [
      ["a", 1],
      ["a", 2],
      ["a", 3],
      ["b", 4],
    ],
  );
  assert.deepEqual(
    receipts.map(({ id }) => id),
    events.map((sent: Frame) => sent["opts"].id),
  );
  assert.equal(new Set(receipts.map(({ id }) => id)).size, 4);
  await client.close();
});

test("events that gather during a write leave with the next one", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  hub.socket.wantsMore = false;
  const answers: Promise<unknown>[] = [];
  for (let n = 0; n < 5; n++) {
    answers.push(client.publish("a", n));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(hub.sent("PUBLISH").length, 0);
  hub.socket.drained();
  await Promise.all(answers);
  assert.deepEqual(
    hub.sent("PUBLISH").map(({ events }) => events.length),
    [5],
  );
  await client.close();
});

test("a frame is no larger than the hub accepts, and only an event that cannot fit is refused", async () => {
  const hub = new FakeHub();
  hub.welcome = { ...hub.welcome, frame_bytes: 2000 };
  const client = await connected(hub);
  const outcomes = await Promise.allSettled(
    ["x".repeat(400), "x".repeat(1900), "ä".repeat(300), 1].map((payload) => client.publish("a", payload)),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  assert.equal((outcomes[1] as PromiseRejectedResult).reason.code, "too_large");
  for (const frame of hub.frames) assert.ok(Buffer.byteLength(JSON.stringify(frame)) <= 2000);
  await client.close();
});

test("acks of the deliveries of one turn are one range in one frame", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  let handled = 0;
  await client.subscribe("a", "g", () => void handled++);
  const events = Array.from({ length: 1000 }, (_, offset) => event(offset));
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: LEASE });
  await until(() => handled === 1000, "the handlers");
  await client.close();
  // A busy machine may need a few turns of the event loop.
  const acks = hub.sent("ACK");
  assert.ok(acks.length < 50, `${acks.length} frames`);
  let next = 0;
  for (const { topic, group, partition, offsets } of acks) {
    const [[from, to]] = offsets as [[number, number]];
    assert.deepEqual([topic, group, partition, offsets.length, from], ["a", "g", 0, 1, next]);
    next = to + 1;
  }
  assert.equal(next, 1000);
});

test("acks out of order, of several logs and repeated ones become sorted ranges without duplicates", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  const stream = client.deliveries("a.*", "g");
  await stream.ready;
  const events = [0, 1, 2, 3, 5].map((offset) => event(offset, "a.x")).concat([event(7, "a.y", 1)]);
  hub.socket.say({ op: "EVENTS", topic: "a.*", group: "g", events, ctx: LEASE });
  const held: (Delivery<EventEnvelope> | undefined)[] = [];
  for (let n = 0; n < 6; n++) held.push((await stream.next()).value);
  await Promise.all([3, 5, 0, 1, 1, 4, 2].map((at) => held[at]?.ack()));
  assert.deepEqual(
    hub.sent("ACK").map(({ topic, partition, offsets }) => [topic, partition, offsets]),
    [
      [
        "a.x",
        0,
        [
          [0, 3],
          [5, 5],
        ],
      ],
      ["a.y", 1, [[7, 7]]],
    ],
  );
  await client.close();
});

test("an ack that the hub does not know rejects as lost, its neighbours do not", async () => {
  const hub = new FakeHub();
  hub.answer = ({ op, corr }) => (op === "ACK" ? [{ op: "OK", corr, unknown: [[1, 1]] }] : undefined);
  const client = await connected(hub);
  const stream = client.deliveries("a", "g");
  await stream.ready;
  hub.socket.say({
    op: "EVENTS",
    topic: "a",
    group: "g",
    events: [0, 1, 2].map((offset) => event(offset)),
    ctx: LEASE,
  });
  const acks = [];
  for (let n = 0; n < 3; n++) acks.push((await stream.next()).value?.ack());
  const outcomes = await Promise.allSettled(acks);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal((outcomes[1] as PromiseRejectedResult).reason.code, "lease_lost");
  await client.close();
});

test("a subscription is left only after what was settled before has been answered", async () => {
  const hub = new FakeHub();
  hub.answer = ({ op }) => (op === "ACK" ? [] : undefined);
  const client = await connected(hub);
  let leaving: Promise<void> | undefined;
  await client.subscribe("a", "g", () => void (leaving = client.unsubscribe("a", "g")));
  hub.socket.say({ op: "EVENT", topic: "a", group: "g", event: event(0), ctx: { ...LEASE, attempt: 1 } });
  await until(() => hub.sent("ACK").length === 1, "the ack");
  await client.publish("b", 1);
  assert.equal(hub.sent("UNSUBSCRIBE").length, 0);
  hub.socket.say({ op: "OK", corr: (hub.sent("ACK")[0] as Frame)["corr"] });
  await leaving;
  assert.equal(hub.sent("UNSUBSCRIBE").length, 1);
  await client.close();
});

test("attempts in a frame belong to the events at the same index", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  const attempts: number[] = [];
  await client.subscribe("a", "g", (_, { attempt }) => void attempts.push(attempt));
  const events = [0, 1, 2].map((offset) => event(offset));
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: { ...LEASE, attempts: { 1: 3 } } });
  hub.socket.say({ op: "EVENT", topic: "a", group: "g", event: event(3), ctx: { ...LEASE, attempt: 2 } });
  assert.deepEqual(attempts, [1, 3, 1, 2]);
  await client.close();
});

test("leases of running deliveries are renewed at half time, and waiting ones get a long lease", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  let waitingWasLeased = false;
  const handler = () => {
    waitingWasLeased = hub.sent("MODACK").length === 1;
    return new Promise(() => {});
  };
  await client.subscribe("a", "g", handler, { ackTimeoutMs: 200 });
  const events = [0, 1, 2].map((offset) => event(offset));
  const began = performance.now();
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: { ...LEASE, ack_deadline_ms: 200 } });
  await until(() => hub.sent("MODACK").length >= 3, "two renewals");
  const tookMs = performance.now() - began;
  assert.ok(tookMs >= 150 && tookMs < 2000, `two renewals took ${tookMs} ms`);
  const told = hub.sent("MODACK").map(({ offsets, extend_ms }) => [offsets, extend_ms]);
  assert.deepEqual(told.slice(0, 3), [
    [[[0, 2]], 90_000],
    [[[0, 0]], 200],
    [[[0, 0]], 200],
  ]);
  assert.ok(waitingWasLeased, "the handler began before the hub was told");
  await client.close();
});

test("what waits to be settled by hand is renewed at half time with what runs, in one frame", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  await client.subscribe("a", "g", () => new Promise(() => {}), { ackTimeoutMs: 200, manualAck: true });
  const events = [0, 1, 2].map((offset) => event(offset));
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: { ...LEASE, ack_deadline_ms: 200 } });
  await until(() => hub.sent("MODACK").length >= 2, "two renewals");
  for (const { offsets, extend_ms } of hub.sent("MODACK")) assert.deepEqual([offsets, extend_ms], [[[0, 2]], 200]);
  await client.close();
});

test("unknown fields and frames are ignored", async () => {
  const hub = new FakeHub();
  const client = await connected(hub);
  hub.socket.say({ op: "NEWS", text: "of a later hub" });
  hub.answer = (frame) => hub.usual(frame).map((answer) => ({ ...answer, later: 1 }));
  await client.publish("a", 1);
  assert.equal(client.state, "connected");
  await client.close();
});
