/** Keeping an event for longer. */

import type { Delivery } from "./deliver.js";
import { invalid } from "./error.js";
import { answered } from "./settle.js";

export function modack(delivery: Delivery, extendMs: number): Promise<void> {
  if (!(Number.isSafeInteger(extendMs) && extendMs >= 0)) {
    return Promise.reject(invalid(`extendMs is ${extendMs}, not a whole number of milliseconds`));
  }
  const { feed } = delivery.lot;
  return answered((waiter) => feed.settlements.modack({ delivery, extendMs, waiter }));
}
