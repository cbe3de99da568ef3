/**
 * Handlers: each delivery is passed to a function; how it ends settles the event.
 *
 * Leases of what runs and of what waits its turn are renewed at half time. A handler that returns no promise costs
 * none.
 */

import type { Connection } from "./connection/connection.js";
import type { Delivery } from "./deliver.js";
import type { EventEnvelope } from "./event.js";
import type { Feed } from "./feed.js";
import { reasonText } from "./nack.js";
import { Turn } from "./turn.js";

export type AnyHandler = (event: EventEnvelope, delivery: Delivery) => unknown;

/** How a handler is run. */
export interface Handling {
  readonly concurrency: number;
  /** Who settles what a handler is done with. */
  readonly settledBy: "result" | "handler";
}

export class Runner {
  #isPumping = false;
  readonly #turn = new Turn();

  constructor(
    private readonly connection: Connection,
    private readonly feed: Feed,
    private readonly handler: AnyHandler,
    private readonly handling: Handling,
  ) {
    feed.onArrived = this.#pump;
  }

  /** Takes up as much as may run at the same time, for as long as the turn lasts. */
  readonly #pump = (): void => {
    // A handler that publishes or pauses may bring us here again; the loop below goes on anyway.
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#mayTake && this.#turn.hasTime(this.#pump)) {
        const delivery = this.feed.take();
        if (delivery === undefined) return;
        this.#handle(delivery);
      }
    } finally {
      this.#isPumping = false;
    }
  };

  get #mayTake(): boolean {
    const { feed } = this;
    return feed.hasWaiting && feed.running < this.handling.concurrency && feed.ended === undefined;
  }

  #handle(delivery: Delivery): void {
    let result: PromiseLike<unknown> | undefined;
    try {
      result = promised(this.handler(delivery.event, delivery));
    } catch (thrown) {
      return this.#failed(delivery, thrown);
    }
    if (result === undefined) this.#done(delivery);
    else this.#await(delivery, result);
  }

  #await(delivery: Delivery, result: PromiseLike<unknown>): void {
    const { feed } = this;
    feed.running++;
    feed.hold(delivery);
    result.then(
      () => this.#finished(delivery, () => this.#done(delivery)),
      (thrown: unknown) => this.#finished(delivery, () => this.#failed(delivery, thrown)),
    );
  }

  #finished(delivery: Delivery, settle: () => void): void {
    this.feed.running--;
    settle();
    this.feed.release(delivery);
    if (this.connection.closing !== undefined) this.connection.gatherSoon();
    this.#pump();
  }

  #done(delivery: Delivery): void {
    if (delivery.isSettled || this.handling.settledBy === "handler" || this.feed.isTail) return;
    delivery.isSettled = true;
    this.connection.settlements.ack(delivery, undefined);
  }

  #failed(delivery: Delivery, error: unknown): void {
    const { topic, group } = this.feed.facts;
    this.connection.teller.tell({ type: "handler_failed", topic, group, eventId: delivery.event.id, error });
    if (delivery.isSettled || this.feed.isTail) return;
    delivery.isSettled = true;
    this.connection.settlements.nack({ delivery, reason: reasonText(error), delayMs: undefined, waiter: undefined });
  }
}

/** What a handler returned, where that has to be awaited. May throw: a `then` can be anything. */
function promised(result: unknown): PromiseLike<unknown> | undefined {
  if (result instanceof Promise) return result;
  if ((typeof result !== "object" && typeof result !== "function") || result === null) return undefined;
  if (typeof (result as { then?: unknown }).then !== "function") return undefined;
  // A foreign one may call back at once, twice, or throw.
  return new Promise((resolve) => resolve(result));
}
