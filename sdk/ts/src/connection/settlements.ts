/**
 * Settlements that have gathered and wait to leave: acks as ranges of offsets per log, so that an ack costs next to
 * nothing; nacks and renewals one by one.
 */

import type { Delivery } from "../deliver.js";
import type { Feed } from "../feed.js";
import { leaseLost, type Waiter } from "../settle.js";

/** Acks of one partition of a topic, for one subscription. */
export interface AckLog {
  readonly feed: Feed;
  readonly topic: string;
  readonly partition: number;
  /** From, to, from, to…: both ends included, in the order in which they were acked. */
  ranges: number[];
  waiters: { readonly delivery: Delivery; readonly waiter: Waiter }[];
}

export interface Nack {
  readonly delivery: Delivery;
  readonly reason: string;
  readonly delayMs: number | undefined;
  readonly waiter: Waiter | undefined;
}

export interface Modack {
  readonly delivery: Delivery;
  readonly extendMs: number;
  readonly waiter: Waiter | undefined;
}

const GONE = "the connection that brought it has ended";

export class Settlements {
  #acks: AckLog[] = [];
  #logs = new Map<Feed, Map<string, AckLog>>();
  #lastLog: AckLog | undefined;
  #nacks: Nack[] = [];
  #modacks: Modack[] = [];
  /** The connection whose leases can be settled. */
  epoch = 0;

  /** `onGathered` is called when something waits. */
  constructor(private readonly onGathered: () => void) {}

  isLive(delivery: Delivery): boolean {
    return delivery.lot.epoch === this.epoch;
  }

  ack(delivery: Delivery, waiter: Waiter | undefined): void {
    const { event, lot } = delivery;
    if (lot.epoch !== this.epoch) return waiter?.reject(leaseLost(delivery, GONE));
    let log = this.#lastLog;
    if (log === undefined || log.feed !== lot.feed || log.topic !== event.topic || log.partition !== event.partition) {
      log = this.#logOf(lot.feed, event.topic, event.partition);
    }
    const { ranges } = log;
    const { offset } = event;
    const last = ranges.length - 1;
    if (last > 0 && ranges[last] === offset - 1) ranges[last] = offset;
    else ranges.push(offset, offset);
    if (waiter !== undefined) log.waiters.push({ delivery, waiter });
  }

  #logOf(feed: Feed, topic: string, partition: number): AckLog {
    let logs = this.#logs.get(feed);
    if (logs === undefined) this.#logs.set(feed, (logs = new Map()));
    const name = `${partition}/${topic}`;
    let log = logs.get(name);
    if (log === undefined) {
      log = { feed, topic, partition, ranges: [], waiters: [] };
      logs.set(name, log);
      this.#acks.push(log);
      this.onGathered();
    }
    this.#lastLog = log;
    return log;
  }

  nack(nack: Nack): void {
    if (!this.isLive(nack.delivery)) return nack.waiter?.reject(leaseLost(nack.delivery, GONE));
    this.#nacks.push(nack);
    this.onGathered();
  }

  modack(modack: Modack): void {
    if (!this.isLive(modack.delivery)) return modack.waiter?.reject(leaseLost(modack.delivery, GONE));
    this.#modacks.push(modack);
    this.onGathered();
  }

  get isEmpty(): boolean {
    return this.#acks.length + this.#nacks.length + this.#modacks.length === 0;
  }

  take(): { acks: AckLog[]; nacks: Nack[]; modacks: Modack[] } {
    const taken = { acks: this.#acks, nacks: this.#nacks, modacks: this.#modacks };
    [this.#acks, this.#nacks, this.#modacks, this.#lastLog] = [[], [], [], undefined];
    this.#logs.clear();
    return taken;
  }

  /** Leases end with their connection. */
  refuseAll(reason: string): void {
    const { acks, nacks, modacks } = this.take();
    for (const { waiters } of acks) refuse(waiters, reason);
    refuse(nacks, reason);
    refuse(modacks, reason);
  }
}

interface Watched {
  readonly delivery: Delivery;
  readonly waiter: Waiter | undefined;
}

export function refuse(list: readonly Watched[], reason: string): void {
  for (const { delivery, waiter } of list) waiter?.reject(leaseLost(delivery, reason));
}
