/** Settling by hand: ack, nack, modack, and leases that are renewed. */

import type { Delivery } from "../../src/index.js";
import { equal, eventually, ok, rejectsWithCode, until, within } from "./expectations.js";
import { floor, inFlight } from "./replay.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "with manual acks nothing is settled before the handler says so, and an answered ack is durable",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const name = topic("manual");
      const held: Delivery[] = [];
      await client.subscribe(name, "g", (_, delivery) => held.push(delivery), { manualAck: true });
      await Promise.all([0, 1, 2, 3].map((n) => client.publish(name, n)));
      await until(() => held.length === 4, "the deliveries");
      equal(await floor(hub, name, "g"), 0);
      await held[2]?.ack();
      equal(await floor(hub, name, "g"), 0, "an ack moved the floor over an earlier event");
      await Promise.all([held[0]?.ack(), held[1]?.ack(), held[1]?.ack()]);
      equal(await floor(hub, name, "g"), 3);
      await held[0]?.ack();
    },
  },
  {
    name: "a nack brings the event again after the delay it names",
    async run({ connect, topic }) {
      const client = await connect();
      const came: { attempt: number; at: number }[] = [];
      const handler = async (_: unknown, delivery: Delivery) => {
        came.push({ attempt: delivery.attempt, at: performance.now() });
        if (delivery.attempt === 1) await delivery.nack("not yet", { delayMs: 300 });
        else await delivery.ack();
      };
      await client.subscribe(topic("again"), "g", handler, { manualAck: true });
      await client.publish(topic("again"), 1);
      await until(() => came.length === 2, "the second attempt");
      const [first, second] = came as [(typeof came)[0], (typeof came)[0]];
      equal([first.attempt, second.attempt], [1, 2]);
      ok(second.at - first.at >= 290, `it came again after ${second.at - first.at} ms`);
    },
  },
  {
    name: "a nack or modack of nonsense is refused and settles nothing",
    async run({ connect, topic, hub }) {
      const client = await connect();
      await client.publish(topic("odd"), 1);
      const stream = client.deliveries(topic("odd"), "g", { from: "earliest" });
      const { value: delivery } = await within(stream.next(), "the delivery");
      ok(delivery, "no delivery");
      await rejectsWithCode(delivery.nack("no", { delayMs: -1 }), "bad_request");
      await rejectsWithCode(delivery.modack(0.5), "bad_request");
      await delivery.ack();
      equal(await floor(hub, topic("odd"), "g"), 1);
    },
  },
  {
    name: "a lease that ran out is a failed attempt: the event comes again as the next one",
    async run({ connect, topic }) {
      const client = await connect();
      const came: Delivery[] = [];
      const options = { manualAck: true, ackTimeoutMs: 1000, backoff: { firstMs: 10, maxMs: 10 } };
      await client.subscribe(topic("slow"), "g", (_, delivery) => came.push(delivery), options);
      await client.publish(topic("slow"), 1);
      await until(() => came.length === 2, "the second attempt");
      equal(came[1]?.attempt, 2);
      await came[1]?.ack();
      // Settled by now, which is as good.
      await came[0]?.ack();
    },
  },
  {
    name: "settling an event that is no longer leased rejects, and is harmless if ignored",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const came: Delivery[] = [];
      const options = { manualAck: true, ackTimeoutMs: 1000, backoff: { firstMs: 60_000, maxMs: 60_000 } };
      await client.subscribe(topic("late"), "g", (_, delivery) => came.push(delivery), options);
      await client.publish(topic("late"), 1);
      await until(() => came.length === 1, "the delivery");
      await eventually(async () => (await inFlight(hub, topic("late"), "g")) === 0, "the end of the lease");
      const delivery = came[0] as Delivery;
      void delivery.ack();
      const error = await rejectsWithCode(delivery.ack(), "lease_lost");
      ok(String(error).includes("offset 0"), String(error));
      await rejectsWithCode(delivery.modack(1000), "lease_lost");
      await rejectsWithCode(delivery.nack("late"), "lease_lost");
    },
  },
  {
    name: "modack keeps an event beyond its deadline",
    async run({ connect, topic }) {
      const client = await connect();
      const came: Delivery[] = [];
      const options = { manualAck: true, ackTimeoutMs: 1000 };
      await client.subscribe(topic("kept"), "g", (_, delivery) => came.push(delivery), options);
      await client.publish(topic("kept"), 1);
      await until(() => came.length === 1, "the delivery");
      await came[0]?.modack(60_000);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      equal(came.length, 1);
      await came[0]?.ack();
    },
  },
  {
    name: "a handler may take longer than its lease: the client renews it, also for what waits its turn",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const attempts: number[] = [];
      const handler = async (_: unknown, { attempt }: Delivery) => {
        attempts.push(attempt);
        await new Promise((resolve) => setTimeout(resolve, 1300));
      };
      await client.subscribe(topic("long"), "g", handler, { ackTimeoutMs: 1000, backoff: { firstMs: 10, maxMs: 10 } });
      await Promise.all([1, 2].map((n) => client.publish(topic("long"), n)));
      await until(() => attempts.length === 2, "the handlers");
      await within(client.close(), "the end");
      equal(attempts, [1, 1], "an event came twice");
      equal(await floor(hub, topic("long"), "g"), 2);
    },
  },
];
