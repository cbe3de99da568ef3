/** One connection, from the answer to AUTH to its end. */

import { nowMs } from "../clock.js";
import { reconnectAfter } from "../codes.js";
import { closedError, type PromError, reasonOf } from "../error.js";
import { FRAME_BYTES, WAKE_ANSWER_MS } from "../limits.js";
import type { Pending } from "../pending.js";
import { soon } from "../soon.js";
import type { TransportListener, TransportSocket } from "../transport/transport.js";
import { hear } from "./answer.js";
import { Answers } from "./answers.js";
import type { Connection } from "./connection.js";
import { renewLeases } from "./deliver.js";
import { authText, type Link } from "./dial.js";
import { writePublishes } from "./publish.js";
import { Refresh } from "./refresh.js";
import { writeSettlements } from "./settle.js";
import { refuse } from "./settlements.js";
import { writeSubscriptions } from "./subscribe.js";

/** How a connection ended: `stop` carries why the hub wants no other. */
export interface SessionEnd {
  readonly reason: string;
  readonly code: number | undefined;
  readonly stop: PromError | undefined;
  /** Unanswered publishes. */
  readonly unansweredEvents: number;
}

export class Session implements TransportListener {
  readonly answers = new Answers();
  readonly socket: TransportSocket;
  readonly refresh: Refresh;
  /** The hub's limits for a frame. */
  readonly frameBytes: number;
  readonly beganAt = nowMs();
  isOver = false;
  /** The hub's last error before it closes. */
  lastComplaint: string | undefined;
  #lastReceivedAt = nowMs();
  /** The hub was pinged, and has sent nothing since. */
  #answerBy = Infinity;
  #isGathering = false;
  #onClosed: (() => void) | undefined;

  constructor(
    readonly connection: Connection,
    link: Link,
    readonly epoch: number,
  ) {
    this.socket = link.socket;
    this.frameBytes = link.welcome.frame_bytes ?? FRAME_BYTES;
    this.refresh = new Refresh(this);
    link.setListener(this);
    this.refresh.schedule(link.welcome.expires_at_ms);
    connection.wakeBy(this.wakeAt());
  }

  // What comes.

  onOpen(): void {}

  onText(text: string): void {
    if (this.isOver) return;
    this.#alive();
    const problem = this.#hear(text);
    if (problem !== undefined) this.#malformed(problem);
    else if (this.connection.closing !== undefined) this.connection.gatherSoon();
  }

  /** Missing or extra fields of a frame show when they are used. */
  #hear(text: string): string | undefined {
    try {
      return hear(this, text);
    } catch (thrown) {
      return reasonOf(thrown);
    }
  }

  onAlive(): void {
    this.#alive();
  }

  #alive(): void {
    this.#lastReceivedAt = nowMs();
    this.#answerBy = Infinity;
  }

  onDrained(): void {
    if (!this.isOver) this.gather();
  }

  onClose(code: number, reason: string): void {
    this.#onClosed?.();
    const told = [`the connection was closed with ${code}`, reason, this.lastComplaint].filter(Boolean).join(": ");
    const stop = reconnectAfter(code) === "no" ? closedError(told) : undefined;
    this.#end({ reason: told, code, stop });
  }

  #malformed(problem: string): void {
    const reason = `malformed frame from the hub: ${problem}`;
    this.socket.close(1002, reason.slice(0, 100));
    this.lost(reason);
  }

  /** The connection is useless from now on. */
  lost(reason: string): void {
    this.socket.abort();
    this.#end({ reason, code: undefined, stop: undefined });
  }

  /** Closes, and then ignores everything but the hub's own close. */
  hangUp(onClosed: () => void): void {
    this.#end({ reason: "it was asked to close", code: undefined, stop: undefined });
    this.#onClosed = onClosed;
    this.socket.close(1000, "");
  }

  // What leaves.

  send(text: string): void {
    this.socket.send(text);
  }

  flush(): void {
    this.socket.flush();
  }

  /** Everything that has gathered, in one write. */
  gather(): void {
    if (this.isOver || this.#isGathering || !this.socket.wantsMore) return;
    this.#isGathering = true;
    // Before subscriptions: a caller that settles and then leaves wants that order.
    writeSettlements(this);
    writeSubscriptions(this);
    writePublishes(this);
    this.socket.flush();
    this.#isGathering = false;
  }

  /** Nothing is unanswered and nothing waits. */
  get isIdle(): boolean {
    const { publishes, settlements, room } = this.connection;
    return this.answers.isEmpty && publishes.length === 0 && !room.hasWaiting && settlements.isEmpty;
  }

  // Time.

  /** When something may be due. */
  wakeAt(): number {
    const { settings, publishes, subscriptions } = this.connection;
    const silenceAt = this.#lastReceivedAt + Math.min(settings.pingAfterMs, settings.silenceLimitMs);
    return Math.min(
      this.#answerBy === Infinity ? silenceAt : this.#answerBy,
      publishes.pacer.holdUntil ?? Infinity,
      subscriptions.renewAt,
      subscriptions.retryAt,
      this.refresh.dueAt,
    );
  }

  /** `late` if the timer fired much too late: the machine slept. */
  tend(now: number, timer: "punctual" | "late"): void {
    const { publishes, subscriptions } = this.connection;
    this.#listen(now, timer);
    publishes.pacer.release(now);
    if (subscriptions.renewAt <= now) renewLeases(this, now);
    subscriptions.retryDue(now);
    this.refresh.beginIfDue(now);
    this.gather();
  }

  /** A silent connection may be dead without a notice. */
  #listen(now: number, timer: "punctual" | "late"): void {
    const { pingAfterMs, silenceLimitMs } = this.connection.settings;
    // After a sleep, or a long computation, timers fire before received data is read: read that first.
    if (this.#answerBy <= now) soon(() => this.#giveUpIfSilent());
    else if (timer === "late") this.probe();
    else if (this.#answerBy === Infinity && now - this.#lastReceivedAt >= pingAfterMs)
      this.probe(silenceLimitMs - pingAfterMs);
  }

  #giveUpIfSilent(): void {
    const now = nowMs();
    if (this.#answerBy > now || this.isOver) return;
    this.lost(`nothing came from the hub for ${Math.round(now - this.#lastReceivedAt)} ms`);
  }

  /** Pings the hub; without a sign of life in time the connection counts as dead. */
  probe(withinMs = WAKE_ANSWER_MS): void {
    if (this.isOver) return;
    if (this.#answerBy === Infinity) {
      if (this.socket.ping !== undefined) this.socket.ping();
      else {
        // Browsers cannot ping: sending the same token again is answered as well, and changes nothing.
        const { token, settings } = this.connection;
        this.send(authText(this.answers.expect({ for: "probe" }), token.last, settings.whenRateLimited));
        this.flush();
      }
    }
    this.#answerBy = Math.min(this.#answerBy, nowMs() + withinMs);
    this.connection.wakeBy(this.#answerBy);
  }

  /** Gives up publishes that took too long. Returns the earliest remaining deadline. */
  expire(now: number, giveUp: (pending: Pending) => void): number {
    return this.answers.expire(now, giveUp);
  }

  /** Unanswered frames are sent again, or are lost with the connection. */
  #end(end: Omit<SessionEnd, "unansweredEvents">): void {
    if (this.isOver) return;
    this.isOver = true;
    const again: Pending[] = [];
    for (const awaited of this.answers.drain()) {
      if (awaited.for === "publish") again.push(...awaited.list.filter((pending) => !pending.isOver));
      else if (awaited.for === "settle") refuse(awaited.frame.waiters, "the connection ended before the answer came");
      else if (awaited.for === "switch") for (const waiter of awaited.waiters) waiter.resolve();
    }
    this.connection.sessionEnded({ ...end, unansweredEvents: again.reduce((sum, { count }) => sum + count, 0) }, again);
  }
}
