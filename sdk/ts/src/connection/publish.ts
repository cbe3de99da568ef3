/** PUBLISH: waiting events go into frames, answers go to their callers. */

import { nowMs } from "../clock.js";
import { errorOf, type Problem, PromError } from "../error.js";
import type { Durability, Receipt } from "../event.js";
import { opening, type OkFrame, type PublishResult } from "../frame.js";
import { BATCH_FRAME_BYTES, OVERLOAD_WAIT_MS, TOKEN_RETRY_MS } from "../limits.js";
import { OPTS, type Pending } from "../pending.js";
import { exceedsBytes, utf8Bytes, WIDEST } from "../text-size.js";
import type { Session } from "./session.js";

/** The size of an event in a frame, including its separator. */
const PIECES = 6;

export function writePublishes(session: Session): void {
  const { publishes } = session.connection;
  if (publishes.length === 0) return;
  const now = nowMs();
  // In UTF-16 units; each may take three bytes.
  const size = Math.min(BATCH_FRAME_BYTES, Math.floor(session.frameBytes / WIDEST));
  while (publishes.length > 0 && session.socket.wantsMore) {
    const events = publishes.pacer.allowance(now);
    if (events < 1) return;
    const load = publishes.take({ events, size });
    if (load.length > 0) writeLoad(session, load);
  }
}

function writeLoad(session: Session, load: readonly Pending[]): void {
  const [first] = load as readonly [Pending, ...Pending[]];
  const corr = session.answers.expect({ for: "publish", list: load });
  const { pacer } = session.connection.publishes;
  const head = `${opening("PUBLISH", corr)}${first.isAtomic ? ',"atomic":true' : ""},"events":[`;
  const text = joined(head, load);
  // Only a lone event can be too large: others were gathered up to a size that fits.
  if (load.length === 1 && exceedsBytes(text, session.frameBytes)) {
    session.answers.take(corr);
    const what = first.isAtomic ? "the batch" : "the event";
    const message = `${what} takes ${utf8Bytes(text)} bytes in a frame, the hub takes ${session.frameBytes}`;
    return first.fail(new PromError("too_large", message, { stored: "no" }));
  }
  let count = 0;
  for (const pending of load) {
    pending.wasSent = true;
    count += pending.count;
  }
  pacer.sent(count);
  session.send(text);
}

function joined(head: string, load: readonly Pending[]): string {
  const pieces = new Array<string>(load.length * PIECES + 1);
  let at = 0;
  for (const pending of load) {
    pieces[at] = at === 0 ? head : ",";
    pieces[at + 1] = pending.head;
    if (typeof pending.ids !== "string") pieces.fill("", at + 2, at + PIECES);
    else {
      pieces[at + 2] = pending.payload;
      pieces[at + 3] = OPTS;
      pieces[at + 4] = pending.ids;
      pieces[at + 5] = pending.tail;
    }
    at += PIECES;
  }
  pieces[at] = "]}";
  return pieces.join("");
}

/** An error means that the hub breaks the protocol. */
export function published(session: Session, list: readonly Pending[], frame: OkFrame): string | undefined {
  const { durability, results } = frame;
  const expected = list.reduce((count, pending) => count + pending.count, 0);
  if (durability === undefined || !Array.isArray(results) || results.length !== expected) {
    session.connection.publishes.putBack(list);
    return `a batch of ${expected} was answered with ${Array.isArray(results) ? results.length : "no"} results`;
  }
  const { pacer } = session.connection.publishes;
  const [only] = list;
  if (only?.isAtomic === true) {
    const problem = results.find((result) => !Array.isArray(result));
    if (problem !== undefined) publishRefused(session, list, problem as Problem);
    else {
      pacer.accepted(expected);
      only.succeed(results.map((result, at) => receiptOf(only.ids[at] as string, result, durability) as Receipt));
      goOn(session);
    }
    return undefined;
  }
  let accepted = 0;
  const again: Pending[] = [];
  for (let at = 0; at < list.length; at++) {
    const pending = list[at] as Pending;
    const result = results[at] as PublishResult;
    const receipt = receiptOf(pending.ids as string, result, durability);
    if (receipt !== undefined) {
      accepted++;
      pending.succeed(receipt);
    } else if (isToBeSentAgain(session, pending, result as Problem)) again.push(pending);
  }
  pacer.accepted(accepted);
  session.connection.publishes.putBack(again);
  goOn(session);
  return undefined;
}

/** Events held back by the pace may leave now. */
function goOn({ connection }: Session): void {
  if (connection.publishes.length > 0) connection.gatherSoon();
}

function receiptOf(id: string, result: PublishResult, durability: Durability): Receipt | undefined {
  if (!Array.isArray(result)) return undefined;
  const receipt = { id, partition: result[0], offset: result[1], stored_ts: result[2], durability };
  return result[3] === true || result[4] === true ? { ...receipt, duplicate: true } : receipt;
}

export function publishRefused(session: Session, list: readonly Pending[], problem: Problem): void {
  session.connection.publishes.putBack(list.filter((pending) => isToBeSentAgain(session, pending, problem)));
  goOn(session);
}

function isToBeSentAgain(session: Session, pending: Pending, problem: Problem): boolean {
  const { pacer } = session.connection.publishes;
  const waitMs = waitBefore(session, problem);
  if (waitMs === undefined) {
    pacer.failed(pending.count);
    pending.fail(errorOf(problem));
    return false;
  }
  const now = nowMs();
  tellOfPace(session, problem, waitMs, now);
  pacer.refused(pending.count, Math.min(waitMs, session.connection.settings.giveUpAfterMs), now);
  session.connection.wakeBy(pacer.holdUntil ?? now);
  return true;
}

/** A slowed publisher should know why. */
function tellOfPace({ connection }: Session, { code, msg }: Problem, waitMs: number, now: number): void {
  if (code === "jwt_expired" || !connection.publishes.pacer.isToBeTold(now)) return;
  connection.teller.tell({ type: "publishing_slowed", reason: msg, retryInMs: waitMs });
}

/** How long to wait before sending it again, if that helps. */
function waitBefore({ connection }: Session, problem: Problem): number | undefined {
  switch (problem.code) {
    case "rate_limited":
    case "overloaded":
      return connection.settings.whenRateLimited === "retry" ? (problem.retry_after_ms ?? OVERLOAD_WAIT_MS) : undefined;
    case "jwt_expired":
      return connection.token.canRefresh ? TOKEN_RETRY_MS : undefined;
    default:
      return undefined;
  }
}
