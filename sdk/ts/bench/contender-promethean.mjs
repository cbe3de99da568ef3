// This client against a hub that syncs every event to the disk before it answers.
import { PromClient } from "../dist/index.js";

export const name = "promethean";
export const windows = { publish: 2000, consume: 2000 };

export async function prepare() {}

/** Returns `publish()`, which resolves when the event is stored. */
export async function publisher(url, topic, payload) {
  const client = new PromClient(url);
  await client.connect();
  return { publish: () => client.publish(topic, payload), close: () => client.close() };
}

/** Calls `handle(payload)` for every event from the first on, and acks it when that returns. */
export async function consumer(url, topic, handle, window) {
  const client = new PromClient(url);
  const options = { from: "earliest", maxInFlight: window, batchSize: Math.min(1000, window) };
  await client.subscribe(topic, "bench", (event) => handle(event.payload), options);
  // Closing waits until the hub has answered every ack.
  return { settled: () => client.close() };
}
