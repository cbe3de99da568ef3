/** The heartbeat example: heartbeats become states, silence makes them stale. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { PromClient } from "../../src/index.js";
import { type ProcessTopics, startHarness, startProcessExample } from "../../src/harness.js";
import { until } from "../scenarios/expectations.js";

const heartbeat = { pid: 7, name: "api", host: "red", cpu_pct: 12.5, mem_mb: 256 };

test("a heartbeat becomes a state, and silence makes it stale", async () => {
  await using harness = await startHarness();
  const example = await startProcessExample(harness, { staleAfterMs: 200 });
  await using client = new PromClient<ProcessTopics>(harness.url);
  await client.connect();
  const { id, stored_ts } = await client.publish("heartbeat.received", heartbeat);
  const seen: unknown[] = [];
  await client.subscribe(
    "process.state",
    "watch",
    ({ key, caused_by, payload }) => void seen.push({ key, caused_by, payload }),
    { from: "earliest" },
  );
  await until(() => seen.length === 2, "alive, then stale");
  const state = { ...heartbeat, processId: "red:api:7", last_seen_ts: stored_ts };
  const expected = (status: string) => ({ key: "red:api:7", caused_by: [id], payload: { ...state, status } });
  assert.deepEqual(seen, [expected("alive"), expected("stale")]);
  await example.stop();
});

test("an invalid heartbeat is refused, and the next one succeeds", async () => {
  await using harness = await startHarness();
  const example = await startProcessExample(harness);
  await using client = new PromClient(harness.url);
  await client.connect();
  await client.publish("heartbeat.received", "bump");
  await client.publish("heartbeat.received", heartbeat);
  const keys: unknown[] = [];
  await client.subscribe("process.state", "watch", (event) => void keys.push(event.key), { from: "earliest" });
  await until(() => keys.length === 1, "the state of the good one");
  assert.deepEqual(keys, ["red:api:7"]);
  await example.stop();
});
