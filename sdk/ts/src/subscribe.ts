/** Subscribing: the options are checked, and the hub is asked. */

import type { Connection } from "./connection/connection.js";
import { Kept, type WireOptions } from "./connection/subscriptions.js";
import { invalid } from "./error.js";
import { Feed } from "./feed.js";
import { checkOptions } from "./known-options.js";
import { MAX_IN_FLIGHT, WAITING_LEASE_MS } from "./limits.js";
import type { SubscribeOptions, TailOptions } from "./options.js";
import { isGroupName } from "./topic-name.js";
import { topicPatternFault } from "./topic-pattern.js";
import { Window } from "./window.js";

/** A requested subscription, and the promise of the hub's agreement. */
export interface Begun {
  readonly feed: Feed;
  readonly agreed: Promise<void>;
}

/** How deliveries are taken. */
export interface Taking {
  /** Handlers that run at the same time. */
  readonly concurrency: number;
  /** Who settles a taken event: `client` if returning, or asking for the next, acks it. */
  readonly settledBy: "client" | "application";
}

/** What only a subscriber without a group may ask for. */
type OfATail = Pick<TailOptions, "maxPerSecond" | "onThinned">;

/** `prepare` makes the consumer of the events, before the first can come. */
export function begin(
  connection: Connection,
  topic: string,
  group: string | undefined,
  options: SubscribeOptions & OfATail,
  taking: Taking,
  prepare: (feed: Feed) => void,
): Begun {
  checkOptions(group === undefined ? "a subscriber without a group" : "a subscriber", options);
  const wire = wireOptions(topic, group, { ackTimeoutMs: WAITING_LEASE_MS, ...options });
  const over = connection.refusal();
  if (over !== undefined) throw over;
  const facts = {
    topic,
    group,
    window: windowOf(options, taking),
    ackTimeoutMs: options.ackTimeoutMs ?? WAITING_LEASE_MS,
    ...taking,
    giveBackAfterMs: connection.settings.giveBackAfterMs,
    onGap: options.onGap,
    onThinned: options.onThinned,
    onAssigned: options.onAssigned,
    onRevoked: options.onRevoked,
  };
  const feed = new Feed(facts, connection.settlements);
  feed.onRefill = () => connection.subscriptions.throttle(feed, false);
  feed.followHandlers(connection.subscriptions.resizing(feed));
  feed.onWanted = () => connection.subscriptions.want(feed);
  prepare(feed);
  const agreed = new Promise<void>((resolve, reject) => {
    connection.subscriptions.subscribe(new Kept(feed, wire, { resolve, reject }));
  });
  connection.start();
  return { feed, agreed };
}

/**
 * What the application settles in its own time, and partitions that no other member can work on, come with the window
 * that the hub has where nothing is said.
 */
function windowOf(options: SubscribeOptions, { concurrency, settledBy }: Taking): number | Window {
  if (options.maxInFlight !== undefined) return options.maxInFlight;
  const isPartitioned = options.mode === "partitioned" || options.partitions !== undefined || isToldOfPartitions(options);
  return isPartitioned || settledBy === "application" ? MAX_IN_FLIGHT : new Window(concurrency);
}

function isToldOfPartitions({ onAssigned, onRevoked }: SubscribeOptions): boolean {
  return onAssigned !== undefined || onRevoked !== undefined;
}

const OF_EVERY_SUBSCRIBER = ["from", "ts", "afterId", "offset", "topics", "normalize"] as const;
const OF_A_GROUP = ["mode", "order", "park", "filter", "maxAttempts", "backoff", "partitions", "expireAfter"] as const;
const OF_A_TAIL = ["filter", "maxPerSecond"] as const;
const OF_A_MEMBER = [
  "batchSize",
  "maxInFlight",
  "ackTimeoutMs",
  "memberId",
  "meta",
  "weight",
  "pin",
  "ttlMs",
] as const;

/** The options in the frame; the hub checks their values. */
function wireOptions(topic: string, group: string | undefined, options: SubscribeOptions & OfATail): WireOptions {
  for (const pattern of [topic, ...(options.topics ?? [])]) {
    const fault = typeof pattern === "string" ? topicPatternFault(pattern) : "it is not a string";
    if (fault !== undefined) throw invalid(`${JSON.stringify(pattern)} is neither a topic nor a pattern: ${fault}`);
  }
  if (group !== undefined && !(typeof group === "string" && isGroupName(group))) {
    throw invalid(`${JSON.stringify(group)} is not a group's name: 1 to 128 of A-Z a-z 0-9 . _ : -`);
  }
  const wanted = group === undefined ? [...OF_EVERY_SUBSCRIBER, ...OF_A_TAIL] : [...OF_EVERY_SUBSCRIBER, ...OF_A_GROUP, ...OF_A_MEMBER];
  const given = wanted.filter((name) => options[name] !== undefined);
  const wire = Object.fromEntries(given.map((name) => [name, options[name]]));
  return group !== undefined && isToldOfPartitions(options) ? { ...wire, assignments: true } : wire;
}
