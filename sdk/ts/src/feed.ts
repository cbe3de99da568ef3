/**
 * Between the connection and a subscription: what came and was not taken yet.
 *
 *     connection ──push──▶ queue ──take──▶ application ──hold──▶ held (handlers that run)
 *          └──────────────── renewals at half time ◀──────────────┘
 *
 * Promises: the connection never waits here, so a slow application does not delay answers; the queue holds no more than
 * the hub's window allows, and for tails, which have none, the connection asks the hub to pause before the queue is too
 * long.
 */

import { nowMs } from "./clock.js";
import type { Settlements } from "./connection/settlements.js";
import { Deque } from "./deque.js";
import { Delivery, type Lot } from "./deliver.js";
import type { PromError } from "./error.js";
import type { EventEnvelope } from "./event.js";
import * as limits from "./limits.js";
import { Resizing, type ResizeSteps } from "./resize.js";
import { type Assignment, callOutside, type Gap, type Thinned } from "./state.js";
import type { Window } from "./window.js";

/** How full a push left the queue; `overfull`: the hub does not respect the window. */
export type Fill = "room" | "full" | "overfull";

/** How the hub knows a subscription; without a group it is a tail. */
export interface FeedFacts {
  readonly topic: string;
  readonly group: string | undefined;
  /** The application's number, or one that follows its handlers. */
  readonly window: number | Window;
  readonly ackTimeoutMs: number;
  /** Handlers that run at the same time. */
  readonly concurrency: number;
  /** Who settles: `client` renews while a handler runs, so leases need not be short. */
  readonly settledBy: "client" | "application";
  readonly giveBackAfterMs: number;
  readonly onGap: ((gap: Gap) => void) | undefined;
  readonly onThinned: ((counts: Thinned) => void) | undefined;
  readonly onAssigned: ((assignment: Assignment) => void) | undefined;
  readonly onRevoked: ((assignment: Assignment) => void) | undefined;
}

/** A lease, and how long it should last from now on. */
export interface Renewal {
  readonly delivery: Delivery;
  readonly extendMs: number;
}

export class Feed {
  /** Called when something can be taken, and when nothing more will come. */
  onArrived: () => void = () => {};
  /** Called when there is room again and the hub must be told. */
  onRefill: () => void = () => {};
  /** Called when the application wants events of a resting subscription. */
  onWanted: () => void = () => {};
  /** Called when the application has settled one itself. */
  onSettled: (delivery: Delivery) => void = () => {};
  /** Nothing more comes; with the reason if the application did not ask for it. */
  ended: { readonly error: PromError | undefined } | undefined;
  /** Handlers that have not finished, whether or not their leases are live. */
  running = 0;
  readonly #queue = new Deque<Delivery>();
  #queueSize = 0;
  readonly #held = new Set<Delivery>();
  #resizing: Resizing | undefined;
  /** When something was last asked for. */
  #takenAt = -Infinity;
  /** The hub was asked to pause because the queue is full. */
  #isThrottled = false;
  /** The partitions this member owns, by topic, as far as it was told. */
  readonly #owned = new Map<string, Set<number>>();

  constructor(
    readonly facts: FeedFacts,
    readonly settlements: Settlements,
  ) {}

  get isTail(): boolean {
    return this.facts.group === undefined;
  }

  /** Events that the hub may lease to this subscriber at once. */
  get maxInFlight(): number {
    const { window } = this.facts;
    return typeof window === "number" ? window : window.size;
  }

  /** The lease of waiting events. */
  get waitingLeaseMs(): number {
    const { ackTimeoutMs, settledBy } = this.facts;
    return settledBy === "client" ? Math.max(ackTimeoutMs, limits.WAITING_LEASE_MS) : ackTimeoutMs;
  }

  // What the connection does.

  push(event: EventEnvelope, attempt: number, lot: Lot): void {
    this.#queue.push(new Delivery(event, attempt, lot));
    this.#queueSize += lot.eventSize;
  }

  /** After a frame's events were pushed, and before the application takes any. */
  fill(): Fill {
    if (!this.isTail) {
      // The hub may lease events again whose leases expired here.
      if (this.#queue.length > this.maxInFlight) this.#dropExpired(nowMs());
      const most = typeof this.facts.window === "number" ? this.facts.window : limits.MAX_IN_FLIGHT;
      return this.#queue.length > Math.max(most, this.maxInFlight) * 2 ? "overfull" : "room";
    }
    const fullness = Math.max(this.#queue.length / limits.TAIL_EVENTS, this.#queueSize / limits.TAIL_BYTES);
    if (fullness <= 1) return "room";
    this.#isThrottled = true;
    return fullness > limits.OVERFULL ? "overfull" : "full";
  }

  gap(gap: Gap): void {
    const { onGap } = this.facts;
    if (onGap !== undefined) callOutside(() => onGap(gap));
  }

  thinned(counts: Thinned): void {
    const { onThinned } = this.facts;
    if (onThinned !== undefined) callOutside(() => onThinned(counts));
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
    this.#resizing?.stop();
    this.#loseAll();
  }

  /** The client subscribes again: waiting events were returned. */
  renewed(): void {
    this.#clear();
    this.#resizing?.stop();
  }

  /** Lets the window follow the speed of handlers, if the application did not set its size. */
  followHandlers(steps: ResizeSteps): void {
    const { window } = this.facts;
    if (typeof window === "number" || this.isTail) return;
    const inHand = () => ({ waiting: this.#queue.length, running: this.running });
    this.#resizing = new Resizing(window, steps, inHand);
  }

  #loseAll(): void {
    const lost = [...this.#owned].filter(([, partitions]) => partitions.size > 0);
    this.#owned.clear();
    for (const [topic, partitions] of lost) this.revoked({ topic, partitions: [...partitions] });
  }

  /** Nothing more comes. The hub takes back what was not taken. */
  end(error: PromError | undefined): void {
    if (this.ended !== undefined) return;
    this.ended = { error };
    if (!this.isTail) this.#clear();
    this.#resizing?.stop();
    this.#loseAll();
    this.onArrived();
  }

  /**
   * Leases to renew now; they count as renewed. Waiting deliveries are renewed too: they cost no attempt. `nextAt` is
   * when to check again.
   */
  takeDueRenewals(now: number): { due: Renewal[]; nextAt: number } {
    const due: Renewal[] = [];
    if (this.isTail) return { due, nextAt: Infinity };
    this.#dropExpired(now);
    const { ackTimeoutMs } = this.facts;
    const { waitingLeaseMs } = this;
    // Those that are nearly due come along, so that they share a frame.
    const soon = now + ackTimeoutMs / 8;
    const [begun, waiting] = [new Set<Lot>(), new Set<Lot>()];
    let nextAt = Infinity;
    const look = (delivery: Delivery, dueAt: number, extendMs: number, renewed: Set<Lot>) => {
      if (delivery.isSettled) return;
      if (dueAt > soon) return void (nextAt = Math.min(nextAt, dueAt));
      due.push({ delivery, extendMs });
      renewed.add(delivery.lot);
      nextAt = Math.min(nextAt, now + extendMs / 2);
    };
    this.#queue.forEach((delivery) =>
      look(delivery, delivery.lot.deadlineAt - waitingLeaseMs / 2, waitingLeaseMs, waiting),
    );
    this.#held.forEach((delivery) => look(delivery, delivery.lot.renewAt, ackTimeoutMs, begun));
    for (const lot of begun) lot.renewAt = now + ackTimeoutMs / 2;
    for (const lot of waiting) lot.deadlineAt = now + waitingLeaseMs;
    return { due, nextAt };
  }

  /** No loop has asked for the waiting events for so long that others should get them. */
  isAbandoned(now: number): boolean {
    const waiting = this.#queue.first;
    if (waiting === undefined || this.running > 0 || this.#held.size > 0) return false;
    return now - Math.max(waiting.lot.cameAt, this.#takenAt) >= this.facts.giveBackAfterMs;
  }

  /** Extends the leases of events that are not taken at once. Returns what the hub must be told before handlers start. */
  leaseWaiting(lot: Lot): Renewal[] {
    const extendMs = this.waitingLeaseMs;
    const isLongEnough = Math.max(lot.ackDeadlineMs, this.facts.ackTimeoutMs) >= extendMs;
    const areTakenAtOnce = this.#queue.length + this.running <= this.facts.concurrency;
    if (isLongEnough || areTakenAtOnce) return [];
    const due: Renewal[] = [];
    this.#queue.forEach((delivery) => {
      if (delivery.lot === lot) due.push({ delivery, extendMs });
    });
    lot.deadlineAt = lot.cameAt + extendMs;
    return due;
  }

  /** The hub says that these leases have ended. */
  forget(gone: (delivery: Delivery) => boolean): void {
    this.#retain((delivery) => !gone(delivery));
    for (const delivery of this.#held) if (gone(delivery)) this.#held.delete(delivery);
  }

  // What the application does.

  /** Something can be taken now. */
  get hasWaiting(): boolean {
    return this.#queue.length > 0;
  }

  /** A handler has finished after this time; `running` says how many still run. */
  worked(tookMs: number): void {
    if (this.ended === undefined) this.#resizing?.worked(tookMs);
  }

  /** The next event that is still leased to us. */
  take(now: number): Delivery | undefined {
    this.#takenAt = now;
    for (;;) {
      const delivery = this.#queue.shift();
      if (delivery === undefined) return undefined;
      this.#queueSize -= delivery.lot.eventSize;
      if (this.#isThrottled) this.#refill();
      if (delivery.lot.deadlineAt > now) return delivery;
    }
  }

  #refill(): void {
    if (this.#queue.length >= limits.TAIL_EVENTS / 4 || this.#queueSize >= limits.TAIL_BYTES / 4) return;
    this.#isThrottled = false;
    this.onRefill();
  }

  /** Its lease is renewed until it is released. */
  hold(delivery: Delivery): void {
    // A lease of a lost connection cannot be renewed.
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
