/**
 * How fast to publish to a hub that said "not so fast".
 *
 * After a refusal nothing is published for as long as the hub asked for; then one event goes first, and as long as
 * events are taken twice as many follow. So a limit is neither hammered nor missed.
 */

/** A window this large holds nothing back any more. */
const WIDE = 4096;

export class Pacer {
  /** Nothing leaves before this; `undefined` when the wait is over. */
  holdUntil: number | undefined;
  /** Events that may be under way; any number unless there was a refusal lately. */
  #window = Infinity;
  #underWay = 0;

  /** How many events may leave now. */
  allowance(now: number): number {
    // What leaves from now on tells about the pace, whether or not the timer has looked.
    this.release(now);
    if (this.holdUntil !== undefined) return 0;
    return Math.max(0, this.#window - this.#underWay);
  }

  sent(events: number): void {
    this.#underWay += events;
  }

  accepted(events: number): void {
    this.failed(events);
    // What was sent before a refusal says nothing about the pace after it.
    if (this.holdUntil !== undefined || this.#window === Infinity) return;
    this.#window += events;
    if (this.#window >= WIDE) this.#window = Infinity;
  }

  /** Refused for good, and not because of the pace. */
  failed(events: number): void {
    this.#underWay = Math.max(0, this.#underWay - events);
  }

  refused(events: number, waitMs: number, now: number): void {
    this.failed(events);
    this.holdUntil = Math.max(this.holdUntil ?? 0, now + waitMs);
    this.#window = 1;
  }

  /** The wait is over. */
  release(now: number): void {
    if (this.holdUntil !== undefined && this.holdUntil <= now) this.holdUntil = undefined;
  }

  /** Nothing is under way over a connection that is gone. */
  disconnected(): void {
    this.#underWay = 0;
  }
}
