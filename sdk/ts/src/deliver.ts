/** A delivery: an event leased to this client, to be settled before its deadline. */

import { ack } from "./ack.js";
import type { EventEnvelope } from "./event.js";
import type { Feed } from "./feed.js";
import { modack } from "./modack.js";
import { nack, type NackOptions } from "./nack.js";

/** What came in one frame, and what its events have in common. */
export interface Lot {
  readonly feed: Feed;
  /** The connection that brought it: its leases end with it. */
  readonly epoch: number;
  readonly maxAttempts: number;
  readonly ackDeadlineMs: number;
  readonly cameAt: number;
  /** The approximate text size of one of its events. */
  readonly eventSize: number;
  /** When the leases of events in handlers are due for renewal. */
  renewAt: number;
  /** When the leases of waiting events end. */
  deadlineAt: number;
}

/**
 * An event with its lease. A settlement is sent at once, and its promise resolves when the hub has answered: an ack is
 * then as durable as a publish. It rejects with `lease_lost` if the event is no longer leased to this client. It is safe
 * to ignore the promise.
 *
 * Dropping it settles nothing: the lease expires and counts as a failed attempt. When the connection ends, so do its
 * leases: the hub delivers their events again.
 */
export class Delivery<Event = EventEnvelope> {
  /** @internal It has been settled. */
  isSettled = false;

  constructor(
    readonly event: Event,
    /** 1 at the first delivery, one more after each failed attempt. */
    readonly attempt: number,
    /** @internal */
    readonly lot: Lot,
  ) {}

  /** The attempt after which the event goes to the dead letters. */
  get maxAttempts(): number {
    return this.lot.maxAttempts;
  }

  /** The remaining time of the lease when the hub sent it. */
  get ack_deadline_ms(): number {
    return this.lot.ackDeadlineMs;
  }

  /** Settles the event for good. */
  ack(): Promise<void> {
    return ack(this as Delivery);
  }

  /**
   * Failed, for this reason: comes again after the group's backoff, or after `delayMs`. At the limit it goes to the
   * dead letters.
   */
  nack(reason?: unknown, options?: NackOptions): Promise<void> {
    return nack(this as Delivery, reason, options);
  }

  /** Moves the deadline to this many milliseconds from now. While a handler runs the client does so by itself. */
  modack(extendMs: number): Promise<void> {
    return modack(this as Delivery, extendMs);
  }
}
