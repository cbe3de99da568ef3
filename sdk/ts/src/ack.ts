/** Settling an event for good. */

import type { Delivery } from "./deliver.js";
import { answered } from "./settle.js";

export function ack(delivery: Delivery): Promise<void> {
  delivery.isSettled = true;
  const { feed } = delivery.lot;
  const answer = answered((waiter) => feed.settlements.ack(delivery, waiter));
  feed.onSettled(delivery);
  return answer;
}
