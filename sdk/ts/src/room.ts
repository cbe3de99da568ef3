/**
 * How much may wait to be published: a number of events and a size of text, then callers wait in turn.
 *
 * Promises: room is granted in the order in which it was asked for, so the order of publishing is kept; an event larger
 * than all the room gets all of it.
 */

import { PromError } from "./error.js";
import { WAITING_CALLERS } from "./limits.js";
import type { Pending } from "./pending.js";

/** A publish that waits for room, or a caller that only waits for some to be free. */
type Waiting = { readonly pending: Pending } | { readonly tell: () => void };

export class Room {
  #events = 0;
  #size = 0;
  #waiting: Waiting[] = [];
  /** Entries before this index have left. */
  #first = 0;

  constructor(
    private readonly maxEvents: number,
    private readonly maxSize: number,
    private readonly admit: (pending: Pending) => void,
  ) {}

  /** Admits it now, or when there is room. */
  enter(pending: Pending): void {
    if (this.#waitingCount === 0 && this.#fits(pending.count, pending.size)) return this.#take(pending);
    if (this.#waitingCount >= WAITING_CALLERS) {
      const message = `${WAITING_CALLERS} publishes wait for room already`;
      return pending.fail(new PromError("buffer_full", message, { stored: "no" }));
    }
    this.#waiting.push({ pending });
  }

  /** Resolves when one more event would not wait. */
  whenFree(): Promise<void> {
    if (this.#waitingCount === 0 && this.#fits(1, 0)) return Promise.resolve();
    return new Promise((tell) => this.#waiting.push({ tell }));
  }

  /** An admitted publish has ended. */
  leave(pending: Pending): void {
    this.#events -= pending.count;
    this.#size -= pending.size;
    if (this.#waitingCount > 0) this.#letIn();
  }

  /** Publishes that have waited for room too long. */
  expire(now: number, giveUp: (pending: Pending) => void): void {
    for (let at = this.#first; at < this.#waiting.length; at++) {
      const waiting = this.#waiting[at];
      if (waiting !== undefined && "pending" in waiting && waiting.pending.deadlineAt <= now) giveUp(waiting.pending);
    }
    this.#letIn();
  }

  /** The client ends: nothing waits any more. */
  drain(): Pending[] {
    const left = this.#waiting.splice(this.#first);
    this.#first = 0;
    this.#waiting = [];
    const publishes: Pending[] = [];
    for (const waiting of left) {
      if ("pending" in waiting) publishes.push(waiting.pending);
      else waiting.tell();
    }
    return publishes;
  }

  get hasWaiting(): boolean {
    return this.#waitingCount > 0;
  }

  get #waitingCount(): number {
    return this.#waiting.length - this.#first;
  }

  #fits(count: number, size: number): boolean {
    return this.#events === 0 || (this.#events + count <= this.maxEvents && this.#size + size <= this.maxSize);
  }

  #take(pending: Pending): void {
    this.#events += pending.count;
    this.#size += pending.size;
    pending.room = this;
    this.admit(pending);
  }

  #letIn(): void {
    while (this.#first < this.#waiting.length) {
      const waiting = this.#waiting[this.#first];
      if (waiting === undefined) return;
      if ("tell" in waiting) {
        if (!this.#fits(1, 0)) return;
        waiting.tell();
      } else if (!waiting.pending.isOver) {
        if (!this.#fits(waiting.pending.count, waiting.pending.size)) return;
        this.#take(waiting.pending);
      }
      this.#first++;
      if (this.#first > 1024 && this.#first * 2 > this.#waiting.length) {
        this.#waiting = this.#waiting.slice(this.#first);
        this.#first = 0;
      }
    }
    this.#waiting = [];
    this.#first = 0;
  }
}
