// What an operator meets on a bad night: names of the greatest length, more of everything than fits a page, events that try to mislead,
// views that have nothing to show; and the way back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage, PHONE, WIDE } from "./browser.mjs";
import { startHub, token, until } from "./hub.mjs";

const skip = browserMissing();
const LONG_TOPIC = ["a", "b", "c"].map((letter) => letter.repeat(60)).join(".");
const LONG_GROUP = "g".repeat(128);
const BIG = "9007199254740993";
/** Two more than the page of topics that the view of state looks through. */
const MANY = 1002;

let hub;
let browser;
let client;

before(async () => {
  if (skip) return;
  [hub, browser] = await Promise.all([startHub("by token"), openBrowser()]);
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  client = new PromClient(hub.url, hub.admin);
  await hub.post("/publish", Array.from({ length: 5 }, (_, n) => ({ topic: LONG_TOPIC, payload: n, opts: { key: "key-".repeat(40) + n } })));
  await client.subscribe(LONG_TOPIC, LONG_GROUP, () => new Promise(() => {}), { from: "earliest", manualAck: true, maxInFlight: 1, memberId: "m".repeat(64) });
  await hub.post("/publish", { topic: "bills.sent", payload: "x" });
  await client.subscribe("bills.sent", "booking", (event) => { throw new Error(`bad bill ${event.payload}`); }, { from: "earliest", maxAttempts: 1 });
  for (let at = 0; at < 1100; at += 550) await hub.post("/publish", Array.from({ length: 550 }, (_, n) => ({ topic: "bills.sent", payload: at + n, opts: { key: n % 2 === 0 ? "even" : "odd" } })));
  await until("letters", async () => (await hub.get("/stats")).dead_letters === 1101, 60_000);
});

after(async () => {
  await client?.close();
  await browser?.close();
  await hub?.stop();
});

test("the longest names push nothing out of sight", { skip }, async () => {
  for (const viewport of [WIDE, PHONE]) {
    const view = await openPage(browser, hub, { token: hub.admin, viewport });
    const { page } = view;
    for (const hash of ["topics", "groups", "", "connections", `topics/${LONG_TOPIC}`, `groups/${LONG_GROUP}`, `groups/${LONG_GROUP}?tab=partitions`]) {
      await view.go(hash);
      await page.getByText(/a{60}|g{128}/).first().waitFor();
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.equal(wider, 0, `${hash} at ${viewport.width}`);
    }
    if (viewport === WIDE) {
      await view.go("topics");
      await page.getByRole("columnheader", { name: "Schema" }).waitFor();
      assert.ok(await page.locator(".table").evaluate((table) => table.scrollWidth <= table.clientWidth), "a column is out of sight");
    }
    assert.deepEqual(await view.troubles(), []);
    await view.close();
  }
});

test("a replay of more than a dry run tries says how many at most, and wants that number typed", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("dead-letters/bills.sent?tab=replay");
  await page.getByLabel("At most").fill("5000");
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: /^Replay up to 5.000 letters/ }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByRole("button", { name: "Replay", exact: true }).isDisabled(), true);
  await dialog.getByLabel(/Type 5.000/).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  // Another choice of letters is another dry run.
  await page.getByLabel("Key").fill("even");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByRole("button", { name: /^Replay up to/ }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: /^Replay 550 letters/ }).waitFor();
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("deleting a group names what is lost by it", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go(`groups/${LONG_GROUP}`);
  await page.getByRole("button", { name: "Delete…" }).click();
  assert.match(await page.getByRole("dialog").innerText(), /1 topic: 5 unsettled events[\s\S]*1 subscriber is cut off/);
  await view.close();
});

test("a sample of a schema and a download have every digit", { skip }, async () => {
  const schema = `{"type":"object","properties":{"id":{"type":"integer","default":${BIG}},"least":{"type":"number","minimum":1.50},"of":{"enum":[23958446825181076828]}}}`;
  await hub.post("/topics/exact.samples/schema", `{"schema":${schema}}`);
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("publish?topic=exact.samples");
  await page.getByRole("button", { name: "Start from a sample" }).click();
  const sample = (await page.getByRole("textbox", { name: "Payload" }).inputValue()).replaceAll(/\s/g, "");
  assert.ok(sample.includes(`"id":${BIG}`), sample);
  const receipt = await hub.post("/publish", `{"topic":"exact.files","payload":[${BIG},23958446825181076828,1e400,1.0]}`);
  const save = async (button) => {
    const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const chunks = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    return [file.suggestedFilename(), Buffer.concat(chunks).toString()];
  };
  await view.go(`events/${receipt.id}?topic=exact.files&at=0:0`);
  const [name, text] = await save(page.getByRole("button", { name: "Download" }));
  assert.equal(name, "exact.files-0-0.json");
  assert.ok(text.includes(`"payload":[${BIG},23958446825181076828,1e400,1.0]`), text);
  await view.go("search?topic=exact.files&text=1e400");
  const [many, lines] = await save(page.getByRole("button", { name: "Download 1 shown" }));
  assert.deepEqual([many, lines], ["exact.files.ndjson", text]);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("characters that turn text around are shown by their numbers", { skip }, async () => {
  const turned = "paid \u202Eton\u202C \u200Bnow";
  const receipt = await hub.post("/publish", { topic: "odd.texts", payload: { says: turned }, opts: { key: turned } });
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  for (const hash of ["topics/odd.texts", `events/${receipt.id}`]) {
    await view.go(hash);
    await page.getByText("paid \\u202eton\\u202c \\u200bnow").nth(1).waitFor();
    assert.ok(!/[\u202e\u202c\u200b]/.test(await page.locator("main").innerText()), hash);
  }
  // What is copied and edited stays what was stored.
  await page.getByText("Copy as fixture", { exact: true }).click();
  assert.equal(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).payload.says, turned);
  await view.close();
});

test("what is not there is told once, without a wheel that turns for ever", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  for (const [hash, told] of [["events/nonsense", "is not a UUID"], ["events/0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f", "is in no topic"], ["topics/no.such", "does not exist"], ["groups/none", "Not found"]]) {
    await view.go(hash);
    await page.getByText(told).waitFor();
    assert.equal(await page.locator(".spinner").count(), 0, hash);
  }
  assert.equal(await page.getByRole("button", { name: "Delete…" }).count(), 0);
  await view.close();
});

test("the way back leads through searches, and a menu closes by its key", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin, viewport: PHONE });
  const { page } = view;
  await view.go("search?topic=bills.sent&key=even");
  await page.getByRole("status").getByText(/match/).first().waitFor();
  await page.getByLabel("Key").fill("odd");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.waitForURL(/key=odd/);
  await page.goBack();
  await page.waitForURL(/key=even/);
  assert.equal(await page.getByLabel("Key").inputValue(), "even");
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("navigation", { name: "Views" }).waitFor({ state: "hidden" });
  await view.close();
});

test("what was changed from the page is seen at once", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go(`groups/${LONG_GROUP}`);
  await page.getByRole("button", { name: "Skip this event…" }).first().waitFor();
  const before = (await hub.get(`/why?topic=${LONG_TOPIC}&group=${LONG_GROUP}`)).partitions[0].floor;
  await page.getByRole("button", { name: "Skip this event…" }).first().click();
  // Nothing is asked again by the clock.
  await page.evaluate(() => { for (let timer = 1; timer < 10_000; timer++) clearInterval(timer); });
  await page.getByRole("dialog").getByRole("button", { name: "Skip it" }).click();
  await page.getByText(`Skipped offset ${before}`).waitFor();
  await page.getByRole("link", { name: `offset ${before + 1}` }).or(page.getByText(`Offset ${before + 1} `)).first().waitFor();
  await view.close();
});

test("a token that covers no letters is told so, and the trail is offered to those who may read it", { skip }, async () => {
  const narrow = await openPage(browser, hub, { token: token("operator", ["ops:orders.**", "subscribe:orders.**"]) });
  await narrow.go("dead-letters");
  await narrow.page.getByText("Your token does not allow this").waitFor();
  assert.equal(await narrow.page.getByText("No dead letters").count(), 0);
  const menu = narrow.page.getByRole("navigation", { name: "Views" });
  assert.ok(!(await menu.innerText()).includes("Audit trail"));
  await narrow.close();
  const wide = await openPage(browser, hub, { token: hub.admin });
  await wide.go("");
  await wide.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Audit trail" }).waitFor();
  await wide.close();
});

test("processes are shown however many topics there are, and keys beyond the table are counted once each", { skip }, async () => {
  // One subject may not make that many.
  for (const subject of ["one", "two"]) {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token(subject, ["*"])}` };
    const events = Array.from({ length: MANY / 2 }, (_, n) => ({ topic: `many.${subject}${n}`, payload: n }));
    const made = await fetch(`${hub.url}/publish`, { method: "POST", headers, body: JSON.stringify(events) });
    assert.equal(made.status, 200, await made.text());
  }
  await hub.put("/topics/process.state", { compaction: true });
  const states = (count) => Array.from({ length: count }, (_, n) => ({ topic: "process.state", payload: { cpu_pct: n }, opts: { key: `p-${n}` } }));
  for (let round = 0; round < 3; round++) for (let at = 0; at < 2100; at += 700) await hub.post("/publish", states(2100).slice(at, at + 700));
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  for (const hash of ["processes", "state"]) {
    await view.go(hash);
    await page.getByText(/^2.000 keys of 2.100$/).waitFor();
  }
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("a lost connection is told, and the table of state is read again when it is back", { skip }, async () => {
  await hub.put("/topics/quiet.state", { compaction: true });
  const say = (key, at) => hub.post("/publish", { topic: "quiet.state", payload: { at }, opts: { key } });
  await say("one", "before");
  const [state, tail] = await Promise.all([openPage(browser, hub, { token: hub.admin }), openPage(browser, hub, { token: hub.admin })]);
  for (const view of [state, tail]) {
    // A page whose network goes, without the hub.
    await view.page.routeWebSocket(/\/ws$/, (socket) => {
      const server = view.isCut === true ? undefined : socket.connectToServer();
      if (server === undefined) void socket.close();
      view.sockets = [...(view.sockets ?? []), socket];
    });
    view.cut = async () => {
      view.isCut = true;
      await Promise.all((view.sockets ?? []).map((socket) => socket.close().catch(() => undefined)));
    };
  }
  await state.go("state?topic=quiet.state");
  await state.page.getByRole("cell", { name: "before" }).waitFor();
  await tail.go("tail?topic=quiet.state");
  await tail.page.getByText("Waiting for events").waitFor();
  await Promise.all([state.cut(), tail.cut()]);
  await Promise.all([state.page.getByText("not live").waitFor(), tail.page.getByText("connection lost").waitFor()]);
  await say("one", "meanwhile");
  state.isCut = false;
  tail.isCut = false;
  await state.page.getByRole("cell", { name: "meanwhile" }).waitFor();
  await state.page.getByText("live", { exact: true }).waitFor();
  await tail.page.getByText("The connection was lost and is back").waitFor();
  await Promise.all([state.close(), tail.close()]);
});
