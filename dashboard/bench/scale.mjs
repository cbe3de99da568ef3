// The page beside many topics, many groups and steady traffic: how long lists take, how soon the page answers a person, and what one
// open page costs the hub.
//
//     node bench/scale.mjs                10 000 topics, 1 000 groups, 5 000 events a second
//     node bench/scale.mjs --topics 500 --groups 50 --rate 500 --seconds 4
//
// Uses the binary that PROM_BINARY names, or the last build; take a release build. Nothing here fails because of a time: it prints.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { openBrowser, openPage } from "../test/browser.mjs";
import { startHub, until } from "../test/hub.mjs";

const TICKS_PER_SECOND = 100;
const name = (of, at) => `${of}.n${String(at).padStart(5, "0")}`;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Publishes at a rate, and reads with all groups, in a thread of its own. */
async function traffic({ url, topics, groups, rate }) {
  const { PromClient } = await import("../../sdk/ts/dist/index.js");
  const readers = Array.from({ length: Math.max(1, Math.ceil(groups / 100)) }, () => new PromClient(url, null));
  let read = 0;
  for (let at = 0; at < groups; at++) {
    await readers[at % readers.length].subscribe(name("scale", at % topics), `group-${at}`, () => void read++, { maxInFlight: 20 });
  }
  const publisher = new PromClient(url, null);
  const busy = Math.max(1, Math.min(groups, topics));
  let published = 0;
  let isOver = false;
  const began = Date.now();
  parentPort.on("message", () => (isOver = true));
  parentPort.postMessage({ ready: true });
  while (!isOver) {
    const due = Math.floor(((Date.now() - began) / 1000) * rate) - published;
    const batch = Array.from({ length: Math.min(Math.max(due, 0), 1000) }, (_, at) => ({ topic: name("scale", (published + at) % busy), payload: { n: published + at, city: "Oslo" }, opts: { key: `k-${at % 50}` } }));
    if (batch.length > 0) await publisher.publishBatch(batch);
    published += batch.length;
    await wait(20);
  }
  parentPort.postMessage({ published, read, seconds: (Date.now() - began) / 1000 });
  await Promise.all([publisher, ...readers].map((client) => client.close()));
}

/** Processor seconds and memory of the hub so far. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return { seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, mebibytes: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024) };
}

async function share(pid, seconds) {
  const before = used(pid).seconds;
  await wait(seconds * 1000);
  return (100 * (used(pid).seconds - before)) / seconds;
}

const sorted = (values) => values.toSorted((one, other) => one - other);
const quantile = (values, of) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * of))];

/** As the views ask. */
const LISTS = [
  "/topics?sort=topic&limit=50", "/topics?sort=-events_per_s&limit=50", "/topics?sort=-bytes&limit=50", "/topics?q=n0004&sort=topic&limit=50", "/topics?q=scale.**&sort=-events&limit=50",
  "/groups?sort=-lag_events&limit=50", "/groups?sort=group&limit=50", "/groups?q=group-77&sort=-lag_events&limit=50", "/lag", "/stats", "/connections?sort=connection&limit=50", "/dlq/groups", "/dlq/jobs", "/registry",
  "/replay?topic=scale.n00000&limit=50", "/search?topic=scale.n00000&text=Oslo&limit=50", "/why?topic=scale.n00000&group=group-0",
];

async function lists(hub, rounds) {
  const rows = [];
  for (const path of LISTS) {
    const took = [];
    let bytes = 0;
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      const response = await fetch(`${hub.url}${path}`);
      bytes = (await response.arrayBuffer()).byteLength;
      took.push(performance.now() - began);
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
    }
    rows.push({ path, bytes, p50: quantile(took, 0.5), p95: quantile(took, 0.95), worst: Math.max(...took) });
  }
  return rows;
}

/** What a person does: each with what to do, and what then has to be there. */
const ACTS = [
  ["open Topics", (page) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Topics" }).click(), (page) => page.locator("tbody tr").first().waitFor()],
  ["sort by rate", (page) => page.getByRole("button", { name: /^In/ }).click(), (page) => page.locator("th[aria-sort=descending]").waitFor()],
  ["type into the filter", (page) => page.getByRole("searchbox").or(page.locator(".filter input")).first().pressSequentially("n0004"), (page) => page.getByText("scale.n00000").waitFor({ state: "detached" })],
  ["open a topic", (page) => page.locator("tbody a").first().click(), (page) => page.getByText("Newest events").waitFor()],
  ["open Groups", (page) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Groups" }).click(), (page) => page.locator("tbody tr").first().waitFor()],
  ["open a group", (page) => page.locator("tbody a").first().click(), (page) => page.getByText("Why is it behind?").waitFor()],
  ["follow everything", (page) => page.evaluate(() => (location.hash = "#/tail?topic=scale.**")), (page) => page.locator(".events > li").nth(20).waitFor()],
  ["open an event of the tail", (page) => page.locator(".event-row").nth(3).click(), (page) => page.locator(".event-open").first().waitFor()],
  ["pause", (page) => page.getByRole("button", { name: "Pause" }).click(), (page) => page.getByRole("button", { name: "Resume" }).waitFor()],
];

/** Until the screen has changed after an input, by the browser's own clock (event timing), and until what was asked for is there. */
async function acts(view) {
  const { page } = view;
  const rows = [];
  for (const [label, act, shown] of ACTS) {
    await page.evaluate(() => (globalThis.felt = []));
    const began = performance.now();
    await act(page);
    await shown(page);
    const there = performance.now() - began;
    await wait(400);
    const felt = await page.evaluate(() => Math.max(0, ...globalThis.felt));
    rows.push({ label, felt, there });
  }
  return rows;
}

const began = performance.now();
/** What is done already, for someone who waits. */
const progress = (what) => process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0)} s: ${what}\n`);

export async function scale({ topics, groups, rate, seconds }) {
  const [hub, browser] = await Promise.all([startHub("open"), openBrowser()]);
  const thread = { worker: undefined };
  try {
    for (let at = 0; at < topics; at += 500) {
      await hub.post("/publish", Array.from({ length: Math.min(500, topics - at) }, (_, n) => ({ topic: name("scale", at + n), payload: { n } })));
    }
    progress(`${topics} topics`);
    thread.worker = new Worker(fileURLToPath(import.meta.url), { workerData: { url: hub.url, topics, groups, rate } });
    const broken = new Promise((_, reject) => thread.worker.once("error", reject));
    const said = () => Promise.race([broken, new Promise((resolve) => thread.worker.once("message", resolve))]);
    await said();
    progress(`${groups} groups`);
    await until("groups", async () => (await hub.get("/stats")).topics >= topics);
    await wait(2000);
    const alone = await share(hub.pid, seconds);
    const listed = await lists(hub, Math.max(5, seconds));
    progress("lists");
    const view = await openPage(browser, hub);
    const { page } = view;
    await page.addInitScript(() => {
      globalThis.felt = [];
      new PerformanceObserver((list) => globalThis.felt.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "event", durationThreshold: 16, buffered: true });
    });
    await page.goto(hub.url);
    await page.getByText("Events per second").waitFor();
    const first = await page.evaluate(() => {
      const loaded = performance.getEntriesByType("resource").filter((one) => /dashboard\//.test(one.name));
      return {
        paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
        bytes: performance.getEntriesByType("navigation")[0].transferSize + loaded.reduce((sum, one) => sum + one.transferSize, 0),
        shown: performance.now(),
      };
    });
    const costs = [];
    for (const [label, hash] of [["Overview", ""], ["Topics", "topics"], ["Groups", "groups"], ["Live tail of everything", "tail?topic=scale.**"]]) {
      await view.go(hash);
      await wait(2000);
      costs.push({ label, percent: await share(hub.pid, seconds) });
    }
    progress("costs");
    await view.go("");
    const done = await acts(view);
    const troubles = await view.troubles();
    const alsoAlone = await (async () => {
      await view.close();
      await wait(1000);
      return share(hub.pid, seconds);
    })();
    const ended = said();
    thread.worker.postMessage("stop");
    const { published, read, seconds: took } = await ended;
    const facts = await hub.get("/stats");
    return { first, listed, acts: done, costs, alone: (alone + alsoAlone) / 2, memory: used(hub.pid).mebibytes, perSecond: published / took, readPerSecond: read / took, topics: facts.topics, groups: facts.groups, troubles };
  } finally {
    await thread.worker?.terminate();
    await browser.close();
    await hub.stop();
  }
}

const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`.padStart(9);

async function main() {
  const number = (value) => ({ type: "string", default: String(value) });
  const { values } = parseArgs({ options: { topics: number(10_000), groups: number(1000), rate: number(5000), seconds: number(10) } });
  const asked = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Number(value)]));
  const found = await scale(asked);
  console.log(`${found.topics} topics, ${found.groups} groups, ${found.perSecond.toFixed(0)} events a second published and ${found.readPerSecond.toFixed(0)} read; the hub holds ${found.memory} MiB`);
  console.log(`first view: painted after ${ms(found.first.paint).trim()}, figures after ${ms(found.first.shown).trim()}, ${(found.first.bytes / 1024).toFixed(0)} KiB over the wire`);
  console.log("\nlists, by HTTP                                           p50       p95     worst     bytes");
  for (const { path, p50, p95, worst, bytes } of found.listed) console.log(`  ${path.padEnd(48)}${ms(p50)} ${ms(p95)} ${ms(worst)} ${String(bytes).padStart(9)}`);
  console.log("\ninteractions                          screen changed   what was asked for is there");
  for (const { label, felt, there } of found.acts) console.log(`  ${label.padEnd(34)}${felt === 0 ? " < 16 ms".padStart(9) : ms(felt)}        ${ms(there)}`);
  console.log(`\nthe hub's processor time: ${found.alone.toFixed(1)} % of one processor without a page`);
  for (const { label, percent } of found.costs) console.log(`  ${label.padEnd(34)}${percent.toFixed(1).padStart(6)} %, ${(percent - found.alone).toFixed(1)} more`);
}

if (!isMainThread) await traffic(workerData);
else if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
