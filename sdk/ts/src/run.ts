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

export type AnyHandler = (event: EventEnvelope, delivery: Delivery) => unknown;

/** How a handler is run. */
export interface Handling {
  readonly concurrency: number;
  /** Who settles what a handler is done with. */
  readonly settledBy: "result" | "handler";
}

export class Runner {
  #isPumping = false;

  constructor(
    private readonly connection: Connection,
    private readonly feed: Feed,
    private readonly handler: AnyHandler,
    private readonly handling: Handling,
  ) {
    feed.onArrived = () => this.#pump();
  }

  /** Takes up as much as may run at the same time. */
  #pump(): void {
    // A handler that publishes or pauses may bring us here again; the loop below goes on anyway.
    if (this.#isPumping) return;
    this.#isPumping = true;
    const { feed } = this;
    const { concurrency } = this.handling;
    while (feed.running < concurrency && feed.ended === undefined) {
      const delivery = feed.take();
      if (delivery === undefined) break;
      this.#handle(delivery);
    }
    this.#isPumping = false;
  }

  #handle(delivery: Delivery): void {
    let result: unknown;
    try {
      result = this.handler(delivery.event, delivery);
    } catch (thrown) {
      return this.#failed(delivery, thrown);
    }
    if (isThenable(result)) this.#await(delivery, result);
    else this.#done(delivery);
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

function isThenable(result: unknown): result is PromiseLike<unknown> {
  return typeof result === "object" && result !== null && typeof (result as { then?: unknown }).then === "function";
}
