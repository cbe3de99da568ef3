/**
 * Handlers: each delivery is passed to a function; its outcome settles the event.
 *
 * Leases of running and of waiting deliveries are renewed at half time. A handler that returns no promise costs none.
 */

import { nowMs } from "./clock.js";
import type { Connection } from "./connection/connection.js";
import type { Delivery } from "./deliver.js";
import type { EventEnvelope } from "./event.js";
import type { Feed } from "./feed.js";
import { reasonText } from "./nack.js";
import { Turn } from "./turn.js";

export type AnyHandler = (event: EventEnvelope, delivery: Delivery) => unknown;

export class Runner {
  #isPumping = false;
  readonly #turn = new Turn();

  constructor(
    private readonly connection: Connection,
    private readonly feed: Feed,
    private readonly handler: AnyHandler,
  ) {
    feed.onArrived = this.#pumpNow;
  }

  readonly #pumpNow = (): void => this.#pump(nowMs());

  /** Starts as many as may run at the same time, while the turn lasts. */
  #pump(began: number): void {
    // A handler that publishes or pauses may bring us here again; the loop below continues anyway.
    if (this.#isPumping) return;
    this.#isPumping = true;
    // Looking at the clock is not free: once for each event.
    let now = began;
    try {
      while (this.#mayTake && this.#turn.hasTime(now, this.#pumpNow)) {
        const delivery = this.feed.take(now);
        if (delivery === undefined) return;
        now = this.#handle(delivery, now);
      }
    } finally {
      this.#isPumping = false;
    }
  }

  get #mayTake(): boolean {
    const { feed } = this;
    return feed.hasWaiting && feed.running < feed.facts.concurrency && feed.ended === undefined;
  }

  /** Returns when the handler gave control back. */
  #handle(delivery: Delivery, beganAt: number): number {
    let result: PromiseLike<unknown> | undefined;
    try {
      result = promised(this.handler(delivery.event, delivery));
      if (result === undefined) this.#done(delivery);
    } catch (thrown) {
      this.#failed(delivery, thrown);
    }
    const now = nowMs();
    if (result !== undefined) this.#await(delivery, result, beganAt);
    else this.feed.worked(now - beganAt);
    return now;
  }

  #await(delivery: Delivery, result: PromiseLike<unknown>, beganAt: number): void {
    const { feed } = this;
    feed.running++;
    feed.hold(delivery);
    result.then(
      () => this.#finished(delivery, beganAt, () => this.#done(delivery)),
      (thrown: unknown) => this.#finished(delivery, beganAt, () => this.#failed(delivery, thrown)),
    );
  }

  #finished(delivery: Delivery, beganAt: number, settle: () => void): void {
    this.feed.running--;
    settle();
    this.feed.release(delivery);
    const now = nowMs();
    this.feed.worked(now - beganAt);
    if (this.connection.closing !== undefined) this.connection.gatherSoon();
    this.#pump(now);
  }

  #done(delivery: Delivery): void {
    if (delivery.isSettled || this.feed.facts.settledBy === "application" || this.feed.isTail) return;
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

/** What a handler returned, if it must be awaited. May throw: a `then` can be anything. */
function promised(result: unknown): PromiseLike<unknown> | undefined {
  if (result instanceof Promise) return result;
  if ((typeof result !== "object" && typeof result !== "function") || result === null) return undefined;
  if (typeof (result as { then?: unknown }).then !== "function") return undefined;
  // A foreign one may call back at once, twice, or throw.
  return new Promise((resolve) => resolve(result));
}
