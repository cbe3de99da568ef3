/** Returning an event as failed: it counts as an attempt and comes again after a wait. */

import type { Delivery } from "./deliver.js";
import { invalid, reasonOf } from "./error.js";
import { checkOptions } from "./known-options.js";
import { REASON_BYTES } from "./limits.js";
import { answered } from "./settle.js";
import { cutToBytes, wellFormed } from "./text-size.js";

export interface NackOptions {
  /** Comes again after this time, instead of the group's backoff. */
  readonly delayMs?: number;
}

export function nack(delivery: Delivery, reason: unknown = "", options: NackOptions = {}): Promise<void> {
  try {
    checkOptions("a nack", options);
  } catch (error) {
    return Promise.reject(error);
  }
  const { delayMs } = options;
  if (delayMs !== undefined && !(Number.isSafeInteger(delayMs) && delayMs >= 0)) {
    return Promise.reject(invalid(`delayMs is ${delayMs}, not a whole number of milliseconds`));
  }
  delivery.isSettled = true;
  const { feed } = delivery.lot;
  const answer = answered((waiter) => feed.settlements.nack({ delivery, reason: reasonText(reason), delayMs, waiter }));
  feed.onSettled(delivery);
  return answer;
}

/** A reason longer than the hub accepts is truncated. */
export function reasonText(reason: unknown): string {
  return cutToBytes(wellFormed(reasonOf(reason)), REASON_BYTES);
}
