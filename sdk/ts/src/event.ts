/**
 * Events as publishers hand them over and as readers get them, and the receipt of a publish. The hub uses the same names.
 */

import type { Receipt as HttpReceipt } from "./http.js";
import type { AnyTopics, MatchedTopic, TopicOf } from "./topics.js";

export type { Durability } from "./http.js";

/** The hub has stored the event as safely as `durability` says. */
export interface Receipt extends HttpReceipt {
  /** The id was there before: nothing was stored, and this is the first receipt. Hubs that do not tell leave it out. */
  readonly duplicate?: true;
}

/**
 * What must be so for an event to be stored: the next offset of its partition, or the offset of the newest event of its key,
 * `null` where the key has no live event.
 */
export type Expectation = { readonly offset: number } | { readonly key_offset: number | null };

/** Everything that may be said about an event besides its topic and payload. */
export interface PublishOptions {
  /**
   * A UUID. The client makes one if none is given; give one to publish again safely after a restart of your program.
   */
  readonly id?: string;
  /** The id is unique as long as the event is retained, not only for ten minutes. */
  readonly exact?: boolean;
  /** When it happened, in epoch milliseconds; has no effect. */
  readonly ts?: number;
  /** Events of one key go to one partition and stay in order. */
  readonly key?: string;
  /** Names are `x-…`, `content-type`, `traceparent`, `tracestate`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  /** Ids of the events that led to this one. */
  readonly caused_by?: readonly string[];
  /** The session of the publisher. */
  readonly sid?: string;
  /** An explicitly chosen partition. */
  readonly partition?: number;
  /**
   * It also goes to the topic of its schema's version, such as `orders.placed.v2`: both or neither. Without a schema it has
   * no version, and no copy.
   */
  readonly dual_write?: boolean;
  /**
   * Stores it only if this holds; else the publish rejects with the code `conflict`, and `actual` of the error says what is
   * so. Not looked at for an id that is there already. `key_offset` needs a topic with `versions`.
   */
  readonly expect?: Expectation;
}

/** One event of a batch. */
export type NewEvent<Topics extends object = AnyTopics> = {
  [Topic in TopicOf<Topics>]: {
    readonly topic: Topic;
    readonly payload: Topics[Topic];
    readonly opts?: PublishOptions;
  };
}[TopicOf<Topics>];

/** A stored event. */
export interface StoredEvent<Topic extends string, Payload> {
  readonly id: string;
  /** When it happened, by the publisher's clock. */
  readonly ts: number;
  /** When it was stored, by the hub's clock; never decreasing within a partition. */
  readonly stored_ts: number;
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  readonly key?: string;
  readonly sid?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caused_by?: readonly string[];
  readonly tags?: readonly string[];
  /** `null` is the tombstone of its key. */
  readonly payload: Payload;
}

/** A stored event of the topics that a name or a pattern matches: told apart by `topic`. */
export type EventEnvelope<Topics extends object = AnyTopics, Pattern extends string = string> = {
  [Topic in MatchedTopic<Topics, Pattern>]: StoredEvent<Topic, Topic extends keyof Topics ? Topics[Topic] : unknown>;
}[MatchedTopic<Topics, Pattern>];
