/**
 * The client: one maintained connection, over which an application publishes and subscribes.
 *
 * Promises: a receipt means stored; events unanswered when a connection breaks are sent again with the same id, and
 * stored once; subscriptions are restored; memory is bounded, and callers wait when it is full.
 */

import { Connection } from "./connection/connection.js";
import type { Delivery } from "./deliver.js";
import type { EventEnvelope, NewEvent, PublishOptions, Receipt } from "./event.js";
import { EventStream } from "./events.js";
import type { Feed } from "./feed.js";
import { checkOptions } from "./known-options.js";
import { type ClientOptions, settingsOf, type SubscribeOptions, type TailOptions, type Token } from "./options.js";
import { publish, publishBatch } from "./publish.js";
import { type AnyHandler, Runner } from "./run.js";
import type { NoticeListener, State } from "./state.js";
import { begin } from "./subscribe.js";
import { Subscription } from "./subscription.js";
import { TokenSource } from "./token.js";
import type { AnyTopics, TopicOf, TopicOrPattern } from "./topics.js";
import type { Transport } from "./transport/transport.js";
import { hubUrl } from "./url.js";

/**
 * Called for each event leased to this subscriber. Returning acks it and throwing nacks it, once a returned promise has
 * settled.
 */
export type Handler<Topics extends object = AnyTopics, Pattern extends string = string> = (
  event: EventEnvelope<Topics, Pattern>,
  delivery: Delivery<EventEnvelope<Topics, Pattern>>,
) => unknown;

/** Called for each event of a subscription without a group: there is nothing to settle. */
export type TailHandler<Topics extends object = AnyTopics, Pattern extends string = string> = (
  event: EventEnvelope<Topics, Pattern>,
) => unknown;

/** With `group` it is one of the group's subscribers, without it a tail. */
export type EventsOptions<Pattern extends string = string> =
  | (SubscribeOptions<Pattern> & { readonly group: string; readonly manualAck?: never; readonly concurrency?: never })
  | (TailOptions<Pattern> & { readonly group?: undefined });

export class BaseClient<Topics extends object = AnyTopics> {
  readonly #connection: Connection;

  constructor(url: string | URL, token: Token | null | undefined, options: ClientOptions, transport: Transport) {
    checkOptions("the client", options);
    this.#connection = new Connection(hubUrl(url), new TokenSource(token), settingsOf(options), transport);
    if (options.onNotice !== undefined) this.onNotice(options.onNotice);
  }

  /**
   * Connects. A rejection means that there is no hub, or that it does not let us in. A connection that is lost later is
   * restored as long as the client lives. Without this call the first verb connects in the background, and what is
   * published meanwhile waits.
   */
  connect(): Promise<void> {
    return this.#connection.connect();
  }

  /** The state of the connection. */
  get state(): State {
    return this.#connection.teller.state;
  }

  /** Calls the listener for everything that happens from now on; returns a function that stops it. */
  onNotice(listener: NoticeListener): () => void {
    return this.#connection.teller.listen(listener);
  }

  /**
   * Publishes one event. Resolves when it is as durable as the receipt says. If too many events wait already, it waits for
   * room first. Events published together leave in as few frames as the hub can read.
   */
  publish<Topic extends TopicOf<Topics>>(
    topic: Topic,
    payload: Topics[Topic],
    opts?: PublishOptions,
  ): Promise<Receipt> {
    return publish(this.#connection, topic, payload, opts);
  }

  /**
   * Publishes all of these events or none, even across topics; receipts are in the same order. They must fit into one
   * frame.
   */
  publishBatch(events: readonly NewEvent<Topics>[]): Promise<Receipt[]> {
    return publishBatch(this.#connection, events as readonly NewEvent[]);
  }

  /** Resolves when a publish would not wait for room: for callers that do not await every publish. */
  room(): Promise<void> {
    return this.#connection.room.whenFree();
  }

  /**
   * Subscribes. With a group, its subscribers share the events, and each event is leased to one of them until it is settled.
   * Without one, every event from the given position on comes here. Resolves when the hub has agreed.
   */
  subscribe<const Pattern extends TopicOrPattern<Topics>>(
    topic: Pattern,
    group: string,
    handler: Handler<Topics, Pattern>,
    opts?: SubscribeOptions<Pattern>,
  ): Promise<Subscription>;
  subscribe<const Pattern extends TopicOrPattern<Topics>>(
    topic: Pattern,
    group: null | undefined,
    handler: TailHandler<Topics, Pattern>,
    opts?: TailOptions<Pattern> & { readonly concurrency?: number },
  ): Promise<Subscription>;
  async subscribe(
    topic: string,
    group: string | null | undefined,
    handler: (...given: never[]) => unknown,
    opts: SubscribeOptions = {},
  ): Promise<Subscription> {
    if (typeof handler !== "function") throw new TypeError("the handler is not a function");
    const concurrency = Math.max(1, opts.concurrency ?? 1);
    const taking = { concurrency, settledBy: opts.manualAck === true ? ("application" as const) : ("client" as const) };
    const connection = this.#connection;
    let subscription: Subscription | undefined;
    const { agreed } = begin(connection, topic, group ?? undefined, opts, taking, (feed: Feed) => {
      void new Runner(connection, feed, handler as AnyHandler);
      subscription = new Subscription(connection, feed);
    });
    await agreed;
    return subscription as Subscription;
  }

  /**
   * Events in a loop. With a group, an event is acked when the loop asks for the next one; leaving the loop returns the
   * current one unacked.
   */
  events<const Pattern extends TopicOrPattern<Topics>>(
    topic: Pattern,
    opts: EventsOptions<Pattern> = {},
  ): EventStream<EventEnvelope<Topics, Pattern>> {
    const { settlements } = this.#connection;
    return new EventStream(this.#connection, topic, opts.group, opts, {
      handOut: (delivery) => delivery.event as EventEnvelope<Topics, Pattern>,
      onNext: (delivery) => {
        if (opts.group !== undefined) settlements.ack(delivery, undefined);
      },
      isOneAtATime: opts.group !== undefined,
    });
  }

  /** Deliveries in a loop that settles them itself. */
  deliveries<const Pattern extends TopicOrPattern<Topics>>(
    topic: Pattern,
    group: string,
    opts: Omit<SubscribeOptions<Pattern>, "manualAck" | "concurrency"> = {},
  ): EventStream<Delivery<EventEnvelope<Topics, Pattern>>> {
    return new EventStream(this.#connection, topic, group, opts, {
      handOut: (delivery) => delivery as Delivery<EventEnvelope<Topics, Pattern>>,
      onNext: () => {},
      isOneAtATime: false,
    });
  }

  /** Ends a subscription of this client from anywhere; its unsettled events are returned at once. */
  unsubscribe(topic: string, group?: string | null): Promise<void> {
    const { subscriptions } = this.#connection;
    const kept = subscriptions.get(topic, group ?? undefined);
    if (kept === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => subscriptions.unsubscribe(kept.feed, { resolve, reject }));
  }

  /**
   * Accepts nothing new, waits until publishes are answered and handlers are done, and closes the connection; at the latest
   * after `drainTimeoutMs`. Do not await it in a handler: it waits for that handler.
   */
  close(): Promise<void> {
    return this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
