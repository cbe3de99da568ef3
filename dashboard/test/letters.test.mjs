// Dead letters from the page: found by their error, one mended and sent again, all of a kind tried dry and replayed; and the search
// that looks for what the page does not show.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage } from "./browser.mjs";
import { startHub, until } from "./hub.mjs";

const skip = browserMissing();
const BIG = "9007199254740993";
const SCHEMA = { type: "object", required: ["order", "amount"], properties: { order: { type: "integer" }, amount: { type: ["number", "string"] } } };

const CONFIG = `[[search]]
name = "the 1500th"
topic = "lines.read"
jq = ".payload.n == 1500"
`;

let hub;
let browser;
let reader;

before(async () => {
  if (skip) return;
  [hub, browser] = await Promise.all([startHub("by token", [], CONFIG), openBrowser()]);
  await hub.put("/topics/bills.sent", {});
  await hub.post("/topics/bills.sent/schema", { schema: SCHEMA });
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  reader = new PromClient(hub.url, hub.admin);
  // Takes numbers only.
  const take = (event) => {
    if (typeof event.payload.amount !== "number") throw new Error(`amount ${JSON.stringify(event.payload.amount)} of bill ${event.payload.order} is no number`);
  };
  await reader.subscribe("bills.sent", "booking", take, { from: "earliest", maxAttempts: 1 });
  await hub.post("/publish", `{"topic":"bills.sent","payload":{"order":${BIG},"amount":"12.50"},"opts":{"key":"b-0"}}`);
  await hub.post("/publish", Array.from({ length: 5 }, (_, n) => ({ topic: "bills.sent", payload: { order: n, amount: `${n}.00` }, opts: { key: `b-${n + 1}` } })));
  await until("letters", async () => (await hub.get("/stats")).dead_letters === 6);
});

after(async () => {
  await reader?.close();
  await browser?.close();
  await hub?.stop();
});

const stored = async () => {
  const response = await fetch(`${hub.url}/replay?topic=bills.sent`, { headers: { authorization: `Bearer ${hub.admin}` } });
  return response.text();
};

test("a dead letter is found by its error, edited with a diff and a check, replayed, and seen to be acked", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("dead-letters");
  await page.getByRole("link", { name: /is no number/ }).click();
  assert.match(page.url(), /fingerprint=/);
  await page.getByLabel("Key").fill("b-0");
  await page.getByRole("button", { name: "Find" }).click();
  await page.locator(".event-row").nth(1).waitFor({ state: "detached" });
  await page.locator(".event-row").click();
  assert.ok((await page.locator(".event-open .json").innerText()).includes(BIG));
  await page.getByRole("button", { name: "Edit and replay…" }).click();
  const draft = page.getByLabel("Payload to send instead");
  const replay = page.getByRole("button", { name: "Replay…", exact: true });
  assert.ok(await replay.isDisabled(), "nothing was checked");
  // What the topic's schema refuses is told before anything is sent.
  const before = await draft.inputValue();
  await draft.fill(before.replace(BIG, `"${BIG}"`));
  await page.getByRole("button", { name: "Check, send nothing" }).click();
  await page.getByText("refused").waitFor();
  assert.ok(await replay.isDisabled());
  await draft.fill(before.replace('"12.50"', "12.50"));
  assert.match(await page.getByLabel("What changes").innerText(), /- +"amount": "12.50"[\s\S]*\+ +"amount": 12.50/);
  await page.getByRole("button", { name: "Check, send nothing" }).click();
  await page.getByText("the topic would take it").waitFor();
  assert.equal((await stored()).split(BIG).length - 1, 1, "a check sends nothing");
  await replay.click();
  await page.getByRole("dialog").getByRole("button", { name: "Replay it" }).click();
  await page.getByText("Replayed 1 letter of bills.sent.").waitFor();
  await page.getByText("replayed, settled").waitFor();
  const text = (await stored()).replaceAll(/\s/g, "");
  assert.ok(text.includes(`"order":${BIG},"amount":12.50}`), text);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("all letters of a kind are tried dry, replayed with a canary, and their outcome is told", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("dead-letters/bills.sent?tab=replay");
  await page.getByLabel("Transform (jq over the original event)").fill(".payload.amount |= tonumber");
  await page.getByLabel("Canary").fill("2");
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: /^Replay 5 letters/ }).waitFor();
  const before = (await hub.get("/replay?topic=bills.sent")).events.length;
  await page.getByRole("button", { name: /^Replay 5 letters/ }).click();
  const dialog = page.getByRole("dialog");
  assert.match(await dialog.innerText(), /Replay 5 letters[\s\S]*bills\.sent[\s\S]*2 first/);
  await dialog.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("5 acked").waitFor();
  assert.equal((await hub.get("/replay?topic=bills.sent")).events.length, before + 5);
  const trail = (await hub.get("/replay?topic=system.audit&limit=1000")).events;
  assert.ok(trail.some(({ payload }) => /replay/.test(payload.action)), JSON.stringify(trail.map(({ payload }) => payload.action)));
  await view.go("dead-letters/~jobs");
  await page.getByText("5 acked").waitFor();
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("a search tells what it looked at, is stopped, and goes on from there", { skip }, async () => {
  for (let round = 0; round < 3; round++) {
    await hub.post("/publish", Array.from({ length: 1000 }, (_, n) => ({ topic: "lines.read", payload: { n: round * 1000 + n, odd: n % 2 }, opts: { key: `k-${n % 7}`, headers: { "x-shop": n === 0 ? "oslo" : "quito" } } })));
  }
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("search");
  await page.getByLabel("Topic").fill("lines.read");
  const found = async (fields, told) => {
    for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByRole("status").getByText(told).waitFor();
    for (const label of Object.keys(fields)) await page.getByLabel(label).fill("");
  };
  await found({ jq: ".payload.n == 1500" }, /^1 match of 3.000 events scanned$/);
  assert.equal(await page.getByText("whole topic searched").count(), 1);
  await found({ Header: "x-shop:oslo" }, /^3 matches of 3.000 events/);
  await found({ "Text, anywhere in the event": '"n":2999' }, /^1 match of/);
  // A stop in between lets a person see what there is; an address carries the search.
  await found({ jq: ".payload.odd == 1" }, /^\d+ matches of/);
  const rows = page.locator(".events > li");
  const first = await rows.count();
  assert.ok(first >= 50 && first < 1500, String(first));
  assert.match(page.url(), /jq=/);
  await page.getByRole("button", { name: "Search further back" }).click();
  await until("more", async () => (await rows.count()) > first);
  await found({ jq: ".payload.n.deeper" }, /failed the program/);
  await page.getByRole("link", { name: "the 1500th" }).click();
  await page.getByRole("status").getByText(/^1 match of/).waitFor();
  assert.equal(await page.getByLabel("jq").inputValue(), ".payload.n == 1500");
  // With the name of the field: four digits alone occur in ids, which are searched too.
  await view.go(`search?topic=lines.read&key=k-3&text=${encodeURIComponent('"n":2999')}`);
  await page.getByText("Nothing matches").waitFor();
  assert.deepEqual([await page.getByLabel("Key").inputValue(), await page.getByLabel("jq").inputValue()], ["k-3", ""]);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("causes and effects are shown as a graph, and lead from one event to the next", { skip }, async () => {
  const first = await hub.post("/publish", { topic: "chain.begun", payload: 1 });
  const second = await hub.post("/publish", { topic: "chain.grown", payload: 2, opts: { caused_by: [first.id] } });
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go(`events/${first.id}`);
  await page.locator(".graph-column.effects").getByRole("link", { name: /chain\.grown/ }).click();
  await page.getByRole("heading", { name: second.id }).waitFor();
  await page.locator(".graph-column.causes").getByRole("link", { name: /chain\.begun/ }).waitFor();
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});
