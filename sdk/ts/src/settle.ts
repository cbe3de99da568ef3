/** What ack, nack and modack have in common: a caller may wait for the hub's answer. */

import type { Delivery } from "./deliver.js";
import { PromError } from "./error.js";

/** Is told how a settlement ended. */
export interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: PromError) => void;
}

/**
 * A promise for the answer. It may be ignored: an event whose lease is lost comes again by itself, so an unhandled
 * rejection must not end a program.
 */
export function answered(settle: (waiter: Waiter) => void): Promise<void> {
  const promise = new Promise<void>((resolve, reject) => settle({ resolve, reject }));
  promise.catch(() => {});
  return promise;
}

export function leaseLost(delivery: Delivery, reason: string): PromError {
  const { topic, offset } = delivery.event;
  return new PromError("lease_lost", `offset ${offset} of ${topic} is no longer leased to this client: ${reason}`);
}
