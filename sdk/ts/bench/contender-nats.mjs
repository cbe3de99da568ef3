// The NATS client for JetStream, against a server with default settings: events are written, and synced every two
// minutes.
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager, StorageType } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

export const name = "nats";
/** Found by trying: more publishes in flight make this client slower. */
export const windows = { publish: 200, consume: 500 };

const encoder = new TextEncoder();
const streamOf = (topic) => topic.replaceAll(".", "-");

export async function prepare(url, topic) {
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: streamOf(topic), subjects: [topic], storage: StorageType.File });
  await connection.close();
}

export async function publisher(url, topic, payload) {
  const connection = await connect({ servers: url });
  const stream = jetstream(connection);
  return {
    publish: () => stream.publish(topic, encoder.encode(JSON.stringify(payload))),
    close: () => connection.close(),
  };
}

export async function consumer(url, topic, handle, window) {
  const connection = await connect({ servers: url });
  const manager = await jetstreamManager(connection);
  const name = streamOf(topic);
  await manager.consumers.add(name, {
    durable_name: "bench",
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    // Above the default of 1000, which would be the limit here.
    max_ack_pending: window * 4,
  });
  const source = await jetstream(connection).consumers.get(name, "bench");
  const messages = await source.consume({
    max_messages: window,
    callback: (message) => {
      handle(message.json());
      message.ack();
    },
  });
  return {
    settled: async () => {
      await connection.flush();
      messages.stop();
      await connection.close();
    },
  };
}
