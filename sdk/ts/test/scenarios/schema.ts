/** Schemas: refusals that say where, normalised reading, dual writes. */

import { equal, ok, rejectsWithCode, until, within } from "./expectations.js";
import { replay } from "./replay.js";
import type { EventEnvelope, PromError } from "../../src/index.js";
import type { HubControl, Scenario } from "./scenario.js";

/** Version 2 renames the memory of version 1. */
async function register(hub: HubControl, topic: string): Promise<void> {
  const schema = (memory: string) => ({
    type: "object",
    properties: { pid: { type: "integer" }, [memory]: { type: "number" } },
    required: ["pid", memory],
  });
  const upcast = ".mem_mib = .mem_mb | del(.mem_mb)";
  const first = await hub.postJson(`/topics/${topic}/schema`, { schema: schema("mem_mb") });
  const second = await hub.postJson(`/topics/${topic}/schema`, { schema: schema("mem_mib"), compat: "upcast", upcast });
  equal(
    [first, second].map((answer) => (answer as { version?: number }).version),
    [1, 2],
  );
}

export const scenarios: readonly Scenario[] = [
  {
    name: "a payload that does not fit is refused with version, pointer, rule and value",
    async run({ connect, topic, hub }) {
      const beats = topic("refused");
      await register(hub, beats);
      const client = await connect();
      const wrong = { pid: "one", mem_mib: 1 };
      const alone = await rejectsWithCode(client.publish(beats, wrong), "schema_invalid");
      const batch = await rejectsWithCode(client.publishBatch([{ topic: beats, payload: wrong }]), "schema_invalid");
      for (const error of [alone, batch] as PromError[]) {
        equal(error.misfit, { version: 2, pointer: "/pid", rule: "type", value: '"one"' });
      }
      const other = await rejectsWithCode(client.publish(beats, 1, { id: "7" }), "bad_request");
      equal((other as PromError).misfit, undefined);
    },
  },
  {
    name: "a normalised reader gets every version as the latest, with and without a group",
    async run({ connect, topic, hub }) {
      const beats = topic("normalised");
      const client = await connect();
      await client.publish(beats, { pid: "odd" });
      await register(hub, beats);
      await client.publish(beats, { pid: 1, mem_mb: 5 });
      await client.publish(beats, { pid: 2, mem_mib: 6 });
      const latest = [
        { pid: 1, mem_mib: 5 },
        { pid: 2, mem_mib: 6 },
      ];

      const grouped: EventEnvelope[] = [];
      await client.subscribe(beats, "g", (event) => void grouped.push(event), { from: "earliest", normalize: true });
      await until(() => grouped.length === 2, "the group's events");
      equal(
        grouped.map(({ payload }) => payload),
        latest,
      );
      equal(
        grouped.map(({ headers }) => headers?.["x-upcasted-from"]),
        ["1", undefined],
      );
      const [letter] = await replay(hub, `dlq.${beats}`);
      const { err, original } = (letter?.payload ?? {}) as { err?: string; original?: EventEnvelope };
      equal(original?.payload, { pid: "odd" });
      ok(err?.includes("version 2") === true, `the letter gives another reason: ${String(err)}`);

      const looked: EventEnvelope[] = [];
      const look = async () => {
        for await (const event of client.events(beats, { from: "earliest", normalize: true })) {
          looked.push(event);
          if (looked.length === 3) break;
        }
      };
      await within(look(), "the events without a group");
      equal(
        looked.map(({ payload }) => payload),
        [{ pid: "odd" }, ...latest],
      );
      ok(looked[0]?.headers?.["x-upcast-error"] !== undefined, "what cannot be upcast is not marked");
    },
  },
  {
    name: "a dual write goes to the topic of its version too",
    async run({ connect, topic, hub }) {
      const beats = topic("twice");
      await register(hub, beats);
      const client = await connect();
      const { id } = await client.publish(beats, { pid: 1, mem_mb: 5 }, { dual_write: true });
      await client.publish(beats, { pid: 2, mem_mb: 5 }, { dual_write: false });
      const copies = await replay(hub, `${beats}.v1`);
      equal(
        copies.map((copy) => [copy.id, copy.payload]),
        [[id, { pid: 1, mem_mb: 5 }]],
      );
      await rejectsWithCode(client.publish(beats, 1, { dual_write: "yes" as never }), "bad_request");
      await rejectsWithCode(client.publish(beats, 1, { dualWrite: true } as never), "bad_request");
    },
  },
];
