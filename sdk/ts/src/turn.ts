/**
 * A share of one turn of the event loop.
 *
 * Handlers that compute would otherwise run one after the other in microtasks, and nothing else would: no ack would
 * leave, no lease would be renewed, no ping would be answered. Once the share is used up the rest waits for the next
 * turn, and gathered frames leave first.
 */

import { TURN_MS } from "./limits.js";
import { soon } from "./soon.js";

export class Turn {
  #beganAt: number | undefined;
  #resume: (() => void) | undefined;

  /** Whether there is time left in this turn. If not, `resume` is called in the next. */
  hasTime(now: number, resume: () => void): boolean {
    if (this.#beganAt === undefined) {
      this.#beganAt = now;
      soon(this.#end);
      return true;
    }
    if (now - this.#beganAt < TURN_MS) return true;
    this.#resume = resume;
    return false;
  }

  readonly #end = (): void => {
    const resume = this.#resume;
    this.#beganAt = this.#resume = undefined;
    resume?.();
  };
}
