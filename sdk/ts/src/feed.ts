/**
 * Between the connection and a subscription: what came and was not taken yet.
 *
 *     connection ──push──▶ queue ──take──▶ application ──hold──▶ held (handlers that run)
 *          └──────────────── renewals at half time ◀──────────────┘
 *
 * Promises: the connection never waits here, so a slow application does not hold up answers; the queue holds no more
 * than the hub's window allows, and for tails, which have none, the connection asks the hub to pause before it is too
 * much.
 */

import { nowMs } from "./clock.js";
import type { Settlements } from "./connection/settlements.js";
import { Deque } from "./deque.js";
import { Delivery, type Lot } from "./deliver.js";
import type { PromError } from "./error.js";
import type { EventEnvelope } from "./event.js";
import { LONGEST_WAIT_MS, OVERFULL, TAIL_BYTES, TAIL_EVENTS } from "./limits.js";
import { type Assignment, callOutside, type Gap } from "./state.js";

/** How full a push left the queue; `overfull`: the hub does not keep to the window. */
export type Fill = "room" | "full" | "overfull";

/** What a subscription is to the hub; without a group it is a tail. */
export interface FeedFacts {
  readonly topic: string;
  readonly group: string | undefined;
  readonly maxInFlight: number;
  readonly ackTimeoutMs: number;
  readonly onGap: ((gap: Gap) => void) | undefined;
  readonly onAssigned: ((assignment: Assignment) => void) | undefined;
  readonly onRevoked: ((assignment: Assignment) => void) | undefined;
}

export class Feed {
  /** Called when something can be taken, and when nothing more will come. */
  onArrived: () => void = () => {};
  /** Called when there is room again, and the hub waits to be told. */
  onRefill: () => void = () => {};
  /** Called when the application has settled one by itself. */
  onSettled: (delivery: Delivery) => void = () => {};
  /** Nothing more comes; with the reason where the application did not ask for it. */
  ended: { readonly error: PromError | undefined } | undefined;
  /** Handlers that have not finished, whether or not their leases live. */
  running = 0;
  readonly #queue = new Deque<Delivery>();
  #queueSize = 0;
  readonly #held = new Set<Delivery>();
  /** The hub was asked to pause because the queue is full. */
  #isThrottled = false;
  /** By topic: what this member owns, as far as it was told. */
  readonly #owned = new Map<string, Set<number>>();

  constructor(
    readonly facts: FeedFacts,
    readonly settlements: Settlements,
  ) {}

  get isTail(): boolean {
    return this.facts.group === undefined;
  }

  // What the connection does.

  push(event: EventEnvelope, attempt: number, lot: Lot): void {
    this.#queue.push(new Delivery(event, attempt, lot));
    this.#queueSize += lot.eventSize;
  }

  /** After a frame's events were pushed, and before the application takes any. */
  fill(): Fill {
    if (!this.isTail) {
      const { maxInFlight } = this.facts;
      // Leases that ran out here are free for the hub to lend again.
      if (this.#queue.length > maxInFlight) this.#dropExpired(nowMs());
      return this.#queue.length > maxInFlight * 2 ? "overfull" : "room";
    }
    const fullness = Math.max(this.#queue.length / TAIL_EVENTS, this.#queueSize / TAIL_BYTES);
    if (fullness <= 1) return "room";
    this.#isThrottled = true;
    return fullness > OVERFULL ? "overfull" : "full";
  }

  gap(gap: Gap): void {
    const { onGap } = this.facts;
    if (onGap !== undefined) callOutside(() => onGap(gap));
  }

  assigned(assignment: Assignment): void {
    const owned = this.#owned.get(assignment.topic) ?? new Set<number>();
    for (const partition of assignment.partitions) owned.add(partition);
    this.#owned.set(assignment.topic, owned);
    const { onAssigned } = this.facts;
    if (onAssigned !== undefined) callOutside(() => onAssigned(assignment));
  }

  revoked(assignment: Assignment): void {
    const owned = this.#owned.get(assignment.topic);
    for (const partition of assignment.partitions) owned?.delete(partition);
    const { onRevoked } = this.facts;
    if (onRevoked !== undefined) callOutside(() => onRevoked(assignment));
  }

  /** The connection is gone, and with it every lease and every partition. Events of a tail have no lease and stay. */
  interrupt(): void {
    this.#held.clear();
    if (!this.isTail) this.#clear();
    this.#loseAll();
  }

  #loseAll(): void {
    const lost = [...this.#owned].filter(([, partitions]) => partitions.size > 0);
    this.#owned.clear();
    for (const [topic, partitions] of lost) this.revoked({ topic, partitions: [...partitions] });
  }

  /** Nothing more comes. What was not taken is given back by the hub. */
  end(error: PromError | undefined): void {
    if (this.ended !== undefined) return;
    this.ended = { error };
    if (!this.isTail) this.#clear();
    this.#loseAll();
    this.onArrived();
  }

  /** Leases to be renewed now; renewing is taken for done. `nextAt` is when to look again. */
  takeDueRenewals(now: number): { due: Delivery[]; nextAt: number } {
    const due: Delivery[] = [];
    if (this.isTail) return { due, nextAt: Infinity };
    this.#dropExpired(now);
    const { ackTimeoutMs } = this.facts;
    // Those that are nearly due come along, so that they share a frame.
    const soon = now + ackTimeoutMs / 8;
    const renewed = new Set<Lot>();
    let nextAt = Infinity;
    const look = (delivery: Delivery, isQueued: boolean) => {
      if (delivery.isSettled) return;
      const { lot } = delivery;
      const waitsTooLong = isQueued && now - lot.cameAt > LONGEST_WAIT_MS;
      if (lot.renewAt <= soon && !waitsTooLong) {
        due.push(delivery);
        renewed.add(lot);
        nextAt = Math.min(nextAt, now + ackTimeoutMs / 2);
      } else {
        nextAt = Math.min(nextAt, waitsTooLong ? lot.deadlineAt : lot.renewAt);
      }
    };
    this.#queue.forEach((delivery) => look(delivery, true));
    this.#held.forEach((delivery) => look(delivery, false));
    for (const lot of renewed) [lot.renewAt, lot.deadlineAt] = [now + ackTimeoutMs / 2, now + ackTimeoutMs];
    return { due, nextAt };
  }

  /** The hub says that these leases have ended. */
  forget(gone: (delivery: Delivery) => boolean): void {
    this.#retain((delivery) => !gone(delivery));
    for (const delivery of this.#held) if (gone(delivery)) this.#held.delete(delivery);
  }

  // What the application does.

  get hasWaiting(): boolean {
    return this.#queue.length > 0;
  }

  /** The next event that is still lent to us. */
  take(): Delivery | undefined {
    for (;;) {
      const delivery = this.#queue.shift();
      if (delivery === undefined) return undefined;
      this.#queueSize -= delivery.lot.eventSize;
      if (this.#isThrottled) this.#refill();
      if (delivery.lot.deadlineAt > nowMs()) return delivery;
    }
  }

  #refill(): void {
    if (this.#queue.length >= TAIL_EVENTS / 4 || this.#queueSize >= TAIL_BYTES / 4) return;
    this.#isThrottled = false;
    this.onRefill();
  }

  /** Its lease is renewed until it is released. */
  hold(delivery: Delivery): void {
    // Whatever was lent over a connection that is gone is nothing to be renewed.
    if (!this.isTail && this.settlements.isLive(delivery)) this.#held.add(delivery);
  }

  release(delivery: Delivery): void {
    this.#held.delete(delivery);
  }

  #dropExpired(now: number): void {
    this.#retain((delivery) => delivery.lot.deadlineAt > now);
  }

  #retain(keeps: (delivery: Delivery) => boolean): void {
    this.#queue.retain((delivery) => {
      const stays = keeps(delivery);
      if (!stays) this.#queueSize -= delivery.lot.eventSize;
      return stays;
    });
  }

  #clear(): void {
    this.#queue.clear();
    this.#queueSize = 0;
  }
}
