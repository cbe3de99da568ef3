// A shop in one file, with `@promethean/client`: orders are placed, a group of subscribers bills them, one fails once, and notices
// about the connection are printed. Run it as `node orders.mjs`, as often as you like, with a hub on this machine, or with the hub's
// address as argument. Kill the hub and start it again while it runs: nothing is lost and nothing is billed twice.
import { randomUUID } from "node:crypto";
import { PromClient } from "@promethean/client";

const client = new PromClient(process.argv[2] ?? "http://127.0.0.1:8090");
client.onNotice((notice) => {
  if (notice.type === "disconnected") console.log(`connection lost: ${notice.reason}`);
  if (notice.type === "connected" && notice.isReconnect) console.log(`back, ${notice.resentEvents} events sent again`);
  if (notice.type === "handler_failed") console.log(`comes again: ${notice.error.message}`);
});
await client.connect();

const ORDERS = 20;
// Tells the orders of this run from those that others have placed.
const shop = randomUUID();
const billed = new Set();
let finish;
const done = new Promise((resolve) => (finish = resolve));

async function bill({ payload }, { attempt }) {
  if (payload.shop !== shop) return;
  if (payload.id === 3 && attempt === 1) throw new Error("the printer is out of paper");
  billed.add(payload.id);
  if (billed.size === ORDERS) finish();
}

// A group of its own: options of a group are set by its first subscriber, and `billing` may be there with others.
await client.subscribe("orders.placed", "shop", bill, { order: "key", concurrency: 4, backoff: { firstMs: 50, maxMs: 500 } });

for (let id = 0; id < ORDERS; id += 1) {
  const { offset } = await client.publish("orders.placed", { shop, id }, { key: `customer ${id % 3}` });
  console.log(`order ${id} is stored at offset ${offset}`);
}
await done;
console.log(`billed ${billed.size} orders`);
await client.close();
