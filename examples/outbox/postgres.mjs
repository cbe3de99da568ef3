// Writes an order and its event in one transaction, with the `pg` driver: node postgres.mjs POSTGRES_URL ORDER
import pg from "pg";

const [url, order] = process.argv.slice(2);
const client = new pg.Client({ connectionString: url });
await client.connect();
try {
  await client.query("BEGIN");
  await client.query("INSERT INTO orders (id, state) VALUES ($1, 'placed')", [order]);
  await client.query("INSERT INTO outbox (topic, key, payload, headers) VALUES ($1, $2, $3, $4)", [
    "orders.placed",
    order,
    JSON.stringify({ order, from: "node" }),
    JSON.stringify({ "x-source": "shop" }),
  ]);
  await client.query("COMMIT");
} catch (error) {
  await client.query("ROLLBACK");
  throw error;
} finally {
  await client.end();
}
