/** Subscribing: what is asked for is checked, and the hub is asked. */

import type { Connection } from "./connection/connection.js";
import { Kept, type WireOptions } from "./connection/subscriptions.js";
import { invalid } from "./error.js";
import { Feed } from "./feed.js";
import { ACK_TIMEOUT_MS, MAX_IN_FLIGHT } from "./limits.js";
import type { SubscribeOptions } from "./options.js";
import { isGroupName } from "./topic-name.js";
import { topicPatternFault } from "./topic-pattern.js";

/** A subscription that was asked for, and the promise of the hub's agreement. */
export interface Begun {
  readonly feed: Feed;
  readonly agreed: Promise<void>;
}

/** `prepare` makes whoever takes the events, before the first can come. */
export function begin(
  connection: Connection,
  topic: string,
  group: string | undefined,
  options: SubscribeOptions,
  prepare: (feed: Feed) => void,
): Begun {
  const wire = wireOptions(topic, group, options);
  const over = connection.refusal();
  if (over !== undefined) throw over;
  const facts = {
    topic,
    group,
    maxInFlight: options.maxInFlight ?? MAX_IN_FLIGHT,
    ackTimeoutMs: options.ackTimeoutMs ?? ACK_TIMEOUT_MS,
    onGap: options.onGap,
    onAssigned: options.onAssigned,
    onRevoked: options.onRevoked,
  };
  const feed = new Feed(facts, connection.settlements);
  feed.onRefill = () => connection.subscriptions.throttle(feed, false);
  prepare(feed);
  const agreed = new Promise<void>((resolve, reject) => {
    connection.subscriptions.subscribe(new Kept(feed, wire, { resolve, reject }));
  });
  connection.start();
  return { feed, agreed };
}

const OF_EVERY_SUBSCRIBER = ["from", "ts", "afterId", "offset", "topics"] as const;
const OF_A_GROUP = ["mode", "order", "filter", "maxAttempts", "backoff", "partitions", "expireAfter"] as const;
const OF_A_MEMBER = [
  "batchSize",
  "maxInFlight",
  "ackTimeoutMs",
  "normalize",
  "memberId",
  "meta",
  "weight",
  "pin",
  "ttlMs",
] as const;

/** What goes into the frame; the hub judges the values. */
function wireOptions(topic: string, group: string | undefined, options: SubscribeOptions): WireOptions {
  for (const pattern of [topic, ...(options.topics ?? [])]) {
    const fault = typeof pattern === "string" ? topicPatternFault(pattern) : "it is not a string";
    if (fault !== undefined) throw invalid(`${JSON.stringify(pattern)} is neither a topic nor a pattern: ${fault}`);
  }
  if (group !== undefined && !(typeof group === "string" && isGroupName(group))) {
    throw invalid(`${JSON.stringify(group)} is not a group's name: 1 to 128 of A-Z a-z 0-9 . _ : -`);
  }
  const wanted = group === undefined ? OF_EVERY_SUBSCRIBER : [...OF_EVERY_SUBSCRIBER, ...OF_A_GROUP, ...OF_A_MEMBER];
  const given = wanted.filter((name) => options[name] !== undefined);
  const wire = Object.fromEntries(given.map((name) => [name, options[name]]));
  const isTold = group !== undefined && (options.onAssigned !== undefined || options.onRevoked !== undefined);
  return isTold ? { ...wire, assignments: true } : wire;
}
