/**
 * The connection: everything that waits, and the one current session.
 *
 *     idle ──▶ dial ──▶ session ──lost──▶ wait ──▶ dial ──▶ …
 *                │ ▲                        unanswered events are sent again, with the same ids
 *     verbs ─────┘ └─ answers, events
 *
 * Promises: every call is eventually told its outcome; unanswered events of a broken connection go over the next one;
 * nothing waits forever.
 */

import { nowMs } from "../clock.js";
import { closedError, PromError } from "../error.js";
import { IdMaker } from "../event-id.js";
import { CLOSE_TIMEOUT_MS, SLEPT_MS, STABLE_AFTER_MS, TOKEN_TRIES } from "../limits.js";
import type { Settings } from "../options.js";
import type { Pending } from "../pending.js";
import { Room } from "../room.js";
import type { Waiter } from "../settle.js";
import { soon } from "../soon.js";
import { Teller } from "../state.js";
import type { TokenSource } from "../token.js";
import type { Transport } from "../transport/transport.js";
import { Backoff } from "./backoff.js";
import { type DialFailure, Dialing, type DialOutcome, type Link } from "./dial.js";
import { PublishQueue } from "./queue.js";
import { Session, type SessionEnd } from "./session.js";
import { Settlements } from "./settlements.js";
import { Subscriptions } from "./subscriptions.js";
import { Timer } from "./timer.js";
import { watchWaking } from "./wake.js";

/** The application wants to close. */
interface Closing {
  readonly deadlineAt: number;
  readonly waiters: Waiter[];
}

export class Connection {
  readonly teller = new Teller();
  readonly ids = new IdMaker();
  readonly publishes = new PublishQueue();
  readonly subscriptions = new Subscriptions(() => this.gatherSoon());
  readonly settlements = new Settlements(() => this.gatherSoon());
  readonly room: Room;
  closing: Closing | undefined;
  /** Why nothing more can be done. */
  ended: PromError | undefined;
  #session: Session | undefined;
  #dialing: Dialing | undefined;
  /** When to dial again. */
  #dialAt = Infinity;
  #refusedTokens = 0;
  #wasConnected = false;
  #resentEvents = 0;
  /** Callers that wait for the current attempt. */
  #connecting: Waiter[] = [];
  #isGatheringSoon = false;
  readonly #backoff: Backoff;
  readonly #timer = new Timer((lateMs) => this.#tend(lateMs));
  readonly #stopWatching: () => void;

  constructor(
    readonly url: string,
    readonly token: TokenSource,
    readonly settings: Settings,
    readonly transport: Transport,
  ) {
    this.room = new Room(settings.maxPendingEvents, settings.maxPendingBytes, (pending) => this.#admitted(pending));
    this.#backoff = new Backoff(settings.backoffFirstMs, settings.backoffMaxMs);
    this.#stopWatching = watchWaking(() => this.wake());
  }

  // What the application wants.

  /** Resolves when connected; rejects if the current attempt, or one started now, fails. */
  connect(): Promise<void> {
    if (this.ended !== undefined) return Promise.reject(this.ended);
    if (this.#session !== undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#connecting.push({ resolve, reject });
      this.#dialNow();
    });
  }

  /** Connects in the background, unless that has begun. */
  start(): void {
    if (this.teller.state === "idle") this.#dialNow();
  }

  publishDeadline(): number {
    // Small integers cost no extra memory.
    return Math.ceil(nowMs()) + this.settings.giveUpAfterMs;
  }

  publish(pending: Pending): void {
    const over = this.refusal();
    if (over !== undefined) return pending.fail(over);
    this.room.enter(pending);
    this.start();
  }

  #admitted(pending: Pending): void {
    this.publishes.add(pending);
    this.wakeBy(pending.deadlineAt);
    this.gatherSoon();
  }

  /** Why nothing new is accepted, if so. */
  refusal(): PromError | undefined {
    return this.ended ?? (this.closing === undefined ? undefined : closedError("it was asked to close"));
  }

  close(): Promise<void> {
    if (this.ended !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const waiter = { resolve, reject: () => resolve() };
      if (this.closing !== undefined) return this.closing.waiters.push(waiter);
      this.closing = { deadlineAt: nowMs() + this.settings.drainTimeoutMs, waiters: [waiter] };
      this.subscriptions.endAll();
      this.wakeBy(this.closing.deadlineAt);
      return this.gatherSoon();
    });
  }

  /** Something may have happened unnoticed: checks whether the hub is still there. */
  wake(): void {
    if (this.#session !== undefined) this.#session.probe();
    else if (this.#dialAt < Infinity) this.#dialNow();
  }

  // Gathering and time.

  gatherSoon(): void {
    if (this.#isGatheringSoon) return;
    this.#isGatheringSoon = true;
    soon(this.#gather);
  }

  readonly #gather = (): void => {
    this.#isGatheringSoon = false;
    if (this.ended !== undefined) return;
    if (this.#session === undefined) this.settlements.refuseAll("there is no connection to the hub");
    else this.#session.gather();
    if (this.closing !== undefined) this.#endIfDone(nowMs());
  };

  wakeBy(at: number): void {
    this.#timer.wakeBy(at);
  }

  #tend(lateMs: number): void {
    const now = nowMs();
    if (this.publishes.lookAt <= now) this.#expire(now);
    if (this.#dialAt <= now) this.#dialNow();
    if (this.#dialAt < Infinity && lateMs > SLEPT_MS) this.wake();
    this.#session?.tend(now, lateMs > SLEPT_MS ? "late" : "punctual");
    if (this.closing !== undefined) this.#endIfDone(now);
    if (this.ended !== undefined) return;
    const sessionAt = this.#session?.wakeAt() ?? Infinity;
    this.wakeBy(Math.min(sessionAt, this.publishes.lookAt, this.#dialAt, this.closing?.deadlineAt ?? Infinity));
  }

  #expire(now: number): void {
    const reason = this.#session === undefined ? "there is no connection to the hub" : "the hub has not answered";
    const giveUp = (pending: Pending) => pending.giveUp(this.settings.giveUpAfterMs, reason);
    const underWayAt = this.#session?.expire(now, giveUp) ?? Infinity;
    this.publishes.expire(now, giveUp, underWayAt);
    this.room.expire(now, giveUp);
  }

  // Connections come and go.

  #dialNow(): void {
    this.#dialAt = Infinity;
    if (this.#dialing !== undefined || this.#session !== undefined || this.ended !== undefined) return;
    this.teller.state = "connecting";
    this.#dialing = new Dialing(this, (outcome) => this.#dialed(outcome));
  }

  #dialed(outcome: DialOutcome): void {
    this.#dialing = undefined;
    if ("link" in outcome) this.#connected(outcome.link);
    else this.#notConnected(outcome.failure);
  }

  #connected(link: Link): void {
    this.#refusedTokens = 0;
    this.settlements.epoch++;
    this.#session = new Session(this, link, this.settlements.epoch);
    this.teller.state = "connected";
    this.teller.tell({
      type: "connected",
      hub: link.welcome.hub ?? "",
      connection: link.welcome.connection ?? "",
      isReconnect: this.#wasConnected,
      resentEvents: this.#resentEvents,
      resubscribing: this.subscriptions.all().filter((kept) => kept.starting === undefined).length,
    });
    this.#wasConnected = true;
    this.#resentEvents = 0;
    for (const waiter of this.#connecting.splice(0)) waiter.resolve();
    this.subscriptions.markAllDue();
    this.gatherSoon();
  }

  #notConnected({ kind, error }: DialFailure): void {
    if (kind === "token" && error.code !== "token_failed") this.#refusedTokens++;
    const isHopeless = kind === "token" && (!this.token.canRefresh || this.#refusedTokens >= TOKEN_TRIES);
    const waiters = this.#connecting.splice(0);
    // A caller that only connects may try again; pending work must be told.
    const hasWork =
      this.publishes.length > 0 || this.room.hasWaiting || this.subscriptions.size > 0 || this.#wasConnected;
    for (const waiter of waiters) waiter.reject(error);
    if (!hasWork) return void (this.teller.state = "idle");
    if (kind === "refused" || isHopeless) return this.end(error);
    if (error.code === "token_failed") this.teller.tell({ type: "token_failed", reason: error.message });
    const waitMs = this.#backoff.waitMs();
    this.teller.tell({ type: "not_connected", reason: error.message, retryInMs: waitMs });
    this.#dialIn(waitMs);
  }

  #dialIn(waitMs: number): void {
    this.teller.state = "connecting";
    this.#dialAt = nowMs() + waitMs;
    this.wakeBy(this.#dialAt);
    if (this.closing !== undefined) this.gatherSoon();
  }

  sessionEnded(end: SessionEnd, again: readonly Pending[]): void {
    const session = this.#session;
    this.#session = undefined;
    this.settlements.epoch++;
    this.settlements.refuseAll("the connection that brought it has ended");
    this.subscriptions.disconnected();
    this.publishes.pacer.disconnected();
    this.publishes.putBack(again);
    this.#resentEvents += end.unansweredEvents;
    if (this.ended !== undefined || session === undefined) return;
    this.teller.state = "connecting";
    const { reason, code, unansweredEvents } = end;
    this.teller.tell({ type: "disconnected", reason, code, unansweredEvents });
    if (end.stop !== undefined) return this.end(end.stop);
    if (nowMs() - session.beganAt >= STABLE_AFTER_MS) this.#backoff.reset();
    this.#dialIn(this.#backoff.waitMs());
  }

  // The end.

  #endIfDone(now: number): void {
    const { closing } = this;
    if (closing === undefined || this.ended !== undefined) return;
    const isQuiet = this.subscriptions.running === 0 && (this.#session?.isIdle ?? this.publishes.length === 0);
    if (isQuiet || closing.deadlineAt <= now) this.end(undefined);
  }

  /** Tells every caller that it is over; with an error if the application did not ask for it. */
  end(failure: PromError | undefined): void {
    if (this.ended !== undefined) return;
    const reason = failure?.message ?? "it was asked to close";
    this.ended = failure?.code === "closed" ? failure : closedError(reason);
    this.teller.state = "closed";
    this.#stopWatching();
    this.#dialing?.abandon();
    const goodbye = this.#session === undefined ? Promise.resolve() : this.#hangUp(this.#session);
    this.#timer.stop();
    this.settlements.refuseAll(reason);
    for (const pending of [...this.publishes.drain(), ...this.room.drain()]) pending.end(reason);
    this.subscriptions.close(failure, this.ended);
    for (const waiter of this.#connecting.splice(0)) waiter.reject(this.ended);
    this.teller.tell({ type: "closed", error: failure });
    const waiters = this.closing?.waiters ?? [];
    void goodbye.then(() => waiters.forEach((waiter) => waiter.resolve()));
  }

  /** As politely as the hub allows, but not for long. Unanswered frames are returned so that their callers can be told. */
  #hangUp(session: Session): Promise<void> {
    const { socket } = session;
    return new Promise((resolve) => {
      const patience = setTimeout(() => {
        socket.abort();
        resolve();
      }, CLOSE_TIMEOUT_MS);
      session.hangUp(() => {
        clearTimeout(patience);
        resolve();
      });
    });
  }
}
