/**
 * Reading in a loop: `for await (const event of client.events("orders.*", { group: "billing" }))`.
 *
 * The subscription starts when the iterator is made; `ready` says when the hub has agreed. Leaving the loop ends it.
 */

import { nowMs } from "./clock.js";
import type { Connection } from "./connection/connection.js";
import type { Delivery } from "./deliver.js";
import { invalid, type PromError } from "./error.js";
import type { Feed } from "./feed.js";
import type { SubscribeOptions } from "./options.js";
import { begin } from "./subscribe.js";
import { Turn } from "./turn.js";

/** Turns what came into what the loop gets, and says what happens to it when the loop asks for the next. */
export interface Reading<Item> {
  readonly handOut: (delivery: Delivery) => Item;
  readonly onNext: (delivery: Delivery) => void;
  /** Asking for the next settles the one before. */
  readonly isOneAtATime: boolean;
}

interface WaitingReader<Item> {
  readonly resolve: (result: IteratorResult<Item, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

export class EventStream<Item> implements AsyncIterableIterator<Item, undefined, void> {
  /** Resolves when the hub has agreed, rejects if it refused. */
  readonly ready: Promise<void>;
  readonly #feed: Feed;
  readonly #connection: Connection;
  readonly #reading: Reading<Item>;
  /** The current item of the loop. */
  #current: Delivery | undefined;
  #heldAt = 0;
  #waiting: WaitingReader<Item>[] = [];
  readonly #turn = new Turn();

  /** @internal */
  constructor(
    connection: Connection,
    topic: string,
    group: string | undefined,
    options: SubscribeOptions,
    reading: Reading<Item>,
  ) {
    const taking = { concurrency: 1, settledBy: reading.isOneAtATime ? ("client" as const) : ("application" as const) };
    const { feed, agreed } = begin(connection, topic, group, options, taking, (made) => {
      made.onArrived = this.#serve;
      made.onSettled = (delivery) => {
        if (delivery === this.#current) this.#letGo(() => {});
      };
    });
    [this.#connection, this.#feed, this.#reading] = [connection, feed, reading];
    this.ready = agreed;
    agreed.catch((error: PromError) => feed.end(error));
  }

  /**
   * With a group, asking for the next event acks the one before. So asking again before that one has come is refused:
   * it would be acked unseen.
   */
  next(): Promise<IteratorResult<Item, undefined>> {
    if (this.#reading.isOneAtATime && this.#waiting.length > 0) {
      return Promise.reject(invalid("next() was called again before the event it was called for came"));
    }
    this.#letGo((delivery) => this.#reading.onNext(delivery));
    this.#feed.onWanted();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Ends the subscription. The current item is not acked: it is returned, and comes again. */
  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#letGo(() => {});
    const { subscriptions } = this.#connection;
    await new Promise<void>((resolve, reject) => subscriptions.unsubscribe(this.#feed, { resolve, reject }));
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  readonly #serve = (): void => {
    while (this.#waiting.length > 0) {
      const now = nowMs();
      if (!this.#turn.hasTime(now, this.#serve)) return;
      const delivery = this.#feed.ended === undefined || this.#feed.isTail ? this.#feed.take(now) : undefined;
      if (delivery !== undefined) {
        this.#hold(delivery, now);
        this.#waiting.shift()?.resolve({ done: false, value: this.#reading.handOut(delivery) });
        continue;
      }
      if (this.#feed.ended === undefined) return;
      const { error } = this.#feed.ended;
      const reader = this.#waiting.shift();
      if (error === undefined) reader?.resolve({ done: true, value: undefined });
      else reader?.reject(error);
    }
  };

  #hold(delivery: Delivery, now: number): void {
    this.#letGo(() => {});
    this.#current = delivery;
    this.#heldAt = now;
    this.#feed.running++;
    this.#feed.hold(delivery);
  }

  #letGo(settle: (delivery: Delivery) => void): void {
    const delivery = this.#current;
    if (delivery === undefined) return;
    this.#current = undefined;
    this.#feed.running--;
    settle(delivery);
    this.#feed.release(delivery);
    this.#feed.worked(nowMs() - this.#heldAt);
    if (this.#connection.closing !== undefined) this.#connection.gatherSoon();
  }
}
