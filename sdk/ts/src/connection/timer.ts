/** One timer for everything: it is only ever set to an earlier time, and the callback sets it again. */

import { nowMs } from "../clock.js";
import { LONGEST_TIMER_MS } from "../limits.js";

export class Timer {
  #at = Infinity;
  #handle: ReturnType<typeof setTimeout> | undefined;
  /** By the wall clock, which continues while a machine sleeps. */
  #wallAt = 0;

  /** `onFired` gets how much too late it fires. */
  constructor(private readonly onFired: (lateMs: number) => void) {}

  wakeBy(at: number): void {
    if (at >= this.#at) return;
    this.#at = at;
    const waitMs = Math.min(Math.max(0, at - nowMs()), LONGEST_TIMER_MS);
    this.#wallAt = Date.now() + waitMs;
    clearTimeout(this.#handle);
    this.#handle = setTimeout(() => this.#fire(), waitMs);
  }

  #fire(): void {
    this.#at = Infinity;
    this.onFired(Math.max(0, Date.now() - this.#wallAt));
  }

  stop(): void {
    clearTimeout(this.#handle);
    this.#at = -Infinity;
  }
}
