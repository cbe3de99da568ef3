/** How a client connects and behaves, and what a subscriber may ask for. */

import * as limits from "./limits.js";
import type { Payloads } from "./payload-text.js";
import type { Assignment, Gap, NoticeListener } from "./state.js";
import type { Transport } from "./transport/transport.js";

/** A token, or a function that gives one: called at every connect and before the last one expires. */
export type Token = string | (() => string | Promise<string>);

/** Options of a client. The defaults suit a service, or a page, that talks to its hub for long. */
export interface ClientOptions {
  /** Publishes without an answer; beyond it callers wait. 16 384 unless said. */
  readonly maxPendingEvents?: number;
  /** Their size in UTF-16 units of JSON; 16 Mi unless said. */
  readonly maxPendingBytes?: number;
  /** How long a publish keeps trying through refusals and lost connections; 60 s unless said. */
  readonly giveUpAfterMs?: number;
  /**
   * What becomes of publishes that come too fast for the hub's limits: sent again when it takes them (`retry`, the
   * default), or refused.
   */
  readonly whenRateLimited?: "retry" | "fail";
  /**
   * The wait before connecting again, doubling from the first to the longest, with jitter; 100 ms and 10 s unless said.
   */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  /** For the look-up, the handshakes and AUTH together; 10 s unless said. */
  readonly connectTimeoutMs?: number;
  /** A hub that was silent for so long is asked whether it is there; 60 s unless said. */
  readonly pingAfterMs?: number;
  /** A hub that was silent for so long is given up; 75 s unless said. */
  readonly silenceLimitMs?: number;
  /** Deliveries that no loop asks for go back to the group after so long, without an attempt; 10 min unless said. */
  readonly giveBackAfterMs?: number;
  /** How long `close` waits for answers and handlers; 10 s unless said. */
  readonly drainTimeoutMs?: number;
  /** Hears of everything that happens from the beginning; the same as `client.onNotice`. */
  readonly onNotice?: NoticeListener;
  /**
   * How payloads are written and read, `JSON` unless said. That one rounds integers above 2⁵³ in both directions; bring
   * another where they have to be exact.
   */
  readonly payloads?: Payloads;
  /** How bytes travel; that of the platform unless said. */
  readonly transport?: Transport;
  /** Node, `wss:` and `https:` only: certificates in PEM form to trust instead of the well-known ones. */
  readonly ca?: string;
}

/** The options of a client with nothing left open. */
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

/** Where reading begins: `latest` unless said. `ts`, `afterId` and `offset` need the field of the same name. */
export interface PositionOptions {
  readonly from?: "latest" | "earliest" | "ts" | "afterId" | "offset";
  /** Epoch milliseconds, by the hub's clock. */
  readonly ts?: number;
  readonly afterId?: string;
  readonly offset?: number;
}

/** Of the group: set by its first subscriber. Whoever asks for something else later is refused with `bad_request`. */
export interface GroupOptions extends PositionOptions {
  /** How events are divided among subscribers; `partitioned`: each partition has one owner, who gets it in order. */
  readonly mode?: "shared" | "partitioned";
  /** `key`: an event waits while an earlier one of its key is not settled. */
  readonly order?: "none" | "key";
  /** A jq program over the event; what it is false for counts as settled. */
  readonly filter?: string;
  /** Failed attempts before an event goes to the dead letters. */
  readonly maxAttempts?: number;
  /** The wait after a failure, doubling from the first to the longest. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  /** Into how many the group divides topics of one partition, with `mode: "partitioned"`; by the hash of the key. */
  readonly partitions?: number;
  /** Milliseconds without a subscriber after which the group is deleted. */
  readonly expireAfter?: number;
}

/** Of a subscriber without a group. */
export interface TailOptions<Pattern extends string = string> extends PositionOptions {
  /** More names or patterns. */
  readonly topics?: readonly Pattern[];
  /** Events that should have come and are gone. */
  readonly onGap?: (gap: Gap) => void;
}

/** Of a subscriber with a group. */
export interface SubscribeOptions<Pattern extends string = string> extends GroupOptions {
  /** More names or patterns. */
  readonly topics?: readonly Pattern[];
  /** Events read and sent at once; 100 unless said. */
  readonly batchSize?: number;
  /**
   * Events leased to this subscriber at once. Unless said, as many as its handlers run and what they work off in a tenth
   * of a second; 1000 where it settles by hand or owns partitions.
   */
  readonly maxInFlight?: number;
  /**
   * How long an event is leased without being renewed; 90 s unless said, 30 s where the application settles by hand.
   * Handlers may take longer: the client renews at half time.
   */
  readonly ackTimeoutMs?: number;
  /** A name that people see when they ask who holds an event; partitions tend to come back to it. */
  readonly memberId?: string;
  /** What people see beside the name: any JSON. */
  readonly meta?: unknown;
  /** The share of the partitions in relation to other members, 1 unless said; 0 gets only what it pins. */
  readonly weight?: number;
  /** Partitions that go to this member as long as it lives. */
  readonly pin?: readonly number[];
  /** How long the hub may hear nothing of this client before its partitions go to others; 15 s unless said. */
  readonly ttlMs?: number;
  /** Partitions that came, before the first of their events. */
  readonly onAssigned?: (assignment: Assignment) => void;
  /**
   * Partitions that go, also with the connection and with the subscription. What is in hand can still be settled for a short while; then the hub
   * gives it to the next owner, and settling it is refused.
   */
  readonly onRevoked?: (assignment: Assignment) => void;
  /** Read every event in the newest version of its schema, where the hub has that. */
  readonly normalize?: boolean;
  /** Handlers that run at the same time; one unless said. */
  readonly concurrency?: number;
  /** The handler settles each delivery itself; returning acks nothing, throwing still nacks. */
  readonly manualAck?: boolean;
  /** Events that should have come and are gone. */
  readonly onGap?: (gap: Gap) => void;
}
