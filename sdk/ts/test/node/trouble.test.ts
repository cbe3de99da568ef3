/** Hubs that refuse, fall silent, or break the protocol; and clients that slept. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type ClientOptions, type Delivery, type Gap, type Notice, PromClient } from "../../src/index.js";
import { until, within } from "../scenarios/expectations.js";
import { FakeHub, type Frame } from "./fake-hub.js";

const LEASE = { max_attempts: 5, ack_deadline_ms: 30_000 };

interface Scene {
  readonly hub: FakeHub;
  readonly client: PromClient;
  readonly notices: Notice[];
  readonly types: () => string[];
}

async function scene(
  options: ClientOptions = {},
  prepare: (hub: FakeHub) => void = () => {},
  token: string | (() => string) = "t",
): Promise<Scene> {
  const hub = new FakeHub();
  prepare(hub);
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => void notices.push(notice);
  const quick = { backoff: { firstMs: 1, maxMs: 5 }, drainTimeoutMs: 100 };
  const client = new PromClient("http://hub", token, { transport: hub, onNotice, ...quick, ...options });
  await client.connect();
  return { hub, client, notices, types: () => notices.map(({ type }) => type) };
}

function refusing(hub: FakeHub, times: number, problem: Frame): void {
  let left = times;
  hub.answer = (frame) => {
    if (frame["op"] !== "PUBLISH" || left === 0) return undefined;
    left--;
    return [{ op: "OK", corr: frame["corr"], durability: "fsync", results: frame["events"].map(() => problem) }];
  };
}

test("a rate-limited publish is sent again when the hub accepts it, with the same id and in order", async () => {
  const { hub, client } = await scene();
  refusing(hub, 1, { code: "rate_limited", msg: "not so fast", retry_after_ms: 50 });
  const began = performance.now();
  const receipts = await Promise.all([1, 2, 3].map((n) => client.publish("a", n)));
  assert.ok(performance.now() - began >= 45, "it did not wait");
  assert.deepEqual(
    receipts.map(({ offset }) => offset),
    [0, 1, 2],
  );
  const frames = hub.sent("PUBLISH").map(({ events }) => events.map((sent: Frame) => sent["payload"]));
  assert.deepEqual(frames, [[1, 2, 3], [1], [2, 3]], "first one, then more");
  const ids = hub.sent("PUBLISH").map(({ events }) => events[0].opts.id);
  assert.equal(ids[0], ids[1]);
  await client.close();
});

test("with `whenRateLimited: fail` a rate-limited publish fails with the time to wait", async () => {
  const { hub, client } = await scene({ whenRateLimited: "fail" });
  refusing(hub, 1, { code: "rate_limited", msg: "not so fast", retry_after_ms: 50 });
  await assert.rejects(client.publish("a", 1), { name: "PromError", code: "rate_limited", retryAfterMs: 50 });
  await client.close();
});

test("a publish that the store could not take says whether it may be stored", async () => {
  const { hub, client } = await scene();
  refusing(hub, 1, { code: "publish_failed", msg: "the disk is full", stored: "unknown" });
  await assert.rejects(client.publish("a", 1), { code: "publish_failed", stored: "unknown" });
  await client.close();
});

test("a publish without an answer gives up after its time and says that it may be stored", async () => {
  const { hub, client } = await scene({ giveUpAfterMs: 60 });
  hub.isSilent = true;
  await assert.rejects(client.publish("a", 1), { code: "gave_up", stored: "unknown" });
  await client.close();
});

test("when a publish gives up, those that waited for room get it", async () => {
  const { hub, client } = await scene({ giveUpAfterMs: 60, maxPendingEvents: 2 });
  hub.isSilent = true;
  const all = [1, 2, 3, 4, 5].map((n) => client.publish("a", n));
  const outcomes = await within(Promise.allSettled(all), "the end of all");
  assert.deepEqual(
    new Set(outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : "stored"))),
    new Set(["gave_up"]),
  );
  await within(client.room(), "room");
  await client.close();
});

test("a hub that cannot take many events in a frame is refused with what is missing", async () => {
  const refused = scene({}, (hub) => (hub.welcome = { hub: "old" }));
  await assert.rejects(refused, { code: "unsupported" });
});

test("after nonsense from the hub the client reconnects and sends unanswered events again", async () => {
  const oddEvents = '{"op":"EVENTS","topic":"a","group":"g","events":7,"ctx":{}}';
  for (const nonsense of ["{", "[]", '{"op":"OK","corr":999}', '{"op":"OK"}', oddEvents]) {
    const { hub, client, types } = await scene();
    await client.subscribe("a", "g", () => {});
    hub.isSilent = true;
    const publishing = client.publish("a", nonsense);
    await until(() => hub.sent("PUBLISH").length === 1, "the publish");
    hub.isSilent = false;
    hub.socket.say(nonsense);
    await within(publishing, `the receipt after ${nonsense}`);
    const [first, second] = hub.sent("PUBLISH") as [Frame, Frame];
    assert.equal(first["events"][0].opts.id, second["events"][0].opts.id);
    assert.deepEqual(types().slice(0, 3), ["connected", "disconnected", "connected"]);
    await client.close();
  }
});

test("close codes say whether to come back", async () => {
  for (const code of [1001, 1006, 4000, 4101]) {
    const { hub, client } = await scene();
    hub.socket.drop(code);
    await until(() => hub.sockets.length === 2 && client.state === "connected", `the return after ${code}`);
    await client.close();
  }
  for (const code of [1002, 4200]) {
    const { hub, client, notices } = await scene();
    const subscription = await client.subscribe("a", "g", () => {});
    hub.isSilent = true;
    const publishing = client.publish("a", 1);
    await until(() => hub.sent("PUBLISH").length === 1, "the publish");
    hub.socket.drop(code);
    await assert.rejects(publishing, { code: "closed", stored: "unknown" });
    assert.equal((await subscription.ended)?.code, "closed");
    assert.equal(client.state, "closed");
    assert.equal(notices.at(-1)?.type, "closed");
    await assert.rejects(client.publish("a", 2), { code: "closed" });
  }
});

test("a silent hub is pinged, and counts as lost when it does not answer", async () => {
  for (const canPing of [true, false]) {
    const { hub, client, notices } = await scene(
      { pingAfterMs: 40, silenceLimitMs: 80, connectTimeoutMs: 100 },
      (fake) => (fake.canPing = canPing),
    );
    const asked = () => (canPing ? hub.pings : hub.sent("AUTH").length - hub.sockets.length);
    await until(() => asked() >= 2, "two signs of life");
    assert.equal(hub.sockets.length, 1, "a hub that answers was given up");
    hub.isSilent = true;
    await until(() => notices.some(({ type }) => type === "disconnected"), "the loss");
    hub.isSilent = false;
    await until(() => client.state === "connected", "the return");
    await client.close();
  }
});

test("a client that was busy does not mistake unread data for silence", async () => {
  const { hub, client, types } = await scene({ pingAfterMs: 40, silenceLimitMs: 80 });
  const block = () => {
    const until = performance.now() + 200;
    while (performance.now() < until);
  };
  // The answer arrives in time, but timers run before received data is read.
  hub.pong = (answer) =>
    setImmediate(() => {
      block();
      setImmediate(answer);
    });
  await until(() => hub.pings >= 3, "more pings");
  assert.deepEqual(types(), ["connected"]);
  await client.close();
});

test("waiting deliveries are lost with the connection, and settling them later settles nothing", async () => {
  const { hub, client } = await scene();
  const handled: Delivery[] = [];
  let finish: (() => void) | undefined;
  const handler = (_: unknown, delivery: Delivery) => {
    handled.push(delivery);
    return new Promise<void>((resolve) => (finish = resolve));
  };
  await client.subscribe("a", "g", handler);
  const events = [0, 1, 2].map((offset) => ({ id: "x", topic: "a", partition: 0, offset, stored_ts: 1, payload: 1 }));
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: LEASE });
  hub.socket.drop(1006);
  await until(() => hub.sent("SUBSCRIBE").length === 2, "the return");
  finish?.();
  await assert.rejects((handled[0] as Delivery).ack(), { code: "lease_lost" });
  await client.publish("b", 1);
  assert.equal(handled.length, 1, "what waited over the lost connection was handled");
  assert.equal(hub.sent("ACK").length, 0);
  await client.close();
});

test("a page that wakes up asks whether the hub is there, or connects at once", async () => {
  const page = globalThis as { window?: EventTarget; document?: EventTarget };
  [page.window, page.document] = [new EventTarget(), new EventTarget()];
  try {
    const { hub, client } = await scene({ backoff: { firstMs: 60_000, maxMs: 60_000 } });
    page.document.dispatchEvent(new Event("visibilitychange"));
    assert.equal(hub.pings, 1);
    hub.isDown = true;
    hub.socket.drop(1006);
    hub.isDown = false;
    assert.equal(client.state, "connecting");
    page.window.dispatchEvent(new Event("online"));
    await until(() => client.state === "connected", "the connection, long before the backoff is over");
    await client.close();
    page.window.dispatchEvent(new Event("online"));
    assert.equal(hub.sockets.length, 2);
  } finally {
    delete page.window;
    delete page.document;
  }
});

test("a gap is reported to the subscription and to the notice listeners", async () => {
  const { hub, client, notices } = await scene();
  const gaps: Gap[] = [];
  await client.subscribe("a.*", "g", () => {}, { onGap: (gap) => void gaps.push(gap) });
  hub.socket.say({
    op: "GAP",
    topic: "a.*",
    group: "g",
    event_topic: "a.b",
    partition: 0,
    from: 10,
    to: 250,
    reason: "retention",
  });
  const gap = { topic: "a.b", partition: 0, from: 10, to: 250, reason: "retention" };
  assert.deepEqual(gaps, [gap]);
  assert.deepEqual(notices.at(-1), { type: "gap", topic: "a.*", group: "g", gap });
  await client.close();
});

test("a subscription that the hub ends says why; one that may work later is asked for again", async () => {
  const { hub, client, types } = await scene();
  const ended = await client.subscribe("a", "g", () => {});
  hub.socket.say({ op: "ERR", code: "forbidden", msg: "rights were withdrawn", topic: "a", group: "g" });
  assert.equal((await within(ended.ended, "the end"))?.code, "forbidden");
  assert.ok(types().includes("subscription_ended"));
  const kept = await client.subscribe("b", "g", () => {});
  hub.socket.say({ op: "ERR", code: "internal", msg: "cannot read on", topic: "b", group: "g" });
  await until(() => hub.sent("SUBSCRIBE").filter(({ topic }) => topic === "b").length === 2, "the second SUBSCRIBE");
  await until(() => types().includes("resubscribed"), "the return");
  await kept.unsubscribe();
  await client.close();
});

test("a subscriber's window bounds what waits in the client, and a hub that overruns it is left", async () => {
  const { hub, client, notices } = await scene();
  await client.subscribe("a", "g", () => new Promise(() => {}), { maxInFlight: 10 });
  const events = Array.from({ length: 50 }, (_, offset) => ({ id: "x", topic: "a", partition: 0, offset, payload: 1 }));
  hub.socket.say({ op: "EVENTS", topic: "a", group: "g", events, ctx: LEASE });
  await until(() => notices.some(({ type }) => type === "disconnected"), "the end of the connection");
  await client.close();
});

test("an unread tail asks the hub to pause, and to resume when there is room", async () => {
  const { hub, client } = await scene();
  const stream = client.events("a");
  await stream.ready;
  const events = Array.from({ length: 5000 }, (_, offset) => ({
    id: "x",
    topic: "a",
    partition: 0,
    offset,
    stored_ts: 1,
    payload: offset,
  }));
  hub.socket.say({ op: "EVENTS", topic: "a", events });
  await until(() => hub.sent("PAUSE").length === 1, "the pause");
  for (let n = 0; n < 5000; n++) assert.equal((await stream.next()).value?.payload, n);
  await until(() => hub.sent("RESUME").length === 1, "the end of the pause");
  await client.close();
});

test("a fresh token goes over the connection that is there before the last one expires", async () => {
  let asked = 0;
  const prepare = (hub: FakeHub) => (hub.welcome = { ...hub.welcome, expires_at_ms: Date.now() + 2500 });
  const { hub, client, types } = await scene({}, prepare, () => `token ${++asked}`);
  hub.welcome = { ...hub.welcome, expires_at_ms: Date.now() + 3_600_000 };
  await until(() => hub.sent("AUTH").length === 2, "the second AUTH");
  assert.deepEqual(
    hub.sent("AUTH").map(({ token }) => token),
    ["token 1", "token 2"],
  );
  assert.deepEqual(types(), ["connected"]);
  await client.close();
});

test("a token function that fails is asked again, and its failure is told", async () => {
  let asked = 0;
  const token = () => {
    if (++asked === 2) throw new Error("the vault is closed");
    return "token";
  };
  const { hub, client, types, notices } = await scene({}, () => {}, token);
  hub.socket.drop(1006);
  await until(() => hub.sockets.length === 2 && client.state === "connected", "the return");
  assert.deepEqual(types(), ["connected", "disconnected", "token_failed", "not_connected", "connected"]);
  const failed = notices.find((notice) => notice.type === "token_failed");
  assert.match(failed?.reason ?? "", /the vault is closed/);
  await client.close();
});
