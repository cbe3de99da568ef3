/** Publishing: receipts, ids, batches, bounds. */

import { equal, ok, rejectsWithCode, within } from "./expectations.js";
import { replay } from "./replay.js";
import type { Http } from "../../src/index.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "a receipt says where an event is and how safely",
    async run({ connect, topic }) {
      const client = await connect();
      const before = Date.now();
      const first = await client.publish(topic("placed"), { id: 7 });
      const second = await client.publish(topic("placed"), { id: 8 });
      equal([first.partition, first.offset, first.durability], [0, 0, "fsync"]);
      equal(second.offset, 1);
      ok(first.stored_ts >= before - 1000, "stored before it was published");
      ok(/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(first.id), `${first.id} is no UUID of version 7`);
    },
  },
  {
    name: "everything that was said about an event comes back",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect();
      const cause = new sdk.IdMaker().make(Date.now());
      const said = {
        key: 'a "key"\u2028',
        headers: { "x-source": "web", "Content-Type": "application/json" },
        tags: ["one", "zwei", "трі", "四"],
        caused_by: [cause],
        sid: "session",
        ts: 1_700_000_000_000,
      };
      const payload = { text: "naïve \u{1f980} \u0000", list: [1, null, { deep: true }] };
      const { id } = await client.publish(topic("whole"), payload, said);
      const [event] = await replay(hub, topic("whole"));
      const expected = { ...said, headers: { "x-source": "web", "content-type": "application/json" }, payload, id };
      const { stored_ts: _, partition: __, offset: ___, topic: ____, ...found } = event ?? {};
      equal(found, expected);
    },
  },
  {
    name: "what is published in one go is stored in its order",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const receipts = await Promise.all(Array.from({ length: 2500 }, (_, n) => client.publish(topic("many"), n)));
      equal(
        receipts.map(({ offset }) => offset),
        receipts.map((_, n) => n),
      );
      const events = await replay(hub, topic("many"), 3000);
      equal(
        events.map(({ payload }) => payload),
        receipts.map((_, n) => n),
      );
      equal(
        events.map(({ id }) => id),
        receipts.map(({ id }) => id),
      );
    },
  },
  {
    name: "publishing an id again stores nothing and gives the first receipt, marked as a duplicate",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect();
      const id = new sdk.IdMaker().make(Date.now());
      const first = await client.publish(topic("once"), 1, { id });
      const again = await client.publish(topic("once"), 2, { id: id.toUpperCase(), exact: true });
      equal(again, { ...first, duplicate: true });
      equal(
        (await replay(hub, topic("once"))).map(({ payload }) => payload),
        [1],
      );
    },
  },
  {
    name: "an event that expects something is stored only if that is so",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect();
      const accounts = topic("expecting");
      const id = new sdk.IdMaker().make(Date.now());
      const first = await client.publish(accounts, 1, { id, expect: { offset: 0 } });
      const again = await client.publish(accounts, 1, { id, expect: { offset: 0 } });
      equal(again, { ...first, duplicate: true }, "a repeated id is answered before its expectation is looked at");
      const [stored, refused] = await Promise.allSettled([
        client.publish(accounts, 2, { expect: { offset: 1 } }),
        client.publish(accounts, 3, { expect: { offset: 1 } }),
      ]);
      equal([stored.status, refused.status], ["fulfilled", "rejected"]);
      const reason = (refused as PromiseRejectedResult).reason as InstanceType<typeof sdk.PromError>;
      equal([reason.code, reason.actual], ["conflict", { offset: 2 }]);
      const batch = [
        { topic: accounts, payload: 4, opts: { expect: { offset: 2 } } },
        { topic: accounts, payload: 5, opts: { expect: { offset: 3 } } },
      ];
      await rejectsWithCode(client.publishBatch(batch), "conflict");
      equal(
        (await replay(hub, accounts)).map(({ payload }) => payload),
        [1, 2],
      );
      const without = client.publish(accounts, 1, { key: "k", expect: { key_offset: null } });
      const { message } = await rejectsWithCode<Error & { code: string }>(without, "bad_request");
      ok(message.includes("versions = true"), message);
      for (const wrong of [{}, { offset: null }, { offset: -1 }, { offset: 1, key_offset: 1 }, { key: 1 }, null]) {
        await rejectsWithCode(client.publish(accounts, 1, { expect: wrong as never }), "bad_request");
      }
    },
  },
  {
    name: "a batch is stored whole, also across topics, or not at all",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const [paid, booked] = [topic("paid"), topic("booked")];
      const receipts = await client.publishBatch([
        { topic: paid, payload: { id: 7 } },
        { topic: booked, payload: { cents: 1250 }, opts: { key: "7" } },
      ]);
      equal(
        receipts.map(({ offset }) => offset),
        [0, 0],
      );
      const tooDeep = nested(200);
      const refused = client.publishBatch([
        { topic: paid, payload: 8 },
        { topic: booked, payload: tooDeep },
      ]);
      const error = await rejectsWithCode(refused, "too_large");
      ok(String(error).includes("events[1]"), `the message does not say which: ${String(error)}`);
      equal((await replay(hub, paid)).length, 1);
      equal(await client.publishBatch([]), []);
    },
  },
  {
    name: "one refused event does not spoil those that leave with it",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect();
      const payloads: unknown[] = [1, nested(200), 3];
      const outcomes = await Promise.allSettled(payloads.map((payload) => client.publish(topic("mixed"), payload)));
      equal(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      const { reason } = outcomes[1] as PromiseRejectedResult;
      ok(reason instanceof sdk.PromError, "the refusal is no PromError");
      equal(reason.code, "too_large");
      equal(
        (await replay(hub, topic("mixed"))).map(({ payload }) => payload),
        [1, 3],
      );
    },
  },
  {
    name: "what can be known to be wrong is refused before anything is sent",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const name = topic("wrong");
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      const refuse = (code: string, promise: Promise<unknown>) => rejectsWithCode(promise, code);
      await refuse("bad_request", client.publish("Not A Topic", 1));
      await refuse("bad_request", client.publish("dlq.orders", 1));
      await refuse("bad_request", client.publish(name, undefined));
      await refuse("bad_request", client.publish(name, cycle));
      await refuse("bad_request", client.publish(name, 10n));
      await refuse("bad_request", client.publish(name, 1, { id: "7" }));
      await refuse("bad_request", client.publish(name, 1, { headers: { "X-Upper": "1" } }));
      await refuse("bad_request", client.publish(name, 1, { partition: 0.5 }));
      await refuse("bad_request", client.publish(name, 1, { key: 7 as never }));
      await refuse("too_large", client.publish(name, 1, { key: "k".repeat(1025) }));
      await refuse("too_large", client.publish(name, "x".repeat(1024 * 1024)));
      await refuse("too_large", client.publish(name, "ä".repeat(600 * 1024)));
      equal(((await hub.getJson(`/topics/${name}`)) as Http.ProblemDocument).code, "unknown_topic");
    },
  },
  {
    name: "where more is published than may wait, callers wait, and nothing changes its order",
    async run({ connect, topic, hub }) {
      const client = await connect({ maxPendingEvents: 10, maxPendingBytes: 500 });
      const order: number[] = [];
      const all = Array.from({ length: 500 }, (_, n) => client.publish(topic("bounded"), n).then(() => order.push(n)));
      let isFree = false;
      const free = client.room().then(() => (isFree = true));
      await Promise.resolve();
      ok(!isFree, "there was room although much waits");
      const larger = client.publish(topic("bounded"), "x".repeat(1000));
      await within(Promise.all([...all, free, larger]), "the publishes");
      equal(
        order,
        order.map((_, n) => n),
      );
      const stored = await replay(hub, topic("bounded"), 600);
      equal(
        stored.slice(0, 500).map(({ payload }) => payload),
        order,
      );
      await within(client.room(), "room in an empty buffer");
    },
  },
];

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}
