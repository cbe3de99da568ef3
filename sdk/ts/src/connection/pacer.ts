/**
 * How fast to publish to a hub that refused events for their pace.
 *
 * After a refusal nothing leaves for as long as the hub asked and while anything is in flight; the hub refuses what was
 * sent after the refused event. Then one event goes first, and while events are accepted twice as many follow. So a
 * limit is neither hammered nor missed, and events stay in order.
 */

/** A window this large has no effect any more. */
const WIDE = 4096;
/** Between two notices of one slow hub. */
const TELL_EVERY_MS = 1_000;

export class Pacer {
  /** Nothing leaves before this; `undefined` when the wait is over. */
  holdUntil: number | undefined;
  /** Events that may be in flight; unlimited if the last refusal was long ago. */
  #window = Infinity;
  #underWay = 0;
  #toldAt = -Infinity;

  /** How many events may leave now. */
  allowance(now: number): number {
    // What leaves from now on counts for the pace, whether or not the timer has fired.
    this.release(now);
    return this.holdUntil === undefined ? Math.max(0, this.#window - this.#underWay) : 0;
  }

  sent(events: number): void {
    this.#underWay += events;
  }

  accepted(events: number): void {
    this.failed(events);
    // Events sent before a refusal say nothing about the pace after it.
    if (this.holdUntil !== undefined) return;
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

  /** Whether the application should hear of a refusal: not of each. */
  isToBeTold(now: number): boolean {
    if (now - this.#toldAt < TELL_EVERY_MS) return false;
    this.#toldAt = now;
    return true;
  }

  /** The wait is over. */
  release(now: number): void {
    if (this.holdUntil !== undefined && this.holdUntil <= now) this.holdUntil = undefined;
  }

  /** Nothing is in flight over a lost connection. */
  disconnected(): void {
    this.#underWay = 0;
  }
}
