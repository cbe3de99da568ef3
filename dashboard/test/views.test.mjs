// Every view against the real hub with traffic: it shows what is there, breaks no rule of its policy, and can be used by those
// who see and type otherwise. With PROM_SCREENSHOTS set, pictures of all of them are left there.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { browserMissing, openBrowser, openPage, PHONE, WIDE } from "./browser.mjs";
import { startHub, until } from "./hub.mjs";
import { shop } from "./traffic.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const skip = browserMissing();
const pictures = process.env.PROM_SCREENSHOTS ?? "";

let hub;
let browser;
let closeShop;
let order;

before(async () => {
  if (skip) return;
  [hub, browser] = await Promise.all([startHub("open"), openBrowser()]);
  closeShop = await shop(hub);
  order = (await hub.get("/replay?topic=orders.placed&limit=1")).events[0];
  // A group that is stuck, and one that has given up.
  await until("dead letters", async () => (await hub.get("/stats")).dead_letters > 0);
});

after(async () => {
  await closeShop?.();
  await browser?.close();
  await hub?.stop();
});

/** Each with what shows that it is there. */
const VIEWS = [
  ["", "Events per second"],
  ["topics", "orders.placed"],
  ["topics/orders.placed", "Lisbon"],
  ["topics/orders.placed?tab=partitions", "Next offset"],
  ["topics/orders.placed?tab=groups", "analytics"],
  ["topics/orders.placed?tab=settings", "Retention by age"],
  ["groups", "fulfilment"],
  ["groups/ledger?why=payments.taken", "ledger-7"],
  ["groups/fulfilment?tab=members", "fulfilment-1"],
  ["groups/fulfilment?tab=partitions&why=orders.placed", "Floor"],
  ["groups/fulfilment?tab=cursor&why=orders.placed", "Show what it would do"],
  ["groups/fulfilment?tab=settings", "Backoff"],
  ["tail?topic=orders.**", "Lisbon"],
  ["search?topic=orders.placed&text=Oslo", "scanned"],
  ["search?topic=orders.placed&jq=.payload.city%20%3D%3D%20%22Nowhere%22", "Nothing matches"],
  ["dead-letters", "smtp.example.com"],
  ["dead-letters/payments.taken", "smtp.example.com"],
  ["dead-letters/payments.taken?tab=replay", "Transform"],
  ["dead-letters/~jobs", "Replays and purges"],
  ["publish?topic=orders.placed", "The number of the order."],
  ["state?topic=process.state", "host-1"],
  ["schemas", "backward"],
  ["schemas/orders.placed", "coupon"],
  ["schemas/orders.placed?tab=diff", "What it means"],
  ["schemas/orders.placed?tab=try", "Check compatibility"],
  ["schemas/orders.placed?tab=settings", "Open models"],
  ["feeds", "No outboxes on this hub"],
  ["connections", "fulfilment"],
  ["audit", "change"],
  ["nowhere", "There is no such view"],
];

/** Colours and widths are the same for views of one kind: where time matters, some of each are looked at. */
const SOME = VIEWS.filter(([hash], at) => pictures !== "" || at % 3 === 0 || hash.startsWith("groups/ledger"));

for (const [scheme, viewport, name, views] of [["light", WIDE, "light", VIEWS], ["dark", WIDE, "dark", SOME], ["light", PHONE, "phone", SOME]]) {
  test(`${views === VIEWS ? "every" : "a"} view shows what is there, without serious faults: ${name}`, { skip }, async () => {
    await hub.put("/topics/orders.returned", { partitions: 1, max_attempts: 7 });
    await hub.put("/topics/orders.returned", { partitions: 1, max_attempts: 8 });
    const view = await openPage(browser, hub, { scheme, viewport });
    const { page } = view;
    const found = [];
    for (const [hash, shown] of [...views, [`events/${order.id}?topic=orders.placed&at=${order.partition}:${order.offset}`, order.payload.order]]) {
      await view.go(hash);
      await page.getByText(shown).or(page.locator(`[placeholder*="${shown}"]`)).first().waitFor({ timeout: 10_000 }).catch((error) => {
        throw new Error(`${name} ${hash}: ${shown} is not shown: ${error.message}`);
      });
      // What a connection may do has no room on a phone.
      if (hash === "connections" && viewport === WIDE) await page.getByText("everything", { exact: true }).first().waitFor();
      if (pictures !== "") {
        if (hash === "" || hash.startsWith("groups/ledger")) await page.waitForTimeout(name === "phone" ? 500 : 6000);
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: `${pictures}/${name}-${hash.replaceAll(/[^a-z0-9.]+/g, "-") || "overview"}.png`, fullPage: name === "phone" });
      }
      const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (width > 0) found.push(`${hash}: ${width} px wider than the screen`);
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
      const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
      found.push(...serious.map((one) => `${hash}: ${one.id}: ${one.nodes.slice(0, 2).map((node) => `${node.html} ${node.any[0]?.message ?? ""}`).join(" | ")}`));
    }
    found.push(...(await view.troubles()));
    await view.close();
    assert.deepEqual(found, []);
  });
}

test("a group that is stuck on purpose is explained, and let go from the page", { skip }, async () => {
  const view = await openPage(browser, hub);
  const { page } = view;
  await view.go("groups/ledger?why=payments.taken");
  await page.getByText("in flight", { exact: true }).first().waitFor();
  await page.locator(".explanation").first().waitFor();
  const floor = (await hub.get("/why?topic=payments.taken&group=ledger")).partitions[0].floor;
  await page.getByRole("button", { name: "Skip this event…" }).click();
  const dialog = page.getByRole("dialog");
  assert.match(await dialog.innerText(), new RegExp(`Skip offset ${floor}[\\s\\S]*1 event of[\\s\\S]*payments.taken[\\s\\S]*ledger`));
  await dialog.getByRole("button", { name: "Skip it" }).click();
  await page.getByText(`Skipped offset ${floor} of payments.taken for ledger.`).waitFor();
  await until("the floor moved", async () => (await hub.get("/why?topic=payments.taken&group=ledger")).partitions[0].floor > floor);
  const trail = (await hub.get("/replay?topic=system.audit&limit=1000")).events;
  assert.ok(trail.some((event) => event.payload.action === "skip" && event.payload.offset === floor));
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});

test("a move of a cursor is previewed, typed where it is large, and refused where the group moved meanwhile", { skip }, async (t) => {
  const client = await hub.post("/publish", Array.from({ length: 1500 }, (_, n) => ({ topic: "bulk.lines", payload: n })));
  assert.equal(client.length, 1500);
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  const reader = new PromClient(hub.url, null);
  t.after(() => reader.close());
  await reader.subscribe("bulk.lines", "bulk", () => new Promise(() => {}), { from: "earliest", manualAck: true, maxInFlight: 1 });
  const view = await openPage(browser, hub);
  const { page } = view;
  await view.go("groups/bulk?tab=cursor&why=bulk.lines");
  await page.getByLabel("To", { exact: true }).selectOption("latest");
  await page.getByRole("button", { name: "Show what it would do" }).click();
  await page.getByRole("button", { name: "Move it…" }).click();
  const dialog = page.getByRole("dialog");
  const move = dialog.getByRole("button", { name: "Move it" });
  assert.equal(await move.isDisabled(), true);
  await hub.post("/skip", { topic: "bulk.lines", group: "bulk", offset: 0 });
  await dialog.getByLabel(/Type 1.500/).fill("1500");
  await move.click();
  await dialog.getByText(/Nothing was moved: the group has moved since the preview/).waitFor();
  assert.equal((await hub.get("/lag?topic=bulk.lines&group=bulk")).lagEvents, 1499);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Show what it would do" }).click();
  await page.getByRole("button", { name: "Move it…" }).click();
  await dialog.getByLabel(/Type 1.499/).fill("1499");
  await move.click();
  await page.getByText(/Moved bulk in 1 partition/).waitFor();
  assert.equal((await hub.get("/lag?topic=bulk.lines&group=bulk")).lagEvents, 0);
  await view.close();
});

test("a filter is what the address says, also when the view is opened anew", { skip }, async () => {
  const view = await openPage(browser, hub);
  const { page } = view;
  await view.go("topics?q=orders");
  const filter = page.getByLabel("Filter topics");
  assert.equal(await filter.inputValue(), "orders");
  await page.getByRole("link", { name: "process.state" }).waitFor({ state: "detached" });
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Topics" }).click();
  await page.getByRole("link", { name: "process.state" }).waitFor();
  assert.equal(await filter.inputValue(), "");
  await filter.pressSequentially("payments", { delay: 40 });
  await page.getByRole("link", { name: "process.state" }).waitFor({ state: "detached" });
  assert.equal(await filter.inputValue(), "payments");
  assert.match(page.url(), /q=payments/);
  await view.close();
});

test("the tail filters in the hub, and says what it leaves out", { skip }, async () => {
  const view = await openPage(browser, hub);
  const { page } = view;
  await view.go("tail?topic=orders.placed");
  await page.getByLabel("jq filter, run by the hub").fill('.payload.city == "Oslo"');
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByText(/matching, of/).waitFor();
  await page.locator(".event-payload").nth(2).waitFor();
  const shown = await page.locator(".event-payload").allInnerTexts();
  assert.ok(shown.every((text) => text.includes("Oslo")), shown.join("\n"));
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/events? came meanwhile/).waitFor();
  await page.getByLabel("Topic or pattern").fill("flood.**");
  await page.getByLabel("jq filter, run by the hub").fill("");
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByText("Waiting for events").waitFor();
  const flood = Array.from({ length: 4000 }, (_, n) => ({ topic: "flood.lines", payload: { n } }));
  await hub.post("/publish", flood);
  const told = page.locator(".live .badge.warn");
  await told.waitFor();
  assert.match(await told.innerText(), /^\d+\/s of [\d\u202f]+$/);
  assert.ok((await page.locator(".events > li").count()) <= 500);
  assert.deepEqual(await view.troubles(), []);
  await view.close();
});
