/** EVENT, EVENTS, GAP, THINNED, ASSIGNED and REVOKED go to their subscription; and leases are renewed. */

import { nowMs } from "../clock.js";
import type { Lot } from "../deliver.js";
import type { EventEnvelope } from "../event.js";
import type { AssignmentFrame, EventsFrame, GapFrame, ThinnedFrame } from "../frame.js";
import { LONGEST_LEASE_MS } from "../limits.js";
import { readPayloads } from "../payload-text.js";
import type { Session } from "./session.js";

/** An error means that the hub breaks the protocol. */
export function deliver(session: Session, frame: EventsFrame, text: string): string | undefined {
  const { subscriptions } = session.connection;
  const kept = subscriptions.get(frame.topic, frame.group);
  kept?.stay();
  // The hub takes back events that were in transit when a subscription ended.
  if (kept === undefined || !kept.isFed || kept.feed.ended !== undefined) return undefined;
  const { feed, progress } = kept;
  const { ctx, events } = frame;
  if (!Array.isArray(events)) return "events that are no list";
  if (!feed.isTail && !(typeof ctx?.ack_deadline_ms === "number")) return "an event for a group without a lease";
  const { payloads } = session.connection.settings;
  if (payloads !== undefined) readPayloads(text, events, payloads);
  const lot = lotOf(session, frame, text.length, feed);
  const attempts = ctx?.attempts;
  for (let at = 0; at < events.length; at++) {
    const event = events[at] as EventEnvelope;
    if (progress === undefined || progress.note(event)) feed.push(event, attempts?.[at] ?? 1, lot);
  }
  if (lot.renewAt < subscriptions.renewAt) {
    subscriptions.renewAt = lot.renewAt;
    session.connection.wakeBy(lot.renewAt);
  }
  const fill = feed.fill();
  if (fill === "overfull") return `more events for ${frame.topic} than its window holds`;
  if (fill === "full") subscriptions.throttle(feed, true);
  leaseWaiting(session, lot);
  feed.onArrived();
  return undefined;
}

/** Before a handler begins, which may keep the event loop for longer than a short lease lasts. */
function leaseWaiting(session: Session, lot: Lot): void {
  const { feed } = lot;
  if (feed.isTail) return;
  const waiting = feed.leaseWaiting(lot);
  if (waiting.length === 0) return;
  for (const renewal of waiting) session.connection.settlements.modack({ ...renewal, waiter: undefined });
  session.gather();
}

function lotOf(session: Session, { ctx, events }: EventsFrame, frameSize: number, feed: Lot["feed"]): Lot {
  const now = nowMs();
  const leaseMs = ctx === undefined ? Infinity : Math.min(ctx.ack_deadline_ms, LONGEST_LEASE_MS);
  return {
    feed,
    epoch: session.epoch,
    maxAttempts: ctx?.max_attempts ?? 0,
    ackDeadlineMs: ctx?.ack_deadline_ms ?? 0,
    cameAt: now,
    eventSize: frameSize / Math.max(1, events.length),
    renewAt: now + leaseMs / 2,
    deadlineAt: now + leaseMs,
  };
}

export function hearGap(session: Session, frame: GapFrame): void {
  const { topic, group } = frame;
  const kept = session.connection.subscriptions.get(topic, group);
  if (kept === undefined || !kept.isFed) return;
  const { event_topic, partition, from, to, reason } = frame;
  const gap = { topic: event_topic, partition, from, to, reason };
  session.connection.teller.tell({ type: "gap", topic, group, gap });
  kept.feed.gap(gap);
}

export function hearThinned(session: Session, frame: ThinnedFrame): void {
  const kept = session.connection.subscriptions.get(frame.topic, frame.group);
  if (kept === undefined || !kept.isFed) return;
  const { seen, matched, sent, failed, error } = frame;
  kept.feed.thinned(error === undefined ? { seen, matched, sent, failed } : { seen, matched, sent, failed, error });
}

export function hearAssignment(session: Session, frame: AssignmentFrame): void {
  const kept = session.connection.subscriptions.get(frame.topic, frame.group);
  if (kept === undefined || !kept.isFed) return;
  const assignment = { topic: frame.event_topic, partitions: frame.partitions };
  if (frame.op === "ASSIGNED") kept.feed.assigned(assignment);
  else kept.feed.revoked(assignment);
}

/** Renews waiting and running deliveries at half time. */
export function renewLeases(session: Session, now: number): void {
  const { subscriptions, settlements } = session.connection;
  subscriptions.renewAt = Infinity;
  for (const { feed } of subscriptions.all()) {
    if (feed.isAbandoned(now)) subscriptions.giveBack(feed);
    const { due, nextAt } = feed.takeDueRenewals(now);
    for (const renewal of due) settlements.modack({ ...renewal, waiter: undefined });
    subscriptions.renewAt = Math.min(subscriptions.renewAt, nextAt);
  }
}
