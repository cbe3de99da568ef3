/** What ack, nack and modack have in common: somebody may wait for the hub's answer. */

import type { Delivery } from "./deliver.js";
import { PromError } from "./error.js";

/** Hears how a settlement ended. */
export interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: PromError) => void;
}

/**
 * A promise for the answer. Nobody has to look at it: an event whose lease is lost comes again by itself, so a
 * rejection that nobody handles must not end a program.
 */
export function answered(settle: (waiter: Waiter) => void): Promise<void> {
  const promise = new Promise<void>((resolve, reject) => settle({ resolve, reject }));
  promise.catch(() => {});
  return promise;
}

export function leaseLost(delivery: Delivery, reason: string): PromError {
  const { topic, offset } = delivery.event;
  return new PromError("lease_lost", `offset ${offset} of ${topic} is no longer lent to this client: ${reason}`);
}
