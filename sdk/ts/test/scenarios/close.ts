/** Closing: pending work is finished, and every caller is told. */

import type { Notice } from "../../src/index.js";
import { equal, ok, rejectsWithCode, until, within } from "./expectations.js";
import { floor, replay } from "./replay.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "closing waits for publishes and handlers, and their acks count",
    async run({ connect, topic, hub }) {
      const client = await connect();
      let [begun, ended] = [0, 0];
      const handler = async () => {
        begun++;
        await new Promise((resolve) => setTimeout(resolve, 200));
        ended++;
      };
      await client.subscribe(topic("drained"), "g", handler, { concurrency: 3 });
      await Promise.all([1, 2, 3, 4, 5].map((n) => client.publish(topic("drained"), n)));
      await until(() => begun === 3, "the handlers");
      const publishing = Promise.all(Array.from({ length: 100 }, (_, n) => client.publish(topic("last"), n)));
      await within(client.close(), "the end");
      equal(client.state, "closed");
      equal([begun, ended], [3, 3]);
      equal((await publishing).length, 100);
      equal((await replay(hub, topic("last"))).length, 100);
      equal(await floor(hub, topic("drained"), "g"), 3);
    },
  },
  {
    name: "a handler that does not end holds closing up no longer than it may",
    async run({ connect, topic }) {
      const client = await connect({ drainTimeoutMs: 150 });
      let begun = false;
      await client.subscribe(topic("stuck"), "g", () => {
        begun = true;
        return new Promise(() => {});
      });
      await client.publish(topic("stuck"), 1);
      await until(() => begun, "the handler");
      const before = performance.now();
      await within(client.close(), "the end");
      ok(performance.now() - before >= 140, "it did not wait");
    },
  },
  {
    name: "a closed client takes nothing more, and says so",
    async run({ connect, topic }) {
      const notices: Notice[] = [];
      const client = await connect({ onNotice: (notice) => notices.push(notice) });
      const subscription = await client.subscribe(topic("ended"), "g", () => {});
      const closing = client.close();
      await rejectsWithCode(client.publish(topic("late"), 1), "closed");
      await Promise.all([closing, client.close()]);
      equal(await within(subscription.ended, "the end"), undefined);
      await rejectsWithCode(client.publish(topic("late"), 1), "closed");
      await rejectsWithCode(
        client.subscribe(topic("late"), "g", () => {}),
        "closed",
      );
      await rejectsWithCode(client.connect(), "closed");
      await client.close();
      equal(notices.filter(({ type }) => type === "closed").length, 1);
    },
  },
  {
    name: "closing without a hub ends what waits after its time",
    async run({ sdk, connect, topic, hub }) {
      const client = await connect({ drainTimeoutMs: 150 });
      await hub.kill();
      await until(() => client.state === "connecting", "the loss");
      const publishing = client.publish(topic("never"), 1);
      const told = rejectsWithCode(publishing, "closed");
      await within(client.close(), "the end");
      ok((await told) instanceof sdk.PromError, "no PromError");
      await hub.restart();
    },
  },
];
