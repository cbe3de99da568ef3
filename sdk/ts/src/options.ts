/** The options of a client and of a subscriber. */

import * as limits from "./limits.js";
import type { Payloads } from "./payload-text.js";
import type { Assignment, Gap, Thinned, NoticeListener } from "./state.js";
import type { Transport } from "./transport/transport.js";

/** A token, or a function that returns one: called at every connect and before the last one expires. */
export type Token = string | (() => string | Promise<string>);

/** Options of a client. The defaults suit a service or a page with a long-lived connection. */
export interface ClientOptions {
  /** Unanswered publishes; beyond this callers wait. Default: 16 384. */
  readonly maxPendingEvents?: number;
  /** Their size in UTF-16 units of JSON. Default: 16 Mi. */
  readonly maxPendingBytes?: number;
  /** How long a publish keeps trying through refusals and lost connections. Default: 60 s. */
  readonly giveUpAfterMs?: number;
  /**
   * What happens to publishes that exceed the hub's rate limits: sent again when it accepts them (`retry`, the default), or
   * refused.
   */
  readonly whenRateLimited?: "retry" | "fail";
  /**
   * The wait before reconnecting, doubling from the first to the longest, with jitter. Default: 100 ms and 10 s.
   */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  /** For lookup, handshakes and AUTH together. Default: 10 s. */
  readonly connectTimeoutMs?: number;
  /** A hub that was silent this long is pinged. Default: 60 s. */
  readonly pingAfterMs?: number;
  /** A hub that was silent this long counts as gone. Default: 75 s. */
  readonly silenceLimitMs?: number;
  /** Deliveries that no loop asks for go back to the group after this time, without an attempt. Default: 10 min. */
  readonly giveBackAfterMs?: number;
  /** How long `close` waits for answers and handlers. Default: 10 s. */
  readonly drainTimeoutMs?: number;
  /** Called for everything that happens from the beginning; the same as `client.onNotice`. */
  readonly onNotice?: NoticeListener;
  /**
   * How payloads are written and read. Default: `JSON`, which rounds integers above 2⁵³ in both directions; pass another
   * one if they must be exact.
   */
  readonly payloads?: Payloads;
  /** How bytes travel. Default: the platform's transport. */
  readonly transport?: Transport;
  /** Node, `wss:` and `https:` only: certificates in PEM format to trust instead of the well-known ones. */
  readonly ca?: string;
}

/** The options of a client with all defaults filled in. */
export interface Settings {
  readonly maxPendingEvents: number;
  readonly maxPendingBytes: number;
  readonly giveUpAfterMs: number;
  readonly whenRateLimited: "retry" | "fail";
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  readonly connectTimeoutMs: number;
  readonly pingAfterMs: number;
  readonly silenceLimitMs: number;
  readonly drainTimeoutMs: number;
  readonly giveBackAfterMs: number;
  /** None where `JSON` does. */
  readonly payloads: Payloads | undefined;
}

export function settingsOf(options: ClientOptions): Settings {
  const backoffMaxMs = options.backoff?.maxMs ?? limits.BACKOFF_MAX_MS;
  const silenceLimitMs = options.silenceLimitMs ?? limits.SILENCE_LIMIT_MS;
  return {
    maxPendingEvents: Math.max(1, options.maxPendingEvents ?? limits.PENDING_EVENTS),
    maxPendingBytes: Math.max(1, options.maxPendingBytes ?? limits.PENDING_BYTES),
    giveUpAfterMs: options.giveUpAfterMs ?? limits.GIVE_UP_AFTER_MS,
    whenRateLimited: options.whenRateLimited ?? "retry",
    backoffFirstMs: Math.min(options.backoff?.firstMs ?? limits.BACKOFF_FIRST_MS, backoffMaxMs),
    backoffMaxMs,
    connectTimeoutMs: options.connectTimeoutMs ?? limits.CONNECT_TIMEOUT_MS,
    pingAfterMs: Math.min(options.pingAfterMs ?? limits.PING_AFTER_MS, silenceLimitMs),
    silenceLimitMs,
    drainTimeoutMs: options.drainTimeoutMs ?? limits.DRAIN_TIMEOUT_MS,
    giveBackAfterMs: options.giveBackAfterMs ?? limits.GIVE_BACK_AFTER_MS,
    payloads: options.payloads,
  };
}

/** Where reading starts. Default: `latest`. `ts`, `afterId` and `offset` need the field of the same name. */
export interface PositionOptions {
  readonly from?: "latest" | "earliest" | "ts" | "afterId" | "offset";
  /** Epoch milliseconds, by the hub's clock. */
  readonly ts?: number;
  readonly afterId?: string;
  readonly offset?: number;
}

/** Options of the group, set by its first subscriber. A later subscriber that asks for others gets `bad_request`. */
export interface GroupOptions extends PositionOptions {
  /** How events are divided among subscribers; `partitioned`: each partition has one owner, which gets it in order. */
  readonly mode?: "shared" | "partitioned";
  /** `key`: an event waits while an earlier one of its key is unsettled. */
  readonly order?: "none" | "key";
  /**
   * A key stops when its event becomes a dead letter, and its later events follow it until they are given back; other keys go
   * on. With `order: "key"` or `mode: "partitioned"`.
   */
  readonly park?: boolean;
  /** A jq program over the event; events for which it is false count as settled. */
  readonly filter?: string;
  /** Failed attempts before an event becomes a dead letter. */
  readonly maxAttempts?: number;
  /** The wait after a failure, doubling from the first to the longest. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  /** Into how many partitions the group divides a topic of one, with `mode: "partitioned"`; by the hash of the key. */
  readonly partitions?: number;
  /** Milliseconds without a subscriber after which the group is deleted. */
  readonly expireAfter?: number;
}

/** Options of a subscriber without a group. */
export interface TailOptions<Pattern extends string = string> extends PositionOptions {
  /** Further names or patterns. */
  readonly topics?: readonly Pattern[];
  /**
   * Events come as the latest version of their topic's schema has them. What cannot be brought there comes as it is
   * stored, and the header `x-upcast-error` says why.
   */
  readonly normalize?: boolean;
  /** A jq program over the event, run by the hub; events for which it is false do not come. */
  readonly filter?: string;
  /** Of those that pass the filter, the hub sends only so many a second, spread over it. For people who look. */
  readonly maxPerSecond?: number;
  /** Called about once a second with what a `filter` or `maxPerSecond` left out. */
  readonly onThinned?: (counts: Thinned) => void;
  /** Called for events that are gone before they came. */
  readonly onGap?: (gap: Gap) => void;
}

/** Options of a subscriber with a group. */
export interface SubscribeOptions<Pattern extends string = string> extends GroupOptions {
  /** Further names or patterns. */
  readonly topics?: readonly Pattern[];
  /** Events read and sent at once. Default: 100. */
  readonly batchSize?: number;
  /**
   * Events leased to this subscriber at once. Default: as many as its handlers run and work off in a tenth of a second;
   * 1000 if it settles events itself or owns partitions.
   */
  readonly maxInFlight?: number;
  /**
   * How long an event is leased without renewal. Default: 90 s. Handlers may take longer: the client renews at half time.
   */
  readonly ackTimeoutMs?: number;
  /** A name shown to people who ask which subscriber holds an event; partitions tend to come back to it. */
  readonly memberId?: string;
  /** Any JSON, shown with the name. */
  readonly meta?: unknown;
  /** Its share of the partitions relative to other members. Default: 1; 0 gets only what it pins. */
  readonly weight?: number;
  /** Partitions that go to this member as long as it lives. */
  readonly pin?: readonly number[];
  /** How long this client may stay silent before its partitions go to others. Default: 15 s. */
  readonly ttlMs?: number;
  /** Called for new partitions, before the first of their events. */
  readonly onAssigned?: (assignment: Assignment) => void;
  /**
   * Called for lost partitions, including those lost with the connection or the subscription. Events in progress can be
   * settled for a short while; then the hub gives them to the next owner, and settling them is refused.
   */
  readonly onRevoked?: (assignment: Assignment) => void;
  /**
   * Events come as the latest version of their topic's schema has them; the header `x-upcasted-from` names the version of
   * those stored with an older one. What cannot be brought there goes to the dead letters, with the reason.
   */
  readonly normalize?: boolean;
  /** Handlers that run at the same time. Default: 1. */
  readonly concurrency?: number;
  /** The handler settles each delivery itself; returning acks nothing, throwing still nacks. */
  readonly manualAck?: boolean;
  /** Called for events that are gone before they came. */
  readonly onGap?: (gap: Gap) => void;
}
