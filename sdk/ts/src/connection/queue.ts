/** Publishes that wait to leave, in the order in which they were handed over. */

import { BATCH_FRAME_EVENTS } from "../limits.js";
import type { Pending } from "../pending.js";
import { Pacer } from "./pacer.js";

/** The limits of one frame. */
export interface LoadLimit {
  readonly events: number;
  readonly size: number;
}

export class PublishQueue {
  readonly pacer = new Pacer();
  #waiting: Pending[] = [];
  /** Entries before this index have left. */
  #first = 0;
  #lastNumber = 0;
  /** Nothing is given up before this. */
  lookAt = Infinity;

  add(pending: Pending): void {
    pending.number = ++this.#lastNumber;
    if (pending.deadlineAt < this.lookAt) this.lookAt = pending.deadlineAt;
    this.#waiting.push(pending);
  }

  /** They leave again before everything that was handed over after them. */
  putBack(again: readonly Pending[]): void {
    const alive = again.filter((pending) => !pending.isOver);
    if (alive.length === 0) return;
    this.#waiting = [...alive, ...this.#rest()].sort((one, other) => one.number - other.number);
    this.#first = 0;
    for (const pending of alive) this.lookAt = Math.min(this.lookAt, pending.deadlineAt);
  }

  get length(): number {
    return this.#waiting.length - this.#first;
  }

  /** The contents of one frame: an atomic batch alone, or independent publishes. */
  take(limit: LoadLimit): Pending[] {
    const waiting = this.#waiting;
    const most = Math.min(waiting.length, this.#first + Math.min(limit.events, BATCH_FRAME_EVENTS));
    let [at, size] = [this.#first, 0];
    while (at < most) {
      const next = waiting[at] as Pending;
      size += next.size + 1;
      const isAlone = next.isAtomic;
      if (at > this.#first && (isAlone || size > limit.size)) break;
      at++;
      if (isAlone) break;
    }
    const load = waiting.slice(this.#first, at);
    this.#first = at;
    if (this.#first === waiting.length) {
      waiting.length = 0;
      this.#first = 0;
    }
    return load.some(isOver) ? load.filter((pending) => !pending.isOver) : load;
  }

  /**
   * Gives up events that waited too long. The caller first does the same for those in flight, and passes their earliest
   * remaining deadline.
   */
  expire(now: number, giveUp: (pending: Pending) => void, underWayAt: number): void {
    const alive = this.#rest().filter((pending) => !pending.isOver);
    this.#waiting = alive.filter((pending) => pending.deadlineAt > now);
    this.#first = 0;
    this.lookAt = this.#waiting.reduce((at, pending) => Math.min(at, pending.deadlineAt), underWayAt);
    // Giving up makes room, which lets others in.
    for (const pending of alive) if (pending.deadlineAt <= now) giveUp(pending);
  }

  drain(): Pending[] {
    const rest = this.#rest();
    this.#waiting = [];
    this.#first = 0;
    return rest;
  }

  #rest(): Pending[] {
    return this.#waiting.slice(this.#first);
  }
}

function isOver(pending: Pending): boolean {
  return pending.isOver;
}
