/** Reading in a loop. */

import { equal, ok, rejectsWithCode, within } from "./expectations.js";
import { floor } from "./replay.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "a loop over a group's events acks each when it asks for the next, and gives back the one it leaves at",
    async run({ connect, topic, hub }) {
      const client = await connect();
      const name = topic("looped");
      await Promise.all([0, 1, 2, 3, 4].map((n) => client.publish(name, n)));
      const seen: unknown[] = [];
      for await (const event of client.events(name, { group: "g", from: "earliest" })) {
        seen.push(event.payload);
        if (seen.length === 3) break;
      }
      equal(seen, [0, 1, 2]);
      equal(await floor(hub, name, "g"), 2);
      for await (const event of client.events(name, { group: "g" })) {
        seen.push(event.payload);
        if (event.payload === 4) break;
      }
      equal(seen, [0, 1, 2, 2, 3, 4]);
    },
  },
  {
    name: "a loop that throws acks nothing of the event it was at",
    async run({ connect, topic, hub }) {
      const client = await connect();
      await client.publish(topic("thrown"), 1);
      const loop = async () => {
        for await (const _ of client.events(topic("thrown"), { group: "g", from: "earliest" })) throw new Error("stop");
      };
      const thrown = await loop().catch(String);
      equal(thrown, "Error: stop");
      equal(await floor(hub, topic("thrown"), "g"), 0);
    },
  },
  {
    name: "a loop without a group sees everything from its position on",
    async run({ connect, topic }) {
      const client = await connect();
      const stream = client.events(topic("tail"));
      await within(stream.ready, "the hub's agreement");
      await Promise.all([0, 1, 2].map((n) => client.publish(topic("tail"), n)));
      const seen: unknown[] = [];
      for await (const { payload } of stream) if (seen.push(payload) === 3) break;
      equal(seen, [0, 1, 2]);
    },
  },
  {
    name: "a slow loop over a long topic loses nothing: the hub waits",
    async run({ connect, topic }) {
      const client = await connect();
      const count = 12_000;
      await Promise.all(Array.from({ length: count }, (_, n) => client.publish(topic("long"), n)));
      let next = 0;
      for await (const { payload } of client.events(topic("long"), { from: "earliest" })) {
        if (next % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
        equal(payload, next++);
        if (next === count) break;
      }
    },
  },
  {
    name: "a loop over deliveries settles them in its own time",
    async run({ connect, topic, hub }) {
      const client = await connect();
      await Promise.all([0, 1, 2].map((n) => client.publish(topic("byhand"), n)));
      const held = [];
      for await (const delivery of client.deliveries(topic("byhand"), "g", { from: "earliest" })) {
        held.push(delivery);
        if (held.length < 3) continue;
        equal(await floor(hub, topic("byhand"), "g"), 0);
        await Promise.all(held.map((each) => each.ack()));
        break;
      }
      equal(await floor(hub, topic("byhand"), "g"), 3);
    },
  },
  {
    name: "a loop that the hub refuses says so, and one whose client is closed ends",
    async run({ connect, topic }) {
      const client = await connect();
      await rejectsWithCode(client.events(topic("no"), { group: "g", filter: "][" }).next(), "bad_request");
      const stream = client.events(topic("ends"), { group: "g" });
      await stream.ready;
      const second = client.events(topic("ends"), { group: "g" });
      await rejectsWithCode(second.ready, "already_subscribed");
      await rejectsWithCode(second.next(), "already_subscribed");
      const next = stream.next();
      await client.close();
      const { done } = await within(next, "the end of the loop");
      ok(done === true, "the loop went on");
    },
  },
];
