/** Subscribing with a handler: order, sharing, failing, pausing, leaving. */

import type { EventEnvelope, Notice } from "../../src/index.js";
import { equal, ok, rejectsWithCode, until, within } from "./expectations.js";
import { floor } from "./replay.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "a handler gets every event in order, and what it returned from is settled",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const name = topic("placed");
      const numbers = Array.from({ length: 1500 }, (_, n) => n);
      await Promise.all(numbers.map((n) => client.publish(name, n)));
      const seen: unknown[] = [];
      const one = await client.subscribe(name, "mail", ({ payload }) => seen.push(payload), { from: "earliest" });
      await until(() => seen.length === 1500, "the events");
      equal(seen, numbers);
      await one.unsubscribe();
      equal(await floor(hub, name, "mail"), 1500);
      await client.subscribe(name, "mail", ({ payload }) => seen.push(payload));
      await client.publish(name, "new");
      await until(() => seen.length > 1500, "the new event");
      equal(seen[1500], "new", "something settled came again");
    },
  },
  {
    name: "the delivery says which attempt it is, and the event everything about itself",
    async run({ connect, topic }) {
      const client = await connect();
      const receipt = await client.publish(topic("facts"), { n: 1 }, { key: "k" });
      const came = new Promise<[EventEnvelope, number, number, number]>((resolve) => {
        void client.subscribe(
          topic("facts"),
          "g",
          (event, delivery) => resolve([event, delivery.attempt, delivery.maxAttempts, delivery.ack_deadline_ms]),
          { from: "earliest", maxAttempts: 7, ackTimeoutMs: 10_000 },
        );
      });
      const [event, attempt, maxAttempts, deadlineMs] = await within(came, "the event");
      const { id, partition, offset, stored_ts } = receipt;
      const { ts: _, ...found } = event;
      equal(found, { id, partition, offset, stored_ts, topic: topic("facts"), key: "k", payload: { n: 1 } });
      equal([attempt, maxAttempts], [1, 7]);
      ok(deadlineMs > 5000 && deadlineMs <= 10_000, `${deadlineMs} ms are left`);
    },
  },
  {
    name: "an event whose handler throws comes again, and at the limit goes to the dead letters with the reason",
    async run({ connect, topic }) {
      const notices: Notice[] = [];
      const client = await connect({ onNotice: (notice) => notices.push(notice) });
      const name = topic("failing");
      const attempts: number[] = [];
      const letters: EventEnvelope[] = [];
      await client.subscribe(`dlq.${name}`, null, (letter) => letters.push(letter));
      const options = { maxAttempts: 3, backoff: { firstMs: 10, maxMs: 20 } };
      await client.subscribe(
        name,
        "g",
        async (_, { attempt }) => {
          attempts.push(attempt);
          throw new Error(`attempt ${attempt} failed`);
        },
        options,
      );
      await client.publish(name, { id: 7 });
      await until(() => letters.length === 1, "the dead letter");
      equal(attempts, [1, 2, 3]);
      const { err, attempts: counted, original } = letters[0]?.payload;
      ok(String(err).includes("attempt 3 failed"), `the letter says ${String(err)}`);
      equal([counted, original.payload], [3, { id: 7 }]);
      equal(notices.filter(({ type }) => type === "handler_failed").length, 3);
    },
  },
  {
    name: "handlers run at the same time up to their number, and not beyond",
    async run({ connect, topic }) {
      const client = await connect();
      let [running, most, done] = [0, 0, 0];
      const handler = async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running--;
        done++;
      };
      await client.subscribe(topic("parallel"), "g", handler, { concurrency: 4 });
      await Promise.all(Array.from({ length: 40 }, (_, n) => client.publish(topic("parallel"), n)));
      await until(() => done === 40, "the handlers");
      equal(most, 4);
    },
  },
  {
    name: "with order by key, events of a key are handled in order whatever fails, and other keys flow",
    async run({ connect, topic }) {
      const client = await connect();
      const seen = new Map<string, number[]>();
      const failed = new Set<string>();
      const handler = async ({ key = "", payload }: EventEnvelope) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        if (payload % 5 === 2 && !failed.has(`${key} ${payload}`)) {
          failed.add(`${key} ${payload}`);
          throw new Error("once");
        }
        seen.set(key, [...(seen.get(key) ?? []), payload]);
      };
      const options = { order: "key", concurrency: 16, backoff: { firstMs: 5, maxMs: 5 } } as const;
      await client.subscribe(topic("keyed"), "g", handler, options);
      const all = Array.from({ length: 80 }, (_, n) => client.publish(topic("keyed"), n >> 3, { key: `k${n % 8}` }));
      await Promise.all(all);
      const count = () => [...seen.values()].reduce((sum, list) => sum + list.length, 0);
      await until(() => count() === 80, "all keys");
      for (const list of seen.values())
        equal(
          list,
          Array.from({ length: 10 }, (_, n) => n),
        );
      equal(failed.size, 16);
    },
  },
  {
    name: "subscribers of a group share its events, and no event goes to two of them",
    async run({ connect, topic }) {
      const [one, other] = [await connect(), await connect()];
      const seen: [number[], number[]] = [[], []];
      await one.subscribe(topic("shared"), "g", ({ payload }) => seen[0].push(payload), { maxInFlight: 10 });
      await other.subscribe(topic("shared"), "g", ({ payload }) => seen[1].push(payload), { maxInFlight: 10 });
      await Promise.all(Array.from({ length: 400 }, (_, n) => one.publish(topic("shared"), n)));
      await until(() => seen[0].length + seen[1].length >= 400, "the events");
      equal(new Set(seen.flat()).size, 400);
      ok(seen[0].length > 0 && seen[1].length > 0, `shared as ${seen[0].length} and ${seen[1].length}`);
    },
  },
  {
    name: "patterns and more topics bring what they match, also topics that are made later",
    async run({ connect, topic }) {
      const client = await connect();
      const seen: string[] = [];
      await client.subscribe(topic("a.*"), "g", (event) => seen.push(`${event.topic} ${event.payload}`), {
        topics: [topic("b.**")],
      });
      for (const word of ["a.x", "b", "b.y.z", "c.x", "a.x.y"]) await client.publish(topic(word), word);
      await until(() => seen.length === 3, "what matches");
      equal(
        seen.sort(),
        ["a.x", "b", "b.y.z"].map((word) => `${topic(word)} ${word}`),
      );
    },
  },
  {
    name: "a new group begins where it is told to",
    async run({ connect, topic }) {
      const client = await connect();
      const name = topic("positions");
      const receipts = [];
      for (const n of [0, 1, 2, 3, 4]) receipts.push(await client.publish(name, n));
      const first = async (group: string, from: object) => {
        const came = new Promise<unknown>((resolve) => {
          void client.subscribe(name, group, ({ payload }) => resolve(payload), { ...from, maxInFlight: 1 });
        });
        return within(came, group);
      };
      equal(await first("earliest", { from: "earliest" }), 0);
      equal(await first("after", { from: "afterId", afterId: receipts[2]?.id }), 3);
      equal(await first("offset", { from: "offset", offset: 2 }), 2);
      equal(await first("ts", { from: "ts", ts: receipts[0]?.stored_ts }), 0);
      const seen: unknown[] = [];
      await client.subscribe(name, "latest", ({ payload }) => seen.push(payload));
      await client.publish(name, "new");
      await until(() => seen.length > 0, "the new event");
      equal(seen, ["new"]);
    },
  },
  {
    name: "a filter leaves events out, and they count as settled",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const seen: number[] = [];
      await client.subscribe(topic("filtered"), "g", ({ payload }) => seen.push(payload), {
        filter: ".payload % 2 == 0",
      });
      await Promise.all(Array.from({ length: 10 }, (_, n) => client.publish(topic("filtered"), n)));
      await until(() => seen.length === 5, "the even ones");
      equal(seen, [0, 2, 4, 6, 8]);
      await client.close();
      equal(await floor(hub, topic("filtered"), "g"), 10);
    },
  },
  {
    name: "a paused subscription gets nothing until it is resumed",
    async run({ connect, topic }) {
      const [client, other] = [await connect(), await connect()];
      const seen: unknown[] = [];
      const subscription = await client.subscribe(topic("paused"), "g", ({ payload }) => seen.push(payload));
      await subscription.pause();
      await other.publish(topic("paused"), 1);
      // Whatever the hub sends to this connection after this answer, it sent before: a paused event would have come.
      await client.publish(topic("other"), 1);
      await client.publish(topic("other"), 2);
      equal(seen, []);
      await subscription.resume();
      await until(() => seen.length === 1, "the event");
    },
  },
  {
    name: "what a subscriber leaves unsettled goes to others at once, and not as a failed attempt",
    async run({ connect, topic }) {
      const [one, other] = [await connect(), await connect()];
      let held = 0;
      const hold = () => {
        held++;
        return new Promise(() => {});
      };
      const subscription = await one.subscribe(topic("left"), "g", hold, { concurrency: 10 });
      await Promise.all([1, 2, 3].map((n) => one.publish(topic("left"), n)));
      await until(() => held === 3, "the deliveries");
      const attempts: number[] = [];
      await other.subscribe(topic("left"), "g", (_, { attempt }) => attempts.push(attempt));
      await subscription.unsubscribe();
      equal(await within(subscription.ended, "the end"), undefined);
      await until(() => attempts.length === 3, "what was left");
      equal(attempts, [1, 1, 1]);
    },
  },
  {
    name: "a handler may end its own subscription, and its ack counts",
    async run({ connect, topic, hub }) {
      const client = await connect();
      await Promise.all([0, 1, 2, 3].map((n) => client.publish(topic("until"), n)));
      let left: Promise<void> | undefined;
      const handler = ({ payload }: EventEnvelope) => {
        if (payload === 1) left = client.unsubscribe(topic("until"), "g");
      };
      await client.subscribe(topic("until"), "g", handler, { from: "earliest" });
      await until(() => left !== undefined, "the second event");
      await within(left as Promise<void>, "the end");
      equal(await floor(hub, topic("until"), "g"), 2);
    },
  },
  {
    name: "a name can be subscribed to once, and again after it was left",
    async run({ connect, topic }) {
      const client = await connect();
      const subscription = await client.subscribe(topic("twice"), "g", () => {});
      await rejectsWithCode(
        client.subscribe(topic("twice"), "g", () => {}),
        "already_subscribed",
      );
      const leaving = subscription.unsubscribe();
      const again = client.subscribe(topic("twice"), "g", () => {});
      await within(Promise.all([leaving, again]), "the change");
      await client.unsubscribe(topic("unknown"), "g");
    },
  },
  {
    name: "what the hub or the client cannot do is refused with its code",
    async run({ connect, topic }) {
      const client = await connect();
      const refuse = (group: string, options: object) =>
        rejectsWithCode(
          client.subscribe(topic("refused"), group, () => {}, options),
          "bad_request",
        );
      await refuse("a group with spaces", {});
      await refuse("g", { topics: ["NOT A TOPIC"] });
      await refuse("g", { filter: "][" });
      await refuse("g", { mode: "divided" });
      await client.subscribe(topic("refused"), "agreed", () => {}, { order: "key" });
      const other = await connect();
      const otherwise = other.subscribe(topic("refused"), "agreed", () => {}, { order: "none" });
      await rejectsWithCode(otherwise, "bad_request");
    },
  },
  {
    name: "without a group every subscriber gets every event, and one that throws misses only that",
    async run({ connect, topic }) {
      const [one, other] = [await connect(), await connect()];
      const name = topic("live");
      await Promise.all([0, 1, 2].map((n) => one.publish(name, n)));
      const [early, late]: [unknown[], unknown[]] = [[], []];
      await one.subscribe(name, null, ({ payload }) => early.push(payload), { from: "earliest" });
      const tail = await other.subscribe(name, null, ({ payload }) => {
        if (payload === 4) throw new Error("cannot show this");
        late.push(payload);
      });
      await Promise.all([3, 4, 5].map((n) => one.publish(name, n)));
      await until(() => early.length === 6 && late.length === 2, "the events");
      equal(
        [early, late],
        [
          [0, 1, 2, 3, 4, 5],
          [3, 5],
        ],
      );
      await tail.unsubscribe();
    },
  },
];
