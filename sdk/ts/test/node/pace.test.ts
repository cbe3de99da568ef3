/** Publishing to hubs that limit the pace: nothing changes its order, and the application hears of it. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { type Notice, PromClient } from "../../src/index.js";
import { startHarness } from "../../src/harness.js";
import { within } from "../scenarios/expectations.js";
import { hubControl } from "../scenarios/hub-control.js";
import { replay } from "../scenarios/replay.js";
import { FakeHub, type Frame } from "./fake-hub.js";

const folder = mkdtempSync(join(tmpdir(), "prom-pace-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** How often an event of a key is stored after a later one. */
function inversions(events: readonly { readonly key?: string; readonly payload: unknown }[]): number {
  const last = new Map<string, number>();
  let count = 0;
  for (const { key = "", payload } of events) {
    if ((payload as number) < (last.get(key) ?? -1)) count++;
    last.set(key, payload as number);
  }
  return count;
}

const LIMITS = {
  "as a hub on a network has it": "per_connection = { rate = 200, burst = 200 }",
  "with a burst of one": "per_connection = { rate = 2000, burst = 1 }",
  "fast, with a small burst": "per_connection = { rate = 5000, burst = 20 }",
  // So slow behind the burst that no machine is too slow to meet it.
  "with a burst that hides it at first": "per_connection = { rate = 100, burst = 6000 }",
  "of a topic": "per_topic = { rate = 1000, burst = 100 }",
};

for (const [kind, limit] of Object.entries(LIMITS)) {
  test(`events of a key stay in order through a rate limit: ${kind}`, async () => {
    const config = join(folder, `${kind.replaceAll(/\W/g, "-")}.toml`);
    writeFileSync(config, `[limits]\n${limit}\n`);
    await using harness = await startHarness({ args: ["--config", config] });
    const notices: Notice[] = [];
    const client = new PromClient(harness.url, undefined, { onNotice: (notice) => void notices.push(notice) });
    await client.connect();
    const publishing: Promise<unknown>[] = [];
    const count = /rate = 200,|burst = 1 /.test(limit) ? 500 : limit.includes("6000") ? 6500 : 2000;
    const beganAt = Date.now();
    for (let n = 0; n < count; n++) {
      publishing.push(client.publish("paced", n, { key: `k${n % 3}` }));
      // In several turns, so that tokens come back between the frames.
      if (n % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const receipts = await within(Promise.all(publishing), "every receipt");
    assert.equal(new Set(receipts.map((receipt) => (receipt as { offset: number }).offset)).size, count);
    const events = await replay(hubControl(harness), "paced", 10_000);
    assert.equal(events.length, count);
    assert.equal(inversions(events), 0);
    const slowed = notices.filter(({ type }) => type === "publishing_slowed");
    assert.ok(slowed.length >= 1, "the application was not told");
    const seconds = (Date.now() - beganAt) / 1000;
    assert.ok(slowed.length <= seconds + 1, `${slowed.length} notices in ${seconds} s`);
    await client.close();
  });
}

test("without a limit frames leave without waiting for each other", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub });
  await client.connect();
  await Promise.all(Array.from({ length: 4096 }, (_, n) => client.publish("a", n)));
  const writes = hub.writes.filter(([first]) => first?.["op"] === "PUBLISH");
  assert.deepEqual(
    writes.map((frames) => frames.map(({ events }) => events.length as number)),
    [[1024, 1024, 1024, 1024]],
    "they did not leave in one write",
  );
  await client.close();
});

test("a receipt says that the id was there before, where the hub does", async () => {
  const hub = new FakeHub();
  const client = new PromClient("http://hub", undefined, { transport: hub });
  await client.connect();
  let result: unknown[] = [0, 7, 1];
  hub.answer = ({ op, corr }: Frame) =>
    op === "PUBLISH" ? [{ op: "OK", corr, durability: "memory", results: [result] }] : undefined;
  assert.equal("duplicate" in (await client.publish("a", 1)), false);
  result = [0, 7, 1, true];
  assert.equal((await client.publish("a", 1)).duplicate, true);
  result = [0, 7, 1, null, true];
  assert.equal((await client.publish("a", 1)).duplicate, true);
  await client.close();
});
