/**
 * How many events a subscriber leases at once by default: as many as its handlers run, plus what they work off in a
 * moment. Slow handlers hold no event that another subscriber could have started; fast ones never wait for the hub.
 */

import { nowMs } from "./clock.js";
import { LOOK_AHEAD_MS, MAX_IN_FLIGHT, RESIZE_AFTER_EVENTS, RESIZE_EVERY_MS, RESIZE_SELDOM_MS } from "./limits.js";

export class Window {
  size: number;
  /** Of the last events: how many, and how long their handlers took together. */
  #events = 0;
  #busyMs = 0;
  #resizeFrom = -Infinity;
  #resizeEveryMs = RESIZE_EVERY_MS;

  constructor(private readonly concurrency: number) {
    this.size = concurrency;
  }

  /** A handler has finished after this time. */
  note(tookMs: number): void {
    this.#events++;
    this.#busyMs += tookMs;
    if (this.#events < RESIZE_AFTER_EVENTS * 8) return;
    // Older times count less and less.
    this.#events /= 2;
    this.#busyMs /= 2;
  }

  /** A size that is worth asking the hub for; `waiting` events have come and were not taken. */
  better(waiting: number): number | undefined {
    if (this.#events < RESIZE_AFTER_EVENTS) return undefined;
    const wanted = this.#wanted();
    const isTooSmall = waiting === 0 && wanted >= this.size * 2;
    const isTooLarge = waiting > wanted * 4;
    if (!isTooSmall && !isTooLarge) return undefined;
    return nowMs() < this.#resizeFrom ? undefined : wanted;
  }

  resize(size: number): void {
    this.size = size;
    this.#resizeEveryMs = RESIZE_EVERY_MS;
    this.#resizeFrom = nowMs() + RESIZE_EVERY_MS;
  }

  /** It could not be changed now; the more often that happens, the less often it is tried. */
  putOff(): void {
    this.#resizeEveryMs = Math.min(this.#resizeEveryMs * 2, RESIZE_SELDOM_MS);
    this.#resizeFrom = nowMs() + this.#resizeEveryMs;
  }

  #wanted(): number {
    const perHandler = (LOOK_AHEAD_MS * this.#events) / this.#busyMs;
    const ahead = this.concurrency * Math.min(perHandler, MAX_IN_FLIGHT);
    return Math.max(this.concurrency, Math.min(MAX_IN_FLIGHT, this.concurrency + Math.floor(ahead)));
  }
}
