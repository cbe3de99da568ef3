/**
 * How fast to publish to a hub that may have a rate limit.
 *
 * A connection starts carefully: one frame at a time, which the hub accepts or refuses as a whole. So nothing overtakes
 * a refused event, and events of one key stay in order. While frames are accepted, twice as many events follow; once
 * many were accepted in a row, frames leave without waiting. After a refusal nothing leaves for as long as the hub
 * asked, then one event goes first. With a hub that has a limit the client stays careful.
 */

/** Events of the first frame: fewer than any sensible limit. */
const FIRST = 64;
/** A window this large has no effect any more. */
const WIDE = 4096;
/** Between two notices of one slow hub. */
const TELL_EVERY_MS = 1_000;

export class Pacer {
  /** Nothing leaves before this; `undefined` when the wait is over. */
  holdUntil: number | undefined;
  /** Events that the next frame may carry; unlimited if there is no reason for care. */
  #window = FIRST;
  #underWay = 0;
  /** The hub has refused for its pace before. */
  #hasLimit = false;
  #toldAt = -Infinity;

  /** One frame at a time, taken whole or refused whole. */
  get isCareful(): boolean {
    return this.#window !== Infinity;
  }

  /** How many events may leave now. */
  allowance(now: number): number {
    // What leaves from now on counts for the pace, whether or not the timer has fired.
    this.release(now);
    if (this.holdUntil !== undefined) return 0;
    return this.isCareful && this.#underWay > 0 ? 0 : this.#window;
  }

  sent(events: number): void {
    this.#underWay += events;
  }

  accepted(events: number): void {
    this.failed(events);
    // Events sent before a refusal say nothing about the pace after it.
    if (this.holdUntil !== undefined || !this.isCareful) return;
    this.#window = Math.min(WIDE, this.#window + events);
    if (this.#window === WIDE && !this.#hasLimit) this.#window = Infinity;
  }

  /** Refused for good, and not because of the pace. */
  failed(events: number): void {
    this.#underWay = Math.max(0, this.#underWay - events);
  }

  refused(events: number, waitMs: number, now: number): void {
    this.failed(events);
    this.holdUntil = Math.max(this.holdUntil ?? 0, now + waitMs);
    this.#window = 1;
    this.#hasLimit = true;
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

  /** Nothing is in flight over a lost connection, and the next hub may have a limit. */
  disconnected(): void {
    this.#underWay = 0;
    this.#window = Math.min(this.#window, FIRST);
  }
}
