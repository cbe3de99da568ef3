// The view of flows. What hubs answer about them comes from here, as `crates/prom-gateway/tests/http/flows` shows it to be, so that
// every state is there at once; the hub, its tokens and its policy are real.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage, PHONE, WIDE } from "./browser.mjs";
import { startHub, token } from "./hub.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const skip = browserMissing();
const pictures = process.env.PROM_SCREENSHOTS ?? "";
const XSS = `<img src=x onerror="document.title='taken over'"><script>alert(1)</script>"'>`;
const now = Date.now();

const stage = (name, last_ms, p50_ms, p99_ms) => ({ name, last_ms, p50_ms, p99_ms });
const counts = (read, written, skipped, failed) => ({ read, written, skipped, failed });

const FLOWS = [
  { kind: "outbox", name: "orders", state: "running", from: "postgres shop.outbox", to: "topics of the rows", pending: 42, oldest_ts: now - 3000, counts: counts(120_000, 119_990, 0, 2), stages: [stage("commit_to_publish", 4, 3, 12)], details: {} },
  { kind: "feed", name: "customers", state: "stopped", from: "mongo shop.customers", to: "topic customers.changed", error: { reason: "the oplog no longer reaches back to the token; seek to a time, or set on_lost_token", since_ts: now - 60_000, tries: 1 }, counts: counts(5, 4, 1, 0), stages: [], position: "8265E6F2A1000000012B022C0100296E5A10046C1B", details: { full_document: "updateLookup" } },
  { kind: "feed", name: XSS, state: "retrying", from: XSS, to: XSS, error: { reason: XSS, since_ts: now - 5000, tries: 3, retry_ts: now + 60_000 }, counts: counts(0, 0, 0, 0), stages: [stage(XSS, 1, 1, 1)], position: XSS, details: { [XSS]: XSS } },
  { kind: "projection", name: "processes", state: "running", from: "topic process.state", to: "mongo processes", pending: 0, counts: counts(900, 900, 0, 0), stages: [stage("publish_to_document", 5, 4, 20), stage("commit_to_document", 9, 8, 31)], details: {} },
];
const ROWS = [
  { id: "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f", topic: "orders.placed", key: "customer 3", status: "error", ts: now - 9000, attempts: 10, last_err: "the payload does not fit the schema of orders.placed" },
  { id: XSS, topic: XSS, key: XSS, status: "error", ts: now - 8000, attempts: 10, last_err: XSS },
];

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

/** A page whose hub has these flows, and what it asked of them. */
async function openFlows(scopes, options = {}) {
  const view = await openPage(browser, hub, { token: token("operator", scopes), ...options });
  const asked = [];
  await view.page.route((url) => url.href.startsWith(hub.url) && url.pathname.startsWith("/flows"), (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const [, , kind, name, verb] = url.pathname.split("/").map(decodeURIComponent);
    const answer = (body) => route.fulfill({ status: 200, contentType: "application/json", body: JSON.stringify(body) });
    if (request.method() === "POST") {
      asked.push([`${kind} ${name} ${verb}`, request.postData() === null ? null : JSON.parse(request.postData())]);
      return answer({ kind, name, done: `${verb} was done`, ...(kind === "outbox" ? { rows: 1 } : {}) });
    }
    if (kind === undefined) return answer({ flows: FLOWS });
    if (verb === "rows") return answer({ outbox: name, rows: ROWS.filter((row) => (url.searchParams.get("status") ?? row.status) === row.status) });
    return answer(FLOWS.find((flow) => flow.kind === kind && flow.name === name));
  });
  return { ...view, asked };
}

const LOOKS = ["ops"];
const STEERS = ["ops", "admin"];
const place = (kind, name) => `feeds/${kind}/${encodeURIComponent(name)}`;
const VIEWS = [
  ["feeds", "topics of the rows"],
  [place("outbox", "orders"), "does not fit the schema"],
  [place("feed", "customers"), "no longer reaches back"],
  [place("feed", XSS), "taken over"],
  [place("projection", "processes"), "commit to document"],
  ["feeds/sink/x", "There are no flows of kind sink"],
];

for (const [scheme, viewport, name] of [["light", WIDE, "light"], ["dark", WIDE, "dark"], ["light", PHONE, "phone"]]) {
  test(`flows are shown as text, within the screen, without serious faults: ${name}`, { skip }, async () => {
    const view = await openFlows(STEERS, { scheme, viewport });
    const { page } = view;
    const found = [];
    for (const [hash, shown] of VIEWS) {
      await view.go(hash);
      const isShown = name === "phone" && hash === "feeds" ? "customers" : shown;
      await page.getByText(isShown).first().waitFor({ timeout: 10_000 }).catch((error) => assert.fail(`${hash}: ${error.message}`));
      if (pictures !== "") {
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: `${pictures}/${name}-${hash.replaceAll(/[^a-z0-9.]+/g, "-").slice(0, 40)}.png`, fullPage: name === "phone" });
      }
      assert.equal(await page.locator("main img, main script").count(), 0, hash);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (width > 0) found.push(`${hash}: ${width} px wider than the screen`);
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
      const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
      found.push(...serious.map((one) => `${hash}: ${one.id}: ${one.nodes.slice(0, 2).map((node) => node.html).join(" | ")}`));
    }
    assert.ok(!(await page.title()).startsWith("taken over"));
    found.push(...(await view.troubles()));
    await view.close();
    assert.deepEqual(found, []);
  });
}

test("each change says what it does first, and asks the hub for it", { skip }, async () => {
  const view = await openFlows(STEERS);
  const { page, asked } = view;
  const dialog = page.getByRole("dialog");
  const agree = async (button, says, verb) => {
    await page.getByRole("button", { name: button }).first().click();
    assert.match(await dialog.innerText(), says);
    await dialog.getByRole("button", { name: verb, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    // What was done stays over the page until it is closed.
    await page.getByText(`${verb === "Move it" ? "seek" : verb.toLowerCase()} was done`).waitFor();
    await page.getByRole("button", { name: "Close this message" }).click();
  };
  await view.go(place("outbox", "orders"));
  await page.getByText("does not fit the schema").waitFor();
  await agree("Requeue…", /Requeue 1 row[\s\S]*0190b6ef/, "Requeue");
  await agree("Drop these…", /Drop 2 rows[\s\S]*all that are in error[\s\S]*never published/, "Drop");
  await page.getByLabel("Key").fill("customer 3");
  await agree("Requeue these…", /those in error of key customer 3/, "Requeue");
  await view.go(place("feed", "customers"));
  await agree("Restart…", /resumes where it stopped/, "Restart");
  await page.getByLabel("To", { exact: true }).selectOption("token");
  await page.getByLabel("Resume token").fill("8265E6F2");
  await agree("Move it…", /after 8265E6F2[\s\S]*skipped for good/, "Move it");
  await page.getByLabel("To", { exact: true }).selectOption("time");
  await page.getByLabel("Time").fill("2026-01-31T12:00");
  await agree("Move it…", /resumes at 2026-01-31 12:00/, "Move it");
  await view.go(place("projection", "processes"));
  await agree("Rebuild…", /built anew/, "Rebuild");
  assert.deepEqual(asked, [
    ["outbox orders requeue", { ids: [ROWS[0].id] }],
    ["outbox orders drop", { all: true }],
    ["outbox orders requeue", { key: "customer 3" }],
    ["feed customers restart", null],
    ["feed customers seek", { token: "8265E6F2" }],
    ["feed customers seek", { at: await page.evaluate(() => new Date("2026-01-31T12:00").getTime()) }],
    ["projection processes rebuild", null],
  ]);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("who may only look is offered no change, and who operates some topics no flows", { skip }, async () => {
  const looks = await openFlows(LOOKS);
  for (const [hash, shown] of VIEWS) {
    await looks.go(hash);
    await looks.page.getByText(shown).first().waitFor();
    const offered = await looks.page.locator("main").getByRole("button", { name: "…" }).allInnerTexts();
    assert.deepEqual(offered, [], hash);
  }
  await looks.close();
  const narrow = await openPage(browser, hub, { token: token("operator", ["ops:orders.**", "admin:orders.**"]) });
  await narrow.go("");
  assert.ok(!(await narrow.page.getByRole("navigation", { name: "Views" }).innerText()).includes("Flows"));
  await narrow.go("feeds");
  await narrow.page.getByText(/lacks the right/).first().waitFor();
  await narrow.close();
});

test("a hub without flows says how they are declared", { skip }, async () => {
  const view = await openPage(browser, hub, { token: token("operator", ["ops"]) });
  await view.go("feeds");
  for (const section of ["[[outbox]]", "[[changefeed]]", "[[projector]]"]) await view.page.getByText(section).waitFor();
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("the overview tells what does not get on, as text", { skip }, async () => {
  const view = await openPage(browser, hub, { token: token("operator", ["ops"]) });
  await view.page.route(`${hub.url}/stats`, async (route) => {
    const response = await route.fetch();
    const failing = { work: `feed ${XSS}`, elsewhere: false, failed: XSS, failures: 3 };
    const stats = await response.json();
    return route.fulfill({ response, json: { ...stats, background: [...stats.background, failing] } });
  });
  await view.go("");
  await view.page.getByText(`feed ${XSS}`).waitFor();
  assert.equal(await view.page.locator("main .explanation").count(), 1);
  assert.equal(await view.page.locator("main img, main script").count(), 0);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});
