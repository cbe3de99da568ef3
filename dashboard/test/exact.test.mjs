// Numbers stay as they were written, from the form to the store and back on every way to the screen; and what events say is
// never taken for markup.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage } from "./browser.mjs";
import { startHub, token, until } from "./hub.mjs";

const skip = browserMissing();
const NUMBERS = ["9007199254740993", "23958446825181076828", "1e400", "1.0"];
const PAYLOAD = `{"ids":[${NUMBERS.join(",")}],"note":"as written"}`;
const XSS = `<img src=x onerror="document.title='taken over'"><script>alert(1)</script>"'>`;

let hub;
let browser;

before(async () => {
  if (skip) return;
  [hub, browser] = await Promise.all([startHub("by token"), openBrowser()]);
});

after(async () => {
  await browser?.close();
  await hub?.stop();
});

const stored = async (topic) => {
  const response = await fetch(`${hub.url}/replay?topic=${topic}`, { headers: { authorization: `Bearer ${hub.admin}` } });
  return response.text();
};

test("numbers are exact from the form to the tail, the event, its copies and an edited copy", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("tail?topic=exact.numbers");
  await page.getByText("Waiting for events").waitFor();
  await view.go("publish?topic=exact.numbers");
  await page.getByLabel("Payload").fill(PAYLOAD);
  await page.getByRole("button", { name: "Publish…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
  await page.getByText("Stored in").waitFor();
  assert.ok((await stored("exact.numbers")).includes(PAYLOAD));
  await page.getByRole("link", { name: "Open it" }).click();
  const shown = async () => (await page.locator(".json pre").first().innerText()).replaceAll(/\s/g, "");
  await page.locator(".json pre").first().waitFor();
  assert.equal(await shown(), PAYLOAD.replaceAll(/\s/g, ""));
  for (const name of ["Copy as prom", "Copy as curl", "Copy as fixture"]) {
    await page.getByText(name, { exact: true }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(PAYLOAD), `${name}: ${copied}`);
  }
  await page.getByRole("button", { name: "Publish an edited copy…" }).click();
  // The event's own view has a label of that name too, until the form is there.
  const draft = page.getByRole("textbox", { name: "Payload" });
  await draft.fill((await draft.inputValue()).replace("as written", "edited"));
  await page.getByRole("button", { name: "Publish…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
  await page.getByText("Stored in").nth(1).waitFor();
  const both = (await stored("exact.numbers")).replaceAll(/\s/g, "");
  assert.ok(both.includes(PAYLOAD.replaceAll(/\s/g, "").replace("aswritten", "edited")), both);
  await view.go("topics/exact.numbers");
  await page.locator(".event-payload").first().waitFor();
  for (const number of NUMBERS) assert.ok((await page.locator(".events").innerText()).includes(number), number);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("the live tail shows every digit", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  await view.go("tail?topic=exact.live");
  await view.page.getByText("Waiting for events").waitFor();
  await hub.post("/publish", `{"topic":"exact.live","payload":${PAYLOAD}}`);
  await view.page.locator(".event-payload").first().waitFor();
  assert.equal((await view.page.locator(".event-payload").first().innerText()).replaceAll(" ", ""), PAYLOAD.replaceAll(" ", ""));
  await view.close();
});

test("what an event says stays text in every field", { skip }, async (t) => {
  const key = XSS;
  const event = { topic: "markup.text", payload: { [XSS]: XSS }, opts: { key, headers: { "x-note": XSS }, tags: [XSS], sid: XSS } };
  const receipt = await hub.post("/publish", event);
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  // Its subject is in the list of connections and in the audit trail.
  const client = new PromClient(hub.url, token(XSS, ["*"]));
  t.after(() => client.close());
  const schema = { title: XSS, description: XSS, type: "object", required: [XSS], properties: { [XSS]: { title: XSS, description: XSS, enum: [XSS], default: XSS } } };
  const asAttacker = { authorization: `Bearer ${token(XSS, ["*"])}`, "content-type": "application/json" };
  const registered = await fetch(`${hub.url}/topics/markup.schema/schema`, { method: "POST", headers: asAttacker, body: JSON.stringify({ schema }) });
  assert.equal(registered.ok, true, await registered.text());
  await hub.put("/topics/markup.state", { compaction: true });
  await hub.post("/publish", { topic: "markup.state", payload: { [XSS]: XSS }, opts: { key } });
  await hub.post("/publish", { topic: "markup.dead", payload: { [XSS]: XSS }, opts: { key, caused_by: [receipt.id] } });
  await client.subscribe("markup.dead", "graves", () => { throw new Error(XSS); }, { from: "earliest", maxAttempts: 1 });
  await until("it died", async () => (await hub.get("/stats")).dead_letters > 0);
  await client.subscribe("markup.text", "markup", () => { throw new Error(XSS); }, { from: "earliest", memberId: XSS, meta: { says: XSS }, maxAttempts: 1000, backoff: { firstMs: 60_000, maxMs: 60_000 } });
  await until("it failed", async () => (await hub.get("/why?topic=markup.text&group=markup")).partitions[0].status?.waiting > 0);
  const places = [
    "topics/markup.text",
    `events/${receipt.id}?topic=markup.text&at=0:0`,
    "groups/markup?why=markup.text",
    "groups/markup?tab=members",
    `topics/${encodeURIComponent(XSS)}`,
    `groups/${encodeURIComponent(XSS)}`,
    `events/${encodeURIComponent(XSS)}`,
    `topics?q=${encodeURIComponent(XSS)}`,
    `search?topic=markup.text&text=taken`,
    `search?topic=markup.text&jq=${encodeURIComponent(`error(${JSON.stringify(XSS)})`)}`,
    "dead-letters",
    "dead-letters/markup.dead",
    "state?topic=markup.state",
    "schemas/markup.schema",
    "publish?topic=markup.schema",
    "connections",
    "audit",
  ];
  for (const place of places) {
    await view.go(place);
    await page.getByText(/taken over|<img src=x/).locator("visible=true").first().waitFor({ timeout: 10_000 }).catch((error) => assert.fail(`${place}: ${error.message}`));
    assert.equal(await page.locator("main img, main script").count(), 0, place);
  }
  await view.go("tail?topic=markup.text");
  await page.getByText("Waiting for events").waitFor();
  await hub.post("/publish", event);
  await page.locator(".event-row").first().click();
  await page.locator(".event-open .json").waitFor();
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.ok(!(await page.title()).startsWith("taken over"));
  const serious = (await view.troubles()).filter((trouble) => !trouble.includes("asks elsewhere"));
  assert.deepEqual(serious, []);
  await view.close();
});

test("a hub with tokens wants one, and shows no more than it allows", { skip }, async () => {
  await hub.post("/publish", { topic: "orders.placed", payload: 1 });
  await hub.post("/publish", { topic: "salaries.paid", payload: { secret: true } });
  const view = await openPage(browser, hub);
  const { page } = view;
  await page.goto(hub.url);
  await page.getByLabel("Token").fill("not a token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(token("operator", ["ops:orders.**", "subscribe:orders.**"]));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Topics", exact: true }).first().waitFor();
  const menu = await page.getByRole("navigation", { name: "Views" }).innerText();
  for (const hidden of ["Publish", "Connections"]) assert.ok(!menu.includes(hidden), menu);
  await view.go("topics");
  await page.getByText("orders.placed").waitFor();
  assert.equal(await page.getByText("salaries.paid").count(), 0);
  await page.getByText("There are more, which your token does not cover.").waitFor();
  for (const forbidden of ["topics/salaries.paid", "connections", "tail?topic=salaries.paid"]) {
    await view.go(forbidden);
    await page.getByText(/does not allow|lacks the right/).first().waitFor();
    assert.equal(await page.getByText("Connecting", { exact: true }).count(), 0, forbidden);
    assert.equal(await page.getByText("secret").count(), 0);
  }
  // What there is about a topic, and what is in it, are rights of their own.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").fill(token("operator", ["ops:orders.**"]));
  await page.getByRole("button", { name: "Sign in" }).click();
  await view.go("topics/orders.placed");
  await page.getByText("does not allow").waitFor();
  assert.equal(await page.getByRole("button", { name: "Older" }).count(), 0);
  assert.equal(await page.evaluate(() => localStorage.getItem("promethean.token")), null);
  assert.ok(!page.url().includes("eyJ"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("promethean.token")), null);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("everything can be reached by the keyboard", { skip }, async () => {
  const view = await openPage(browser, hub, { token: hub.admin });
  const { page } = view;
  await view.go("topics");
  await page.getByText("orders.placed").waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "content");
  const seen = new Set();
  for (let at = 0; at < 12; at++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => `${document.activeElement?.tagName} ${getComputedStyle(document.activeElement).outlineStyle}`));
  }
  assert.ok([...seen].some((one) => one.startsWith("A ")) && [...seen].some((one) => one.startsWith("INPUT")), [...seen].join());
  assert.ok([...seen].every((one) => one.endsWith("solid") || one.startsWith("INPUT") || one.startsWith("BODY")), [...seen].join());
  await view.close();
});
