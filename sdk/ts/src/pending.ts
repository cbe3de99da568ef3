/** A publish that waits: for room, for its turn, or for the hub's answer. */

import { closedError, PromError } from "./error.js";
import type { Receipt } from "./event.js";
import type { Room } from "./room.js";

/** Between the payload and the id. */
export const OPTS = ',"opts":{"id":"';

export class Pending {
  /** The order in which publishes were handed over. */
  number = 0;
  /** Sent at least once: from then on it may be stored. */
  wasSent = false;
  /** Its caller has been told how it ended; a later answer is ignored. */
  isOver = false;
  /** The room that it occupies until it is over. */
  room: Room | undefined;

  /**
   * The text of a single event is `head`, `payload`, `OPTS`, its id and `tail`; they are kept apart until they go into a
   * frame, so that no strings are made in between. The text of a batch is all in `head`.
   */
  constructor(
    readonly head: string,
    readonly payload: string,
    readonly tail: string,
    readonly ids: string | readonly string[],
    readonly deadlineAt: number,
    readonly resolve: (receipt: never) => void,
    readonly reject: (error: PromError) => void,
  ) {}

  /** In UTF-16 units, as it is in a frame. */
  get size(): number {
    const { length } = this.head;
    return typeof this.ids === "string"
      ? length + this.payload.length + OPTS.length + this.ids.length + this.tail.length
      : length;
  }

  /** All of it is stored, or none. */
  get isAtomic(): boolean {
    return typeof this.ids !== "string";
  }

  get count(): number {
    return typeof this.ids === "string" ? 1 : this.ids.length;
  }

  succeed(receipts: Receipt | readonly Receipt[]): void {
    if (this.#end()) this.resolve(receipts as never);
  }

  fail(error: PromError): void {
    if (this.#end()) this.reject(error);
  }

  /** False if it had ended before. */
  #end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.room?.leave(this);
    return true;
  }

  giveUp(afterMs: number, reason: string): void {
    const stored = this.wasSent ? "unknown" : "no";
    const consequence = this.wasSent
      ? "it may be stored; publishing again with the same id is safe"
      : "nothing was stored";
    this.fail(
      new PromError("gave_up", `gave up publishing after ${afterMs} ms: ${reason}; ${consequence}`, { stored }),
    );
  }

  /** The client ends. What was sent may be stored. */
  end(reason: string): void {
    if (!this.wasSent) return this.fail(closedError(reason));
    const consequence = "it may be stored; publishing again with the same id is safe";
    this.fail(new PromError("closed", `the client is closed: ${reason}; ${consequence}`, { stored: "unknown" }));
  }
}
