/**
 * The subscriptions of a client, across connections: what the application wants, and what the hub was told.
 *
 * A call of the application changes what is wanted and marks the subscription as due; a session writes the frames that
 * bring the hub to that state. Without a connection nothing is written, and everything is due at the next.
 */

import { closedError, PromError } from "../error.js";
import type { Feed } from "../feed.js";
import type { ResizeSteps } from "../resize.js";
import type { Waiter } from "../settle.js";
import { Progress } from "./resume.js";

/**
 * `waiting`: the hub does not know it; `asked`: SUBSCRIBE was sent; `leaving`: UNSUBSCRIBE must be sent; `left`: it was
 * sent; `resting`: returned to the hub until the application asks for more.
 */
export type Phase = "waiting" | "asked" | "live" | "leaving" | "left" | "resting";

/** The options, as in the frame. */
export type WireOptions = Readonly<Record<string, unknown>>;

export class Kept {
  phase: Phase = "waiting";
  /** What follows leaving, if the application did not end it: subscribe again now, or when more is wanted. */
  afterLeaving: "waiting" | "resting" | undefined;
  isPausedByUser = false;
  /** It is about to be asked for with another window. */
  isResizing = false;
  /** The queue of a tail is full. */
  isThrottled = false;
  toldPaused = false;
  switching: Waiter[] = [];
  ending: Waiter[] = [];
  /** Takes the name over when this one has ended. */
  successor: Kept | undefined;
  /** Unanswered settlements. */
  settling = 0;
  /** Not asked for again before this; `Infinity` if the hub did not refuse it. */
  retryAt = Infinity;
  readonly progress: Progress | undefined;

  constructor(
    readonly feed: Feed,
    readonly options: WireOptions,
    /** Waits for the first agreement of the hub. */
    public starting: Waiter | undefined,
  ) {
    this.progress = feed.isTail ? new Progress() : undefined;
  }

  /** Ended by the application, and none of its settlements is unanswered: ending takes leases away. */
  get mayLeave(): boolean {
    return this.phase === "leaving" && this.settling === 0;
  }

  /** The application has ended it. */
  get isEnding(): boolean {
    return (this.phase === "leaving" || this.phase === "left") && this.afterLeaving === undefined;
  }

  get wantsPause(): boolean {
    return this.isPausedByUser || this.isThrottled || this.isResizing;
  }

  /** Events that arrive before it has left still belong to it: leaving waits then. */
  stay(): void {
    if (this.phase !== "leaving" || this.afterLeaving !== "waiting") return;
    this.phase = "live";
    this.afterLeaving = undefined;
  }

  /** Arriving events belong to it. */
  get isFed(): boolean {
    return this.phase === "asked" || this.phase === "live";
  }

  /** The options for the next SUBSCRIBE: a tail continues where it was, a group's window may have changed. */
  optionsNow(): WireOptions {
    if (this.progress === undefined) return { ...this.#ofGroup(), maxInFlight: this.feed.maxInFlight };
    const began =
      this.options["from"] === undefined || this.options["from"] === "latest" ? "at the end" : "with history";
    const ts = this.progress?.resumeAt(began);
    if (ts === undefined) return this.options;
    const { afterId: _afterId, offset: _offset, ...rest } = this.options;
    return { ...rest, from: "ts", ts };
  }

  /** The group may have been changed since; a subscriber that comes back accepts its options. */
  #ofGroup(): WireOptions {
    if (this.afterLeaving === undefined) return this.options;
    const {
      maxAttempts: _maxAttempts,
      backoff: _backoff,
      park: _park,
      expireAfter: _expireAfter,
      ...rest
    } = this.options;
    return rest;
  }
}

export class Subscriptions {
  readonly #byName = new Map<string, Kept>();
  readonly #byFeed = new Map<Feed, Kept>();
  #due = new Set<Kept>();
  /** No lease is due for renewal before this. */
  renewAt = Infinity;
  /** No subscription is asked for again before this. */
  retryAt = Infinity;

  /** `onDue` is called when something must be written. */
  constructor(private readonly onDue: () => void) {}

  get(topic: string, group: string | undefined): Kept | undefined {
    return this.#byName.get(nameOf(topic, group));
  }

  of(feed: Feed): Kept | undefined {
    return this.#byFeed.get(feed);
  }

  all(): Kept[] {
    return [...this.#byName.values()];
  }

  get size(): number {
    return this.#byName.size;
  }

  takeDue(): Set<Kept> {
    const due = this.#due;
    this.#due = new Set();
    return due;
  }

  markDue(kept: Kept): void {
    this.#due.add(kept);
    this.onDue();
  }

  markAllDue(): void {
    for (const kept of this.#byName.values()) this.markDue(kept);
  }

  // What the application wants.

  subscribe(wish: Kept): void {
    const { topic, group } = wish.feed.facts;
    const kept = this.get(topic, group);
    if (kept === undefined) this.#add(wish);
    else if (kept.isEnding && kept.successor === undefined) kept.successor = wish;
    else wish.starting?.reject(new PromError("already_subscribed", "this client has this subscription already"));
  }

  #add(kept: Kept): void {
    this.#byName.set(nameOf(kept.feed.facts.topic, kept.feed.facts.group), kept);
    this.#byFeed.set(kept.feed, kept);
    this.markDue(kept);
  }

  unsubscribe(feed: Feed, waiter: Waiter): void {
    const current = this.get(feed.facts.topic, feed.facts.group);
    feed.end(undefined);
    if (current?.successor?.feed === feed) {
      current.successor.starting?.reject(closedError("the subscription was ended"));
      current.successor = undefined;
      return waiter.resolve();
    }
    if (current === undefined || current.feed !== feed) return waiter.resolve();
    current.ending.push(waiter);
    current.afterLeaving = undefined;
    if (current.phase === "waiting" || current.phase === "resting") this.remove(current);
    else if (current.isFed) {
      current.phase = "leaving";
      this.markDue(current);
    }
  }

  pause(feed: Feed, wanted: "pause" | "resume", waiter: Waiter): void {
    const kept = this.of(feed);
    if (kept === undefined) return waiter.reject(new PromError("not_subscribed", "this subscription has ended"));
    kept.isPausedByUser = wanted === "pause";
    // If the hub's state already fits, or is sent with the subscription, there is nothing to wait for.
    if (!kept.isFed || kept.wantsPause === kept.toldPaused) return waiter.resolve();
    kept.switching.push(waiter);
    this.markDue(kept);
  }

  /** The steps to another window. */
  resizing(feed: Feed): ResizeSteps {
    const setPaused = (isResizing: boolean, waiter?: Waiter) => {
      const kept = this.of(feed);
      if (kept === undefined) return;
      kept.isResizing = isResizing;
      if (waiter !== undefined) kept.switching.push(waiter);
      this.markDue(kept);
    };
    return {
      pause: (then) => setPaused(true, { resolve: then, reject: () => setPaused(false) }),
      resume: () => setPaused(false),
      renew: () => this.#leaveFor(feed, "waiting"),
    };
  }

  /** Returns all waiting events, until the application asks for more. */
  giveBack(feed: Feed): void {
    this.#leaveFor(feed, "resting");
  }

  /** The application asks for more. */
  want(feed: Feed): void {
    const kept = this.of(feed);
    if (kept?.afterLeaving === "resting") kept.afterLeaving = "waiting";
    if (kept?.phase !== "resting") return;
    kept.phase = "waiting";
    this.markDue(kept);
  }

  #leaveFor(feed: Feed, afterLeaving: "waiting" | "resting"): void {
    const kept = this.of(feed);
    if (kept?.phase !== "live") return;
    kept.phase = "leaving";
    kept.afterLeaving = afterLeaving;
    this.markDue(kept);
  }

  throttle(feed: Feed, isThrottled: boolean): void {
    const kept = this.of(feed);
    if (kept === undefined || kept.isThrottled === isThrottled) return;
    kept.isThrottled = isThrottled;
    this.markDue(kept);
  }

  /** The client closes: none of them accepts anything more. */
  endAll(): void {
    for (const kept of this.#byName.values()) {
      kept.feed.end(undefined);
      kept.isPausedByUser = true;
    }
    this.markAllDue();
  }

  // What happens.

  settling(feed: Feed, change: number): void {
    const kept = this.of(feed);
    if (kept === undefined) return;
    kept.settling = Math.max(0, kept.settling + change);
    if (kept.mayLeave) this.markDue(kept);
  }

  /** The hub could not serve it: it is asked for again later. */
  retryLater(kept: Kept, at: number): void {
    kept.phase = "waiting";
    kept.toldPaused = kept.isResizing = false;
    kept.retryAt = at;
    kept.feed.interrupt();
    this.retryAt = Math.min(this.retryAt, at);
  }

  /** Asks again for those that are due. */
  retryDue(now: number): void {
    if (this.retryAt > now) return;
    this.retryAt = Infinity;
    for (const kept of this.#byName.values()) {
      if (kept.retryAt <= now) {
        kept.retryAt = Infinity;
        this.markDue(kept);
      }
      this.retryAt = Math.min(this.retryAt, kept.retryAt);
    }
  }

  /** The hub has taken back the unsettled events. */
  left(kept: Kept): void {
    if (kept.afterLeaving === undefined) return this.remove(kept);
    kept.phase = kept.afterLeaving;
    kept.toldPaused = kept.isResizing = false;
    kept.feed.renewed();
    this.markDue(kept);
  }

  /** It has ended, as the application wanted. The next one gets the name. */
  remove(kept: Kept): void {
    if (this.#byFeed.get(kept.feed) !== kept) return;
    this.#byFeed.delete(kept.feed);
    this.#byName.delete(nameOf(kept.feed.facts.topic, kept.feed.facts.group));
    this.#due.delete(kept);
    for (const waiter of [...kept.ending, ...kept.switching]) waiter.resolve();
    kept.starting?.reject(closedError("the subscription was ended"));
    if (kept.successor !== undefined) this.subscribe(kept.successor);
  }

  /** It has ended, and not because the application wanted it. */
  fail(kept: Kept, error: PromError): void {
    kept.feed.end(error);
    kept.starting?.reject(error);
    kept.starting = undefined;
    this.remove(kept);
  }

  /** The connection is gone: the hub knows none of them any more. */
  disconnected(): void {
    this.renewAt = this.retryAt = Infinity;
    for (const kept of this.all()) {
      kept.feed.interrupt();
      kept.toldPaused = kept.isResizing = false;
      kept.settling = 0;
      kept.retryAt = Infinity;
      for (const waiter of kept.switching.splice(0)) waiter.resolve();
      if (kept.isEnding) this.remove(kept);
      else if (kept.phase !== "resting") kept.phase = kept.afterLeaving ?? "waiting";
      kept.afterLeaving = undefined;
    }
    this.markAllDue();
  }

  /** Handlers that have not finished. */
  get running(): number {
    return this.all().reduce((count, kept) => count + kept.feed.running, 0);
  }

  /** The client has ended. */
  close(failure: PromError | undefined, told: PromError): void {
    for (const kept of this.all()) {
      kept.feed.interrupt();
      kept.feed.end(failure);
      kept.starting?.reject(told);
      for (const waiter of [...kept.ending, ...kept.switching]) waiter.resolve();
      kept.successor?.feed.end(failure);
      kept.successor?.starting?.reject(told);
    }
    this.#byName.clear();
    this.#byFeed.clear();
    this.#due.clear();
  }
}

function nameOf(topic: string, group: string | undefined): string {
  return `${topic}\n${group ?? ""}`;
}
