// A token that covers little: no answer that the page could ask for names what lies outside, and the page keeps the token to itself.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage } from "./browser.mjs";
import { startHub, token, until } from "./hub.mjs";

const skip = browserMissing();
/** In the name of all that a narrow token does not cover. */
const SECRET = /salar|payroll|payee|whistle/i;

let hub;
let browser;
let client;
let hidden;
let shown;

before(async () => {
  if (skip) return;
  [hub, browser] = await Promise.all([startHub("by token"), openBrowser()]);
  await hub.put("/topics/salaries.paid", { compaction: true });
  await hub.put("/topics/orders.placed", {});
  await hub.post("/topics/salaries.paid/schema", { schema: { title: "salary" } });
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  client = new PromClient(hub.url, token("whistle-blower", ["*", "*:dlq.**"]));
  const fail = () => { throw new Error("no account of payee-1"); };
  await client.subscribe("salaries.paid", "payroll", fail, { from: "earliest", maxAttempts: 1, memberId: "payroll-1" });
  await client.subscribe("orders.placed", "billing", () => { throw new Error("no such shop"); }, { from: "earliest", maxAttempts: 1, memberId: "billing-1" });
  shown = await hub.post("/publish", { topic: "orders.placed", payload: { order: 1 }, opts: { key: "o-1" } });
  hidden = await hub.post("/publish", { topic: "salaries.paid", payload: { payee: 1 }, opts: { key: "payee-1", caused_by: [shown.id] } });
  await until("letters", async () => (await hub.get("/stats")).dead_letters === 2);
});

after(async () => {
  await client?.close();
  await browser?.close();
  await hub?.stop();
});

/** All that views ask for, about what is covered and about what is not. */
const paths = () => [
  "/whoami", "/stats", "/lag", "/topics", "/topics?q=salar", "/groups", "/groups?q=payroll", "/connections", "/registry", "/metrics", "/asyncapi.json",
  "/dlq/groups", "/dlq/jobs", "/dlq?topic=orders.placed", "/dlq?topic=salaries.paid", "/topics/salaries.paid", "/topics/salaries.paid/schema", "/groups/payroll",
  "/replay?topic=salaries.paid", "/replay?topic=dlq.salaries.paid", "/replay?topic=system.audit", "/search?topic=salaries.paid&text=payee", "/why?topic=salaries.paid&group=payroll",
  "/partitions?topic=salaries.paid&group=payroll", "/cursors?topic=salaries.paid", "/latest-by-key?topic=salaries.paid&key=payee-1", "/export?topic=salaries.paid", "/searches", "/snap/salaries/payee-1", "/list/salaries", `/trace/${hidden.id}`, `/trace/${shown.id}`,
];

test("no answer to a narrow token names what it does not cover", { skip }, async () => {
  // Rights to what is in events, and to what there is about them, are apart.
  const tokens = [["ops:orders.**"], ["subscribe:orders.**"], ["ops:orders.**", "subscribe:orders.**"], ["publish:orders.**"], ["admin:orders.**"], ["ops:nothing"], []];
  const told = [];
  for (const scopes of tokens) {
    const headers = { authorization: `Bearer ${token("operator", scopes)}` };
    for (const path of paths()) {
      const response = await fetch(`${hub.url}${path}`, { headers });
      // A refusal repeats what was asked for.
      const asked = path.split(/[/?&=]/).filter((part) => SECRET.test(part));
      const text = asked.reduce((text, part) => text.replaceAll(part, ""), await response.text());
      if (SECRET.test(text)) told.push(`${scopes.join(" ") || "no scope"}: ${path}: ${response.status} ${text.slice(0, 300)}`);
    }
  }
  assert.deepEqual(told, []);
});

test("the token stays in this tab, and the page goes nowhere else whatever its address says", { skip }, async () => {
  const secret = token("operator", ["ops:orders.**", "subscribe:orders.**"]);
  const view = await openPage(browser, hub);
  const { page } = view;
  const requests = [];
  page.on("request", (request) => requests.push(request));
  await page.goto(`${hub.url}/?next=https://elsewhere.example/&redirect=//elsewhere.example#//elsewhere.example`);
  await page.getByLabel("Token").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  for (const hash of ["//elsewhere.example", "javascript:alert(1)", "/../../elsewhere", "/%2f%2felsewhere.example", "/topics/%E0%A4%A", "/events/..%2F..%2Fmetrics", "/topics/..%2Fstats"]) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForSelector("main");
    assert.equal(new URL(page.url()).origin, hub.url, hash);
  }
  await view.go("tail?topic=orders.placed");
  await page.getByText("Waiting for events").waitFor();
  const stored = await page.evaluate(() => ({ local: JSON.stringify(localStorage), cookies: document.cookie, here: location.href, name: window.name }));
  assert.ok(!JSON.stringify(stored).includes(secret) && stored.cookies === "", JSON.stringify(stored));
  for (const request of requests) {
    assert.ok(!request.url().includes(secret), request.url());
    // A request that was cut off may have an empty one.
    assert.ok(!(await request.allHeaders()).referer, request.url());
  }
  assert.deepEqual(await view.troubles(), []);
  // What the user did not want kept is gone with the next look.
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").fill(secret);
  await page.getByLabel("Keep it until this tab is closed").uncheck();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await view.close();
});

test("no other page may frame this one or ask for the user", { skip }, async () => {
  const page = await fetch(hub.url);
  assert.equal(page.headers.get("x-frame-options"), "DENY");
  assert.match(page.headers.get("content-security-policy"), /default-src 'self'.*frame-ancestors 'none'/);
  assert.equal(page.headers.get("referrer-policy"), "no-referrer");
  const foreign = await fetch(`${hub.url}/topics`, { headers: { origin: "https://elsewhere.example", authorization: `Bearer ${hub.admin}` } });
  assert.equal(foreign.headers.get("access-control-allow-origin"), null);
});
