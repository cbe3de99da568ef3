/** Effects that happen exactly once: the mark and the effect share a transaction, and publishes an id. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Harness, startHarness } from "../../src/harness.js";
import { mongoOnce, once, type OnceStore, oncePublish, postgresOnce, PromClient } from "../../src/index.js";
import { until } from "../scenarios/expectations.js";

let harness: Harness;
before(async () => void (harness = await startHarness()));
after(() => harness?.close());

/** A database in memory whose transactions are taken back when they fail. */
class Ledger implements OnceStore<Ledger> {
  marks = new Set<string>();
  balance = 0;

  async transaction<T>(work: (tx: Ledger) => Promise<T>): Promise<T> {
    const [marks, balance] = [new Set(this.marks), this.balance];
    try {
      return await work(this);
    } catch (thrown) {
      [this.marks, this.balance] = [marks, balance];
      throw thrown;
    }
  }

  async mark(_tx: Ledger, mark: string): Promise<boolean> {
    if (this.marks.has(mark)) return false;
    this.marks.add(mark);
    return true;
  }
}

test("each event counts once, although handlers fail before and after the effect and events come again", async () => {
  await using client = new PromClient(harness.url);
  for (let n = 1; n <= 40; n++) await client.publish("once.paid", { n }, { key: String(n) });
  const ledger = new Ledger();
  const tries = new Map<number, number>();
  let handled = 0;
  const handle = async (event: { id: string; topic: string; partition: number; payload: unknown }) => {
    const { n } = event.payload as { n: number };
    const time = (tries.get(n) ?? 0) + 1;
    tries.set(n, time);
    await ledger.transaction((tx) =>
      once(ledger, tx, "accounts", event, () => {
        ledger.balance += n;
        if (n % 3 === 0 && time === 1) throw new Error("before the commit");
      }),
    );
    if (n % 4 === 0 && time <= 2) throw new Error("after the commit");
    handled++;
  };
  await client.subscribe("once.paid", "accounts", handle, { from: "earliest", backoff: { firstMs: 5, maxMs: 10 } });
  await until(() => handled >= 40, "all events are handled");
  assert.equal(ledger.balance, (40 * 41) / 2);
  assert.ok(tries.get(12)! >= 3, "events did come again");
});

test("a publish that is the effect of an event is stored once, and another one of the same event too", async () => {
  await using client = new PromClient(harness.url);
  const event = { id: "018f4f5e-0000-7000-8000-000000000001", topic: "once.paid", partition: 0 };
  const first = await client.publish("once.invoiced", { n: 1 }, oncePublish("billing", event));
  const again = await client.publish("once.invoiced", { n: 1 }, oncePublish("billing", event));
  const other = await client.publish("once.invoiced", { n: 2 }, oncePublish("billing", event, "reminder"));
  assert.deepEqual([again.offset, again.duplicate, other.offset], [first.offset, true, 1]);
});

test("a mark in MongoDB is made by an upsert in the caller's session, and expires", async () => {
  const calls: unknown[] = [];
  const known = new Set<string>();
  const collection = {
    async updateOne({ _id }: { _id: string }, _update: unknown, options: { session: string }) {
      calls.push(options);
      const upsertedCount = known.has(_id) ? 0 : 1;
      known.add(_id);
      return { upsertedCount };
    },
    async createIndex(_keys: unknown, options: unknown) {
      calls.push(options);
    },
  };
  const seen = mongoOnce<string>(collection, { ttlMs: 60_000 });
  await seen.prepare();
  assert.equal(await seen.mark("session 1", "a", new Date()), true);
  assert.equal(await seen.mark("session 2", "a", new Date()), false);
  assert.deepEqual(calls, [
    { name: "once_expiry", expireAfterSeconds: 60 },
    { upsert: true, session: "session 1" },
    { upsert: true, session: "session 2" },
  ]);
});

test("marks in PostgreSQL that are old are removed once in an hour, and names of tables are plain", async () => {
  const texts: string[] = [];
  const client = {
    async query(text: string) {
      texts.push(text.split(" ", 1)[0]!);
      return { rowCount: 1 };
    },
  };
  const seen = postgresOnce();
  const now = Date.now();
  for (const at of [now, now + 1, now + 60 * 60 * 1000]) await seen.mark(client, "m", new Date(at));
  assert.deepEqual(texts, ["DELETE", "INSERT", "INSERT", "DELETE", "INSERT"]);
  assert.throws(() => postgresOnce("a; DROP"), { code: "bad_request" });
});
