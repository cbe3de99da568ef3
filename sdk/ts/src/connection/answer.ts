/** Frames from the hub: answers go to their callers, events to their subscriptions. */

import { errorOf, type Problem } from "../error.js";
import { asEvents, type ErrFrame, type HubFrame, type OkFrame, readFrame } from "../frame.js";
import type { Awaited } from "./answers.js";
import { deliver, hearAssignment, hearGap, hearThinned } from "./deliver.js";
import { published, publishRefused } from "./publish.js";
import type { Session } from "./session.js";
import { settled, settleRefused } from "./settle.js";
import { endedByHub, subscribed, subscribeRefused } from "./subscribe.js";

/** An error, returned or thrown, means that the hub breaks the protocol: the connection cannot continue. */
export function hear(session: Session, text: string): string | undefined {
  const frame: HubFrame = readFrame(text);
  switch (frame.op) {
    case "EVENTS":
      return deliver(session, frame, text);
    case "EVENT":
      return deliver(session, asEvents(frame), text);
    case "OK":
      return agreed(session, frame);
    case "ERR":
      return hearError(session, frame);
    case "GAP":
      hearGap(session, frame);
      return undefined;
    case "THINNED":
      hearThinned(session, frame);
      return undefined;
    case "ASSIGNED":
    case "REVOKED":
      hearAssignment(session, frame);
      return undefined;
    default:
      // A newer hub may say more.
      return undefined;
  }
}

function agreed(session: Session, frame: OkFrame): string | undefined {
  const awaited = frame.corr === undefined ? undefined : session.answers.take(frame.corr);
  if (awaited === undefined) return `an answer to nothing that was asked (corr ${frame.corr})`;
  switch (awaited.for) {
    case "publish":
      return published(session, awaited.list, frame);
    case "settle":
      settled(session, awaited.frame, frame.unknown ?? []);
      return undefined;
    case "subscribe":
      subscribed(session, awaited.kept, frame.notes ?? []);
      return undefined;
    case "unsubscribe":
      session.connection.subscriptions.left(awaited.kept);
      return undefined;
    case "switch":
      for (const waiter of awaited.waiters) waiter.resolve();
      return undefined;
    case "auth":
    case "probe":
      session.refresh.schedule(frame.expires_at_ms);
      return undefined;
  }
}

function hearError(session: Session, frame: ErrFrame): string | undefined {
  if (frame.code === "jwt_expired") session.refresh.hurry();
  if (frame.corr === undefined) {
    if (frame.topic !== undefined) endedByHub(session, frame.topic, frame.group, frame);
    // Otherwise it answers nothing; most often it is the reason for the close that follows.
    else session.lastComplaint = `${frame.msg} (${frame.code})`;
    return undefined;
  }
  const awaited = session.answers.take(frame.corr);
  if (awaited === undefined) return `an answer to nothing that was asked (corr ${frame.corr})`;
  refused(session, awaited, frame);
  return undefined;
}

function refused(session: Session, awaited: Awaited, problem: Problem): void {
  switch (awaited.for) {
    case "publish":
      return publishRefused(session, awaited.list, problem);
    case "settle":
      return settleRefused(session, awaited.frame, problem);
    case "subscribe":
      return subscribeRefused(session, awaited.kept, problem);
    case "unsubscribe":
      // In any case the hub does not have this subscription (any more).
      return session.connection.subscriptions.left(awaited.kept);
    case "switch":
      for (const waiter of awaited.waiters) waiter.reject(errorOf(problem));
      return;
    case "auth":
      return session.refresh.failed(errorOf(problem));
    case "probe":
  }
}
