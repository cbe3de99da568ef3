// A shop with something going on: orders of several topics, groups that keep up, one that is stuck, one that gives up.
import { PromClient } from "../../sdk/ts/dist/index.js";

const CITIES = ["Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi"];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const ORDER_V1 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  required: ["order", "amount", "currency"],
  properties: {
    order: { type: "string", description: "The number of the order." },
    amount: { type: "number", minimum: 0 },
    currency: { enum: ["EUR", "NOK", "KES", "USD"] },
    city: { type: "string" },
  },
};
export const ORDER_V2 = { ...ORDER_V1, properties: { ...ORDER_V1.properties, coupon: { type: "string" } } };

/** Begins; the returned function ends it. */
export async function shop(hub, { perSecond = 60 } = {}) {
  await hub.put("/topics/orders.placed", { partitions: 3, retention: { age_ms: 259_200_000 } });
  await hub.put("/topics/payments.taken", {});
  await hub.put("/topics/process.state", { compaction: true });
  await hub.post("/topics/orders.placed/schema", { schema: ORDER_V1 });
  await hub.post("/topics/orders.placed/schema", { schema: ORDER_V2 });
  const client = new PromClient(hub.url, hub.admin ?? null);
  let count = 0;
  const publish = async () => {
    const order = `o-${1000 + count}`;
    const city = CITIES[count % CITIES.length];
    count++;
    const placed = await client.publish("orders.placed", { order, amount: 12.5 + (count % 90), currency: "EUR", city }, { key: order, headers: { "x-tenant": "acme" } });
    await client.publish("payments.taken", { order, paid: true, method: count % 3 === 0 ? "card" : "transfer" }, { key: order, caused_by: [placed.id] });
    if (count % 5 === 0) await client.publish("process.state", { processId: `host-${count % 4}`, cpu_pct: count % 100, status: "alive" }, { key: `host-${count % 4}` });
  };
  await client.subscribe("orders.placed", "fulfilment", () => wait(1), { memberId: "fulfilment-1", from: "earliest" });
  await client.subscribe("orders.*", "analytics", () => {}, { memberId: "analytics-1", from: "earliest", maxInFlight: 50 });
  // Takes one event and never settles it.
  await client.subscribe("payments.taken", "ledger", () => new Promise(() => {}), { memberId: "ledger-7", from: "earliest", maxInFlight: 1, order: "key", manualAck: true });
  // Fails on every third, and gives up soon.
  await client.subscribe(
    "payments.taken",
    "mailer",
    (event) => {
      if (event.payload.method === "card") throw new Error(`cannot reach smtp.example.com:25 for order ${event.payload.order}`);
    },
    { memberId: "mailer-2", from: "earliest", maxAttempts: 2, backoff: { firstMs: 5, maxMs: 10 } },
  );
  for (let at = 0; at < 40; at++) await publish();
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      await publish();
      await wait(1000 / perSecond);
    }
  })();
  return async () => {
    isOver = true;
    await running.catch(() => undefined);
    await client.close();
  };
}
