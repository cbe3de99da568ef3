/** Broken connections: unanswered events go over the next one, and the client reports what happened. */

import type { Notice } from "../../src/index.js";
import { equal, ok, rejectsWithCode, until, within } from "./expectations.js";
import { replay } from "./replay.js";
import type { Scenario } from "./scenario.js";

const QUICK = { backoff: { firstMs: 20, maxMs: 100 } } as const;

export const scenarios: readonly Scenario[] = [
  {
    name: "publishes in flight when the hub is killed are stored once, in order",
    async run({ connect, topic, hub }) {
      const notices: Notice[] = [];
      const client = await connect({ ...QUICK, onNotice: (notice) => notices.push(notice) });
      const name = topic("killed");
      await client.publish(name, 0);
      const sent = Array.from({ length: 3000 }, (_, n) => client.publish(name, n + 1));
      await hub.kill();
      await until(() => notices.some(({ type }) => type === "disconnected"), "the notice of the loss");
      const offline = client.publish(name, 3001);
      equal(client.state, "connecting");
      await hub.restart();
      const receipts = await within(Promise.all([...sent, offline]), "the receipts");
      const stored = await replay(hub, name, 5000);
      equal(
        stored.map(({ payload }) => payload),
        Array.from({ length: 3002 }, (_, n) => n),
      );
      equal(
        receipts.map(({ id }) => id),
        stored.slice(1).map(({ id }) => id),
      );
      const types = new Set(notices.map(({ type }) => type));
      ok(types.has("connected") && types.has("disconnected"), [...types].join());
      const back = notices.filter((notice) => notice.type === "connected").at(-1);
      ok(back?.isReconnect === true, "the client does not say that it came back");
    },
  },
  {
    name: "a subscription comes back by itself, sees no gap, and what was not settled comes again",
    async run({ connect, topic, hub }) {
      const client = await connect(QUICK);
      const notices: Notice[] = [];
      client.onNotice((notice) => notices.push(notice));
      const name = topic("resumed");
      const seen: number[] = [];
      let killing: Promise<void> | undefined;
      await client.subscribe(
        name,
        "g",
        ({ payload }) => {
          seen.push(payload);
          if (seen.length === 20) killing = hub.kill();
          return killing;
        },
        { maxInFlight: 5 },
      );
      const publishing = Promise.all(Array.from({ length: 100 }, (_, n) => client.publish(name, n)));
      await until(() => notices.some(({ type }) => type === "disconnected"), "the loss");
      await killing;
      await hub.restart();
      await within(publishing, "the receipts");
      await until(() => seen.includes(99), "the last event");
      let highest = -1;
      for (const n of seen) {
        ok(n <= highest + 1, `${n} came after ${highest}`);
        highest = Math.max(highest, n);
      }
      equal(new Set(seen).size, 100);
      const isBack = (notice: Notice) => notice.type === "resubscribed" && notice.topic === name;
      ok(notices.some(isBack), "it does not say that it is back");
    },
  },
  {
    name: "a subscription without a group continues where it was, and shows nothing twice",
    async run({ connect, topic, hub }) {
      const [client, publisher] = [await connect(QUICK), await connect(QUICK)];
      const name = topic("followed");
      const seen: number[] = [];
      await client.subscribe(name, null, ({ payload }) => seen.push(payload), { from: "earliest" });
      await Promise.all(Array.from({ length: 50 }, (_, n) => publisher.publish(name, n)));
      await until(() => seen.length === 50, "the first half");
      await hub.kill();
      await hub.restart();
      await Promise.all(Array.from({ length: 50 }, (_, n) => publisher.publish(name, 50 + n)));
      await until(() => seen.length >= 100, "the second half");
      equal(
        seen,
        Array.from({ length: 100 }, (_, n) => n),
      );
    },
  },
  {
    name: "a hub that stops in order is left and found again",
    async run({ connect, topic, hub }) {
      const notices: Notice[] = [];
      const client = await connect({ ...QUICK, onNotice: (notice) => notices.push(notice) });
      await hub.stop();
      await until(() => notices.some(({ type }) => type === "not_connected"), "a failed attempt");
      const lost = notices.find((notice) => notice.type === "disconnected");
      equal(lost?.code, 1001);
      await hub.restart();
      equal((await within(client.publish(topic("after"), 1), "the receipt")).offset, 0);
    },
  },
  {
    name: "leases that were lost with the connection are told as lost",
    async run({ connect, topic, hub }) {
      const client = await connect(QUICK);
      await client.publish(topic("lost"), 1);
      const stream = client.deliveries(topic("lost"), "g", { from: "earliest" });
      const { value: delivery } = await within(stream.next(), "the delivery");
      await hub.kill();
      await until(() => client.state === "connecting", "the loss");
      await rejectsWithCode((delivery as NonNullable<typeof delivery>).ack(), "lease_lost");
      await hub.restart();
      const { value: again } = await within(stream.next(), "the same delivery again");
      equal([again?.event.payload, again?.attempt], [1, 1]);
      await again?.ack();
    },
  },
  {
    name: "a publish that finds no hub for too long gives up and says that nothing was stored",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect({ ...QUICK, giveUpAfterMs: 200 });
      await hub.kill();
      await until(() => client.state === "connecting", "the loss");
      const error = await rejectsWithCode(client.publish(topic("vain"), 1), "gave_up");
      ok(error instanceof sdk.PromError, "no PromError");
      equal(error.stored, "no");
      await hub.restart();
    },
  },
  {
    name: "connecting where there is no hub is refused, and may be tried again",
    async run({ sdk, url, hub }) {
      await hub.stop();
      const client = new sdk.PromClient(url, null, QUICK);
      await rejectsWithCode(client.connect(), "unreachable");
      equal(client.state, "idle");
      await hub.restart();
      await within(client.connect(), "the connection");
      equal(client.state, "connected");
      await client.close();
    },
  },
  {
    name: "without connect the first verb connects, and waits for the hub",
    async run({ sdk, url, topic, hub }) {
      await hub.stop();
      const client = new sdk.PromClient(url, null, QUICK);
      const seen: unknown[] = [];
      const subscribing = client.subscribe(topic("lazy"), "g", ({ payload }) => seen.push(payload), {
        from: "earliest",
      });
      const publishing = client.publish(topic("lazy"), 1);
      equal(client.state, "connecting");
      await hub.restart();
      await within(Promise.all([subscribing, publishing]), "the hub");
      await until(() => seen.length === 1, "the event");
      await client.close();
    },
  },
];
