/** How many events a subscriber takes: what its handlers can work off, and nothing that only waits costs an attempt. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Delivery, PromClient } from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { Window } from "../../src/window.js";
import { eventually, until } from "../scenarios/expectations.js";
import { hubControl } from "../scenarios/hub-control.js";
import { floor, inFlight } from "../scenarios/replay.js";
import { FakeHub } from "./fake-hub.js";

let harness: Harness;
before(async () => void (harness = await startHarness()));
const clients: PromClient[] = [];
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await harness?.close();
});

async function connect(options = {}): Promise<PromClient> {
  const client = new PromClient(harness.url, undefined, { onNotice: () => {}, drainTimeoutMs: 500, ...options });
  clients.push(client);
  await client.connect();
  return client;
}

async function publishAll(client: PromClient, topic: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => client.publish(topic, n)));
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("a second worker gets its share of what waits", async () => {
  const [publisher, ...workers] = await Promise.all([connect(), connect(), connect()]);
  await publishAll(publisher as PromClient, "share.slow", 200);
  const handled = [0, 0];
  for (const [at, worker] of workers.entries()) {
    const handler = async () => {
      await sleep(5);
      handled[at] = (handled[at] as number) + 1;
    };
    await worker.subscribe("share.slow", "g", handler, { from: "earliest" });
  }
  const total = () => (handled[0] as number) + (handled[1] as number);
  await until(() => total() === 200, "every event");
  assert.ok(Math.min(...handled) >= 40, `the workers handled ${handled.join(" and ")}`);
});

test("slow handlers hold no more than they run", async () => {
  const client = await connect();
  await publishAll(client, "hold.slow", 50);
  let running = 0;
  const handler = async () => {
    running++;
    await new Promise(() => {});
  };
  await client.subscribe("hold.slow", "g", handler, { from: "earliest", concurrency: 3 });
  await until(() => running === 3, "three handlers");
  assert.equal(await inFlight(hubControl(harness), "hold.slow", "g"), 3);
});

test("fast handlers get a window that grows, each event comes once, and no connection is lost for it", async () => {
  const notices: string[] = [];
  const client = await connect({ onNotice: ({ type }: { type: string }) => void notices.push(type) });
  const count = 20_000;
  await publishAll(client, "fast.sync", count);
  for (const kind of ["sync", "async"] as const) {
    const seen: number[] = [];
    const handler = ({ payload }: { payload: number }) => {
      seen.push(payload);
      return kind === "async" ? Promise.resolve() : undefined;
    };
    const subscription = await client.subscribe("fast.sync", kind, handler, { from: "earliest" });
    await until(() => seen.length >= count, "every event");
    await eventually(async () => (await floor(hubControl(harness), "fast.sync", kind)) === count, "every ack");
    assert.equal(seen.length, count, "an event came twice");
    assert.ok(seen.every((payload, at) => payload === at));
    await subscription.unsubscribe();
  }
  assert.deepEqual(notices, ["connected"]);
});

test("the window grows with fast handlers and shrinks with slow ones", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub, onNotice: () => {} });
  await client.connect();
  let tookMs = 0;
  const handler = () => (tookMs === 0 ? undefined : sleep(tookMs));
  await client.subscribe("a", "g", handler, { maxAttempts: 7, memberId: "m" });
  const windows = () => hub.sent("SUBSCRIBE").map(({ opts }) => opts.maxInFlight as number);
  const say = (offsets: readonly number[]) => {
    const events = offsets.map((offset) => ({ id: "x", topic: "a", partition: 0, offset, payload: 1 }));
    hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: { max_attempts: 5, ack_deadline_ms: 90_000 } });
  };
  assert.deepEqual(windows(), [1]);
  for (let offset = 0; offset < 8; offset++) say([offset]);
  await until(() => windows().length === 2, "the larger window");
  assert.ok((windows()[1] as number) > 100, `${windows()}`);
  // A subscriber that comes back leaves out what others may have changed meanwhile, and keeps what is its own.
  const [, second] = hub.sent("SUBSCRIBE");
  assert.equal(second?.["opts"].maxAttempts, undefined);
  assert.equal(second?.["opts"].memberId, "m");
  tookMs = 30;
  // Windows change once a second at most: events come until then.
  let next = 8;
  for (let isOver = false; !isOver; isOver = hub.sent("PAUSE").length === 2) {
    say([next++, next++, next++, next++]);
    await sleep(20);
  }
  await until(() => windows().length === 3, "the smaller window");
  assert.ok((windows()[2] as number) < 20, `${windows()}`);
  const acked = hub.sent("ACK").flatMap(({ offsets }) => offsets as [number, number][]);
  const count = acked.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  assert.equal(count, next, "something was given back without having been handled");
  const order = hub.frames.map(({ op }) => op as string).filter((op) => op !== "ACK");
  const change = ["PAUSE", "UNSUBSCRIBE", "SUBSCRIBE"];
  assert.deepEqual(order, ["AUTH", "SUBSCRIBE", ...change, ...change]);
  await client.close();
});

test("a window that cannot change because a handler runs for long stays, and other handlers go on", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub, onNotice: () => {}, drainTimeoutMs: 10 });
  await client.connect();
  const handler = ({ offset }: { offset: number }) => (offset === 0 ? new Promise(() => {}) : undefined);
  await client.subscribe("a", "g", handler, { concurrency: 2 });
  for (let offset = 0; offset < 20; offset++) {
    const events = [{ id: "x", topic: "a", partition: 0, offset, payload: 1 }];
    const ctx = { max_attempts: 5, ack_deadline_ms: 90_000 };
    hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx });
  }
  await until(() => hub.sent("RESUME").length === 1, "the end of the pause");
  assert.deepEqual([hub.sent("PAUSE").length, hub.sent("UNSUBSCRIBE").length], [1, 0]);
  await client.close();
});

test("a subscriber without a group has no window", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub, onNotice: () => {} });
  await client.connect();
  let seen = 0;
  await client.subscribe("a", null, () => void seen++);
  for (let offset = 0; offset < 100; offset++) {
    const events = [{ id: "x", topic: "a", partition: 0, offset, stored_ts: offset, payload: 1 }];
    hub.socket.say({ op: "EVENTS", topic: "a", events });
  }
  await until(() => seen === 100, "the events");
  await client.publish("b", 1);
  assert.deepEqual(
    hub.frames.map(({ op }) => op),
    ["AUTH", "SUBSCRIBE", "PUBLISH"],
  );
  await client.close();
});

test("events that come while the window changes are handled, and not left", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub, onNotice: () => {} });
  await client.connect();
  const seen: number[] = [];
  await client.subscribe("a", "g", ({ offset }) => void seen.push(offset));
  const say = (offset: number) => {
    const events = [{ id: "x", topic: "a", partition: 0, offset, payload: 1 }];
    const ctx = { max_attempts: 5, ack_deadline_ms: 90_000 };
    hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx });
  };
  hub.answer = (frame) => {
    // Two that were on their way already, behind the answers to the pause and to an ack.
    if (frame["op"] === "PAUSE") setTimeout(() => say(100));
    if (frame["op"] === "ACK" && frame["offsets"].at(-1)[1] === 100) setTimeout(() => say(101));
    return undefined;
  };
  for (let offset = 0; offset < 8; offset++) say(offset);
  await until(() => hub.sent("SUBSCRIBE").length === 2, "the larger window");
  assert.deepEqual(seen.slice(8), [100, 101]);
  const ackedAt = hub.frames.findLastIndex(({ op }) => op === "ACK");
  assert.ok(ackedAt < hub.frames.findIndex(({ op }) => op === "UNSUBSCRIBE"), "it left before the last ack");
  await client.close();
});

test("the window's size follows how long handlers take", () => {
  const sized = (concurrency: number, tookMs: number) => {
    const window = new Window(concurrency);
    for (let n = 0; n < 8; n++) window.note(tookMs);
    return window.better(0) ?? window.size;
  };
  assert.equal(sized(1, 1000), 1);
  assert.equal(sized(8, 1000), 8);
  assert.equal(sized(1, 10), 11);
  assert.equal(sized(4, 10), 44);
  assert.equal(sized(1, 0), 1000);
  assert.equal(sized(5000, 0.01), 5000);
});

/** Keeps the event loop, as a long computation does. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test("a computation that outlasts the leases charges nothing to events that no handler has seen", async () => {
  const client = await connect();
  const count = 300;
  await publishAll(client, "block.once", count);
  const attempts = new Map<number, number[]>();
  let calls = 0;
  const handler = ({ payload }: { payload: number }, { attempt }: Delivery) => {
    attempts.set(payload, [...(attempts.get(payload) ?? []), attempt]);
    // Long after handlers were found to be fast, and when the last frame has come.
    if (++calls === 230) block(1800);
  };
  const options = { from: "earliest", ackTimeoutMs: 1200, maxInFlight: count, maxAttempts: 3 } as const;
  await client.subscribe("block.once", "g", handler, { ...options, backoff: { firstMs: 1, maxMs: 1 } });
  await eventually(async () => (await floor(hubControl(harness), "block.once", "g")) === count, "every ack");
  const charged = [...attempts.values()].filter(([first]) => first !== 1);
  assert.equal(charged.length, 0, `${charged.length} events had an attempt before any handler saw them`);
});

test("what waits longer than its lease behind a slow handler costs no attempt", async () => {
  const client = await connect();
  await publishAll(client, "wait.long", 20);
  const attempts: number[] = [];
  const handler = async (_: unknown, { attempt }: Delivery) => {
    attempts.push(attempt);
    await sleep(100);
  };
  const options = { from: "earliest", ackTimeoutMs: 300, maxInFlight: 20, maxAttempts: 1 } as const;
  await client.subscribe("wait.long", "g", handler, options);
  await eventually(async () => (await floor(hubControl(harness), "wait.long", "g")) === 20, "every ack");
  assert.deepEqual(attempts, new Array(20).fill(1));
});

test("what a loop does not ask for goes back without an attempt, and comes when it asks again", async () => {
  const [idle, busy] = [await connect({ giveBackAfterMs: 300 }), await connect()];
  await publishAll(busy, "idle.loop", 10);
  const options = { from: "earliest", ackTimeoutMs: 200, maxAttempts: 1 } as const;
  const stream = idle.deliveries("idle.loop", "g", options);
  await stream.ready;
  const hub = hubControl(harness);
  await eventually(async () => (await inFlight(hub, "idle.loop", "g")) === 10, "the leases");
  await eventually(async () => (await inFlight(hub, "idle.loop", "g")) === 0, "the return");
  const attempts: number[] = [];
  const handler = (_: unknown, { attempt }: Delivery) => void attempts.push(attempt);
  const subscription = await busy.subscribe("idle.loop", "g", handler, { ackTimeoutMs: 200 });
  await until(() => attempts.length === 10, "every event elsewhere");
  assert.deepEqual(attempts, new Array(10).fill(1));
  await subscription.unsubscribe();
  await busy.publish("idle.loop", 10);
  const { value } = await stream.next();
  assert.equal(value?.event.payload, 10);
  await value?.ack();
});

test("workers whose windows change at the same time give nothing back: one attempt is enough for every event", async () => {
  const [publisher, ...workers] = await Promise.all(Array.from({ length: 7 }, () => connect()));
  const count = 6000;
  await publishAll(publisher as PromClient, "share.fast", count);
  let handled = 0;
  const handler = () => void handled++;
  const options = { from: "earliest", maxAttempts: 1 } as const;
  await Promise.all(workers.map((worker) => worker.subscribe("share.fast", "g", handler, options)));
  const hub = hubControl(harness);
  await eventually(async () => (await floor(hub, "share.fast", "g")) === count, "every ack");
  assert.equal(handled, count);
  assert.ok(!JSON.stringify(await hub.getJson("/topics")).includes("dlq.share.fast"), "an event is among the dead letters");
});
