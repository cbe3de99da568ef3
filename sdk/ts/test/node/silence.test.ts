/** A client without listeners is not silent: trouble is written to the console, each kind once. */

import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";

import { PromClient } from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { until, within } from "../scenarios/expectations.js";

let harness: Harness;
before(async () => void (harness = await startHarness()));
after(() => harness?.close());

/** What is written to the console meanwhile. */
async function warnings(act: (texts: string[]) => Promise<void>): Promise<string[]> {
  const texts: string[] = [];
  const warn = mock.method(console, "warn", (text: string) => void texts.push(text));
  try {
    await act(texts);
  } finally {
    warn.mock.restore();
  }
  return texts;
}

test("a handler that throws is written to the console once, however often it throws", async () => {
  const texts = await warnings(async () => {
    await using client = new PromClient(harness.url);
    let calls = 0;
    const handler = () => {
      calls++;
      throw new Error("the printer is out of paper");
    };
    await client.subscribe("silent.throws", "g", handler);
    await Promise.all([1, 2, 3].map((n) => client.publish("silent.throws", n)));
    await until(() => calls >= 3, "the handlers");
  });
  assert.equal(texts.length, 1, texts.join("\n"));
  assert.match(texts[0] ?? "", /silent\.throws in group g threw.*out of paper/);
});

test("a group that is deleted under its consumer is written to the console, and `ended` says why", async () => {
  const texts = await warnings(async () => {
    await using client = new PromClient(harness.url);
    const subscription = await client.subscribe("silent.deleted", "gone", () => {});
    await client.publish("silent.deleted", 1);
    const answer = await fetch(`${harness.httpUrl}/groups/gone`, { method: "DELETE" });
    assert.ok(answer.ok, `${answer.status}`);
    const error = await within(subscription.ended, "the end");
    assert.equal(typeof error?.code, "string");
  });
  assert.equal(texts.length, 1, texts.join("\n"));
  assert.match(texts[0] ?? "", /subscription to silent\.deleted in group gone has ended/);
});

test("a loop whose group is deleted rejects with the reason", async () => {
  await using client = new PromClient(harness.url, undefined, { onNotice: () => {} });
  await client.publish("silent.loop", 1);
  const loop = async () => {
    for await (const _ of client.events("silent.loop", { group: "looped", from: "earliest" })) {
      await fetch(`${harness.httpUrl}/groups/looped`, { method: "DELETE" });
    }
  };
  await assert.rejects(within(loop(), "the end of the loop"), { name: "PromError" });
});

test("an application that listens hears of it, and nothing is written", async () => {
  const heard: string[] = [];
  const texts = await warnings(async () => {
    await using client = new PromClient(harness.url);
    const stop = client.onNotice(({ type }) => void heard.push(type));
    const handler = () => {
      throw new Error("no");
    };
    await client.subscribe("silent.heard", "g", handler);
    await client.publish("silent.heard", 1);
    await until(() => heard.includes("handler_failed"), "the notice");
    stop();
  });
  assert.deepEqual(texts, []);
});
