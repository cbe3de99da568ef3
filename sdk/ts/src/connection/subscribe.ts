/** SUBSCRIBE, UNSUBSCRIBE, PAUSE, RESUME: the frames that bring the hub to the wanted state. */

import { nowMs } from "../clock.js";
import { errorOf, type Problem, PromError } from "../error.js";
import { nameText, opening } from "../frame.js";
import { RESUBSCRIBE_AFTER_MS } from "../limits.js";
import { exceedsBytes } from "../text-size.js";
import type { Session } from "./session.js";
import type { Kept } from "./subscriptions.js";

export function writeSubscriptions(session: Session): void {
  for (const kept of session.connection.subscriptions.takeDue()) writeDue(session, kept);
}

function writeDue(session: Session, kept: Kept): void {
  switch (kept.phase) {
    case "waiting":
      if (session.connection.closing !== undefined || kept.retryAt !== Infinity) return;
      writeSubscribe(session, kept);
      return writePausing(session, kept);
    case "asked":
    case "live":
      return writePausing(session, kept);
    case "leaving":
      return writeUnsubscribe(session, kept);
    case "left":
    case "resting":
  }
}

function writeSubscribe(session: Session, kept: Kept): void {
  const { topic, group } = kept.feed.facts;
  const opts = JSON.stringify(kept.optionsNow());
  const corr = session.answers.expect({ for: "subscribe", kept });
  const text = `${opening("SUBSCRIBE", corr)}${nameText(topic, group)},"opts":${opts}}`;
  if (exceedsBytes(text, session.frameBytes)) {
    session.answers.take(corr);
    const message = `the subscription takes more than the ${session.frameBytes} bytes of a frame`;
    return session.connection.subscriptions.fail(kept, new PromError("too_large", message));
  }
  kept.phase = "asked";
  kept.toldPaused = false;
  session.send(text);
}

function writePausing(session: Session, kept: Kept): void {
  if (!kept.isFed) return;
  const waiters = kept.switching.splice(0);
  if (kept.wantsPause === kept.toldPaused) {
    for (const waiter of waiters) waiter.resolve();
    return;
  }
  kept.toldPaused = kept.wantsPause;
  const corr = session.answers.expect({ for: "switch", waiters });
  const { topic, group } = kept.feed.facts;
  session.send(`${opening(kept.wantsPause ? "PAUSE" : "RESUME", corr)}${nameText(topic, group)}}`);
}

function writeUnsubscribe(session: Session, kept: Kept): void {
  if (!kept.mayLeave) return;
  kept.phase = "left";
  const corr = session.answers.expect({ for: "unsubscribe", kept });
  const { topic, group } = kept.feed.facts;
  session.send(`${opening("UNSUBSCRIBE", corr)}${nameText(topic, group)}}`);
}

export function subscribed(session: Session, kept: Kept, notes: readonly string[]): void {
  for (const note of notes) {
    const { topic, group } = kept.feed.facts;
    session.connection.teller.tell({ type: "option_differs", topic, group, note });
  }
  if (kept.phase !== "asked") return;
  kept.phase = "live";
  if (kept.starting !== undefined) {
    kept.starting.resolve();
    kept.starting = undefined;
    return;
  }
  const isSameConnection = kept.afterLeaving !== undefined;
  kept.afterLeaving = undefined;
  if (isSameConnection) return;
  const { topic, group } = kept.feed.facts;
  session.connection.teller.tell({ type: "resubscribed", topic, group });
}

export function subscribeRefused(session: Session, kept: Kept, problem: Problem): void {
  if (kept.phase === "asked") endOrRetry(session, kept, problem);
  // The application left meanwhile, and the hub has nothing to end.
  else session.connection.subscriptions.remove(kept);
}

/** The hub has ended it by itself. */
export function endedByHub(session: Session, topic: string, group: string | undefined, problem: Problem): void {
  const kept = session.connection.subscriptions.get(topic, group);
  if (kept?.isFed === true) endOrRetry(session, kept, problem);
}

const MAY_WORK_LATER: ReadonlySet<string> = new Set([
  "overloaded",
  "internal",
  "rate_limited",
  "fenced",
  "jwt_expired",
  "unauthorized",
]);

function endOrRetry(session: Session, kept: Kept, problem: Problem): void {
  const { subscriptions, teller } = session.connection;
  if (kept.starting === undefined && MAY_WORK_LATER.has(problem.code)) {
    const at = nowMs() + Math.max(RESUBSCRIBE_AFTER_MS, problem.retry_after_ms ?? 0);
    subscriptions.retryLater(kept, at);
    return session.connection.wakeBy(at);
  }
  const { topic, group } = kept.feed.facts;
  const error = errorOf(problem);
  if (kept.starting === undefined) teller.tell({ type: "subscription_ended", topic, group, error });
  subscriptions.fail(kept, error);
}
