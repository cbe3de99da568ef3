/** Handlers and loops that compute, and handlers that throw odd things, against a real hub. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Delivery, type Notice, PromClient } from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { eventually, until, within } from "../scenarios/expectations.js";
import { hubControl } from "../scenarios/hub-control.js";
import { floor } from "../scenarios/replay.js";

let harness: Harness;
before(async () => void (harness = await startHarness()));
const clients: PromClient[] = [];
after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await harness?.close();
});

function burn(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

interface Scene {
  readonly client: PromClient;
  readonly notices: Notice[];
  readonly publishAll: (topic: string, count: number) => Promise<void>;
  /** What the hub says after everything was settled: nothing dead, nothing lost, one connection all along. */
  readonly judge: (topic: string, count: number, calls: number) => Promise<void>;
}

async function scene(): Promise<Scene> {
  const notices: Notice[] = [];
  const client = new PromClient(harness.url, undefined, { onNotice: (notice) => void notices.push(notice) });
  clients.push(client);
  await client.connect();
  const publishAll = async (topic: string, count: number) => {
    await Promise.all(Array.from({ length: count }, (_, n) => client.publish(topic, n)));
  };
  const judge = async (topic: string, count: number, calls: number) => {
    const hub = hubControl(harness);
    await eventually(async () => (await floor(hub, topic, "g")) === count, "every event to be settled");
    assert.equal(calls, count, "an event was handled more than once");
    assert.deepEqual(
      notices.map(({ type }) => type),
      ["connected"],
    );
    const topics = JSON.stringify(await hub.getJson("/topics"));
    assert.ok(!topics.includes(`dlq.${topic}`), "an event is among the dead letters");
    await client.close();
  };
  return { client, notices, publishAll, judge };
}

const SHORT = { from: "earliest", ackTimeoutMs: 500, backoff: { firstMs: 10, maxMs: 10 }, maxAttempts: 2 } as const;

test("async handlers that compute for longer than all leases together handle every event once", async () => {
  const { client, publishAll, judge } = await scene();
  await publishAll("burn.async", 80);
  let calls = 0;
  const handler = async () => {
    calls++;
    burn(10);
  };
  await client.subscribe("burn.async", "g", handler, { ...SHORT, maxInFlight: 1000 });
  await until(() => calls >= 80, "the handlers");
  await judge("burn.async", 80, calls);
});

test("handlers that compute without awaiting anything handle every event once", async () => {
  const { client, publishAll, judge } = await scene();
  await publishAll("burn.sync", 60);
  let calls = 0;
  const handler = () => {
    calls++;
    burn(25);
  };
  await client.subscribe("burn.sync", "g", handler, { ...SHORT, maxInFlight: 1000 });
  await until(() => calls >= 60, "the handlers");
  await judge("burn.sync", 60, calls);
});

test("acks of a handler that computes reach the hub while it goes on", async () => {
  const { client, publishAll, judge } = await scene();
  const hub = hubControl(harness);
  await publishAll("burn.acks", 80);
  let calls = 0;
  await client.subscribe("burn.acks", "g", async () => (calls++, burn(20)), { ...SHORT, maxInFlight: 1000 });
  await eventually(async () => (await floor(hub, "burn.acks", "g")) > 0, "the first ack");
  assert.ok(calls < 80, "the acks came after everything was handled");
  await until(() => calls >= 80, "the handlers");
  await judge("burn.acks", 80, calls);
});

test("a loop that computes acks each event and keeps its connection", async () => {
  const { client, publishAll, judge } = await scene();
  await publishAll("burn.loop", 61);
  const stream = client.events("burn.loop", { group: "g", ...SHORT, maxInFlight: 1000 });
  let calls = 0;
  for await (const { payload } of stream) {
    if (payload === 60) void stream.next();
    burn(15);
    if (++calls === 61) break;
  }
  await judge("burn.loop", 61, calls);
});

test("a loop without a group that computes lets the connection live", async () => {
  const { client, notices, publishAll } = await scene();
  await publishAll("burn.tail", 100);
  let [calls, turns] = [0, 0];
  const timer = setInterval(() => turns++, 1);
  for await (const _ of client.events("burn.tail", { from: "earliest" })) {
    burn(5);
    if (++calls === 100) break;
  }
  clearInterval(timer);
  assert.ok(turns > 10, `in ${calls} rounds the event loop had ${turns} turns`);
  assert.deepEqual(
    notices.map(({ type }) => type),
    ["connected"],
  );
});

/** Values that a handler may throw, and that break careless code. */
const ODD: readonly [string, () => unknown][] = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["a symbol", () => Symbol("odd")],
  ["an error without a message", () => Object.assign(new Error("x"), { message: undefined })],
  ["an error whose message is an object", () => Object.assign(new Error("x"), { message: {} })],
  ["an object without a prototype", () => Object.create(null)],
  [
    "an object whose toString throws",
    () => ({
      toString() {
        throw new Error("no text");
      },
    }),
  ],
  ["a proxy that refuses everything", () => new Proxy({}, { getPrototypeOf: refuse, get: refuse })],
  ["half a character", () => "\ud800".repeat(5000)],
];

function refuse(): never {
  throw new Error("refused");
}

test("whatever a handler throws is a nack with a reason, and the handler goes on", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    for (const [kind, make] of ODD) {
      for (const way of ["sync", "async", "thenable"] as const) {
        const { client, publishAll } = await scene();
        const topic = `odd.t${ODD.findIndex(([name]) => name === kind)}.${way}`;
        await publishAll(topic, 2);
        const attempts: number[] = [];
        const fail = (value: unknown): unknown => {
          if (way === "sync") throw value;
          if (way === "async") return Promise.reject(value);
          return {
            then(_: unknown, reject: (reason: unknown) => void) {
              reject(value);
              throw value;
            },
          };
        };
        const handler = (_: unknown, { attempt }: Delivery): unknown => {
          attempts.push(attempt);
          return attempt === 1 ? fail(make()) : undefined;
        };
        await client.subscribe(topic, "g", handler, { from: "earliest", backoff: { firstMs: 1, maxMs: 1 } });
        await until(() => attempts.length === 4, `both events to come again after ${kind}, ${way}`, 5000);
        await within(client.close(), "the end");
        assert.equal(await floor(hubControl(harness), topic, "g"), 2, `${kind}, ${way}`);
      }
    }
    assert.deepEqual(unhandled, []);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("a handler may return something whose `then` cannot be read", async () => {
  const { client, publishAll } = await scene();
  await publishAll("odd.then", 1);
  const attempts: number[] = [];
  const unreadable = Object.defineProperty({}, "then", { get: refuse });
  const handler = (_: unknown, { attempt }: Delivery) => {
    attempts.push(attempt);
    return attempt === 1 ? unreadable : undefined;
  };
  await client.subscribe("odd.then", "g", handler, { from: "earliest", backoff: { firstMs: 1, maxMs: 1 } });
  await until(() => attempts.length === 2, "the second attempt");
  await client.close();
});

test("a nack by hand takes any reason", async () => {
  const { client, publishAll } = await scene();
  await publishAll("odd.nack", 1);
  let attempts = 0;
  const handler = async (_: unknown, delivery: Delivery) => {
    attempts++;
    const [, make] = ODD[delivery.attempt - 1] ?? [];
    if (make === undefined) await delivery.ack();
    else await delivery.nack(make(), { delayMs: 0 });
  };
  await client.subscribe("odd.nack", "g", handler, { from: "earliest", manualAck: true, maxAttempts: 20 });
  await eventually(async () => (await floor(hubControl(harness), "odd.nack", "g")) === 1, "the ack");
  assert.equal(attempts, ODD.length + 1);
  await client.close();
});

test("asking for two events of a group at once is refused, and nothing stays unacked", async () => {
  const { client, publishAll } = await scene();
  await publishAll("two.next", 3);
  const stream = client.events("two.next", { group: "g", from: "earliest" });
  const first = stream.next();
  await assert.rejects(stream.next(), { code: "bad_request" });
  assert.equal((await first).value?.payload, 0);
  assert.equal((await stream.next()).value?.payload, 1);
  assert.equal((await stream.next()).value?.payload, 2);
  const last = stream.next();
  await eventually(async () => (await floor(hubControl(harness), "two.next", "g")) === 3, "every ack");
  await client.close();
  assert.equal((await last).done, true);
});
