/** Frames that were sent and not answered yet, by correlation. */

import type { Pending } from "../pending.js";
import type { Waiter } from "../settle.js";
import type { SettledFrame } from "./settle.js";
import type { Kept } from "./subscriptions.js";

/** What an answer is for. */
export type Awaited =
  | { readonly for: "publish"; readonly list: readonly Pending[] }
  | { readonly for: "settle"; readonly frame: SettledFrame }
  | { readonly for: "subscribe"; readonly kept: Kept }
  | { readonly for: "unsubscribe"; readonly kept: Kept }
  | { readonly for: "switch"; readonly waiters: readonly Waiter[] }
  | { readonly for: "auth" }
  /** An AUTH that only checks whether the hub is there. */
  | { readonly for: "probe" };

/** Correlations count up, so this is in send order. */
export class Answers {
  #awaited = new Map<number, Awaited>();
  /** 0 was AUTH. */
  #nextCorr = 1;

  /** Returns the correlation to send it with. */
  expect(awaited: Awaited): number {
    this.#awaited.set(this.#nextCorr, awaited);
    return this.#nextCorr++;
  }

  take(corr: number): Awaited | undefined {
    const awaited = this.#awaited.get(corr);
    this.#awaited.delete(corr);
    return awaited;
  }

  get isEmpty(): boolean {
    return this.#awaited.size === 0;
  }

  /** Everything, in send order. */
  drain(): Awaited[] {
    const all = [...this.#awaited.values()];
    this.#awaited.clear();
    return all;
  }

  /** Gives up publishes that took too long; their entries stay for late answers. Returns the earliest remaining deadline. */
  expire(now: number, giveUp: (pending: Pending) => void): number {
    let earliest = Infinity;
    for (const awaited of this.#awaited.values()) {
      if (awaited.for !== "publish") continue;
      for (const pending of awaited.list) {
        if (pending.isOver) continue;
        if (pending.deadlineAt <= now) giveUp(pending);
        else earliest = Math.min(earliest, pending.deadlineAt);
      }
    }
    return earliest;
  }
}
