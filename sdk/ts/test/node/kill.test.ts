/**
 * A hub that is killed in the middle of a stream: 100 000 events from two clients, each of which also reads what the
 * other publishes. Everything that the hub acknowledged is delivered, no handler sees a gap, and the clients say what
 * happened.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { startHarness } from "../../src/harness.js";
import { type EventEnvelope, type Notice, PromClient, type Receipt } from "../../src/index.js";
import { until } from "../scenarios/expectations.js";

/** At least; publishing continues until the last kill is over, so that each kill hits the stream. */
const EVENTS_EACH = 50_000;
const EVENTS_MOST = 1_000_000;
/** The hub is killed when this many events in total are acknowledged. */
const KILL_AT = [20_000, 65_000];
const DEADLINE_MS = 120_000;

interface Actor {
  readonly client: PromClient;
  readonly notices: Notice[];
  /** What it publishes to. */
  readonly topic: string;
  readonly receipts: Receipt[];
  published: number;
  /** What its handler saw of the other's topic. */
  readonly seen: EventEnvelope[];
}

test(
  "after kills in mid-stream everything acknowledged is delivered, without a gap",
  { timeout: 180_000 },
  async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), "prom-kill-"));
    const harness = await startHarness({ dataFolder });
    const actors = await Promise.all(["left", "right"].map((name) => act(harness.url, name)));
    try {
      const [left, right] = actors as [Actor, Actor];
      await listen(left, right.topic);
      await listen(right, left.topic);
      let killsLeft = KILL_AT.length;
      const publishing = Promise.all(actors.map((actor) => publishAll(actor, () => killsLeft === 0)));
      const acknowledged = () => left.receipts.length + right.receipts.length;
      for (const count of KILL_AT) {
        await until(() => acknowledged() >= count, `${count} receipts`, DEADLINE_MS);
        await harness.kill();
        killsLeft--;
        await harness.restart();
      }
      await publishing;
      const hasAll = (reader: Actor, publisher: Actor) => reader.seen.at(-1)?.payload.n === publisher.published - 1;
      const isComplete = () => hasAll(left, right) && hasAll(right, left);
      await until(isComplete, "the last event of both", DEADLINE_MS);
      judge(left, right);
      judge(right, left);
    } finally {
      await Promise.all(actors.map(({ client }) => client.close()));
      await harness.close();
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
);

async function act(url: string, name: string): Promise<Actor> {
  const notices: Notice[] = [];
  const options = { backoff: { firstMs: 10, maxMs: 100 }, onNotice: (notice: Notice) => void notices.push(notice) };
  const client = new PromClient(url, null, options);
  await client.connect();
  return { client, notices, topic: `stream.${name}`, receipts: [], published: 0, seen: [] };
}

async function listen(actor: Actor, topic: string): Promise<void> {
  await actor.client.subscribe(topic, "reader", (event) => actor.seen.push(event), { from: "earliest" });
}

async function publishAll(actor: Actor, mayEnd: () => boolean): Promise<void> {
  const { client, topic, receipts } = actor;
  const all: Promise<unknown>[] = [];
  while (actor.published < EVENTS_EACH || !mayEnd()) {
    assert.ok(actor.published < EVENTS_MOST, "the kills take too long");
    await client.room();
    // Kills and restarts want their turn too.
    if (actor.published % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    const payload = { n: actor.published++, filling: "x".repeat(100) };
    all.push(client.publish(topic, payload).then((receipt) => receipts.push(receipt)));
  }
  await Promise.all(all);
}

function judge(publisher: Actor, reader: Actor): void {
  const byOffset = new Map<number, EventEnvelope>();
  let highest = -1;
  for (const event of reader.seen) {
    assert.ok(event.offset <= highest + 1, `offset ${event.offset} of ${event.topic} came after ${highest}: a gap`);
    highest = Math.max(highest, event.offset);
    const before = byOffset.get(event.offset);
    if (before !== undefined) assert.equal(before.id, event.id, `two events at offset ${event.offset}`);
    byOffset.set(event.offset, event);
  }
  assert.equal(publisher.receipts.length, publisher.published, "receipts");
  for (const { id, offset } of publisher.receipts)
    assert.equal(byOffset.get(offset)?.id, id, `acknowledged, not delivered: ${id}`);
  const numbers = [...byOffset.values()].map(({ payload }) => payload.n);
  assert.deepEqual(
    numbers,
    Array.from({ length: publisher.published }, (_, n) => n),
    "every event once, in the order of publishing",
  );
  const told = (type: Notice["type"]) => publisher.notices.filter((notice) => notice.type === type);
  assert.equal(told("disconnected").length >= KILL_AT.length, true, "losses are told");
  assert.equal(told("resubscribed").length >= KILL_AT.length, true, "the subscription's return is told");
  const resent = told("connected").reduce(
    (sum, notice) => sum + (notice.type === "connected" ? notice.resentEvents : 0),
    0,
  );
  assert.ok(resent > 0, "nothing was in flight when the hub was killed: the test proves nothing");
  assert.equal(told("gap").length + told("subscription_ended").length + told("handler_failed").length, 0);
}
