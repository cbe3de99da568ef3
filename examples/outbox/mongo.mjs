// Writes an order and its event in one transaction, with MongoDB's own driver: node mongo.mjs MONGODB_URL ORDER
import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";

const [url, order] = process.argv.slice(2);
const client = await MongoClient.connect(url);
const shop = client.db();

await client.withSession((session) =>
  session.withTransaction(async () => {
    await shop.collection("orders").insertOne({ _id: order, state: "placed" }, { session });
    await shop.collection("outbox").insertOne(
      {
        _id: randomUUID(),
        topic: "orders.placed",
        key: order,
        payload: { order, from: "node" },
        headers: { "x-source": "shop" },
        status: "pending",
        ts: Date.now(),
      },
      { session },
    );
  }),
);

// Without a transaction: the event is an element of the document that it is about.
await shop.collection("carts").updateOne(
  { _id: order },
  {
    $set: { state: "closed" },
    $push: { events: { _id: randomUUID(), topic: "carts.closed", payload: { order, from: "node" }, ts: Date.now() } },
  },
  { upsert: true },
);
await client.close();
