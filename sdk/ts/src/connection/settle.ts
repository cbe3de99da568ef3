/** ACK, NACK and MODACK: those gathered for one log are sent as ranges of offsets. */

import type { Delivery } from "../deliver.js";
import { errorOf, type Problem } from "../error.js";
import type { Feed } from "../feed.js";
import { nameText, opening } from "../frame.js";
import { FRAME_ITEMS, RANGE_BYTES } from "../limits.js";
import { merged, rangesText } from "../ranges.js";
import { leaseLost, type Waiter } from "../settle.js";
import type { Session } from "./session.js";
import { type AckLog, type Modack, type Nack, refuse } from "./settlements.js";

/** What is needed when the answer comes. */
export interface SettledFrame {
  readonly verb: "ACK" | "NACK" | "MODACK";
  readonly feed: Feed;
  readonly topic: string;
  readonly partition: number;
  readonly waiters: readonly { readonly delivery: Delivery; readonly waiter: Waiter | undefined }[];
}

/** The rest of a frame. */
const HEAD_BYTES = 1024;

export function writeSettlements(session: Session): void {
  const { settlements } = session.connection;
  if (settlements.isEmpty) return;
  const { acks, nacks, modacks } = settlements.take();
  for (const log of acks) writeAck(session, log);
  for (const { together, extendMs } of byLog(modacks)) writeModack(session, together, extendMs);
  for (const nack of nacks) writeNack(session, nack);
}

function writeAck(session: Session, log: AckLog): void {
  const ranges = merged(log.ranges);
  const most = Math.max(1, Math.min(FRAME_ITEMS, Math.floor((session.frameBytes - HEAD_BYTES) / RANGE_BYTES))) * 2;
  for (let at = 0; at < ranges.length; at += most) {
    const piece = ranges.length <= most ? ranges : ranges.slice(at, at + most);
    const [least, last] = [piece[0] as number, piece[piece.length - 1] as number];
    const waiters = log.waiters.filter(
      ({ delivery }) => delivery.event.offset >= least && delivery.event.offset <= last,
    );
    send(session, { verb: "ACK", ...log, waiters }, piece, "");
  }
}

/** A refusal of a nack names no offsets, so each has its own frame. */
function writeNack(session: Session, { delivery, reason, delayMs, waiter }: Nack): void {
  const { topic, partition, offset } = delivery.event;
  const more = `,"reason":${JSON.stringify(reason)}${delayMs === undefined ? "" : `,"delay_ms":${delayMs}`}`;
  const { feed } = delivery.lot;
  send(session, { verb: "NACK", feed, topic, partition, waiters: [{ delivery, waiter }] }, [offset, offset], more);
}

function writeModack(session: Session, together: readonly Modack[], extendMs: number): void {
  const [first] = together;
  if (first === undefined) return;
  const { topic, partition } = first.delivery.event;
  const ranges = merged(together.flatMap(({ delivery }) => [delivery.event.offset, delivery.event.offset]));
  const { feed } = first.delivery.lot;
  send(session, { verb: "MODACK", feed, topic, partition, waiters: together }, ranges, `,"extend_ms":${extendMs}`);
}

/** Those that share a frame: one log, one extension, and no more than a frame holds. */
function byLog(modacks: readonly Modack[]): { together: Modack[]; extendMs: number }[] {
  const numbers = new Map<Feed, number>();
  const groups = new Map<string, { together: Modack[]; extendMs: number }>();
  modacks.forEach((modack, at) => {
    const { lot, event } = modack.delivery;
    const number = numbers.get(lot.feed) ?? numbers.size;
    numbers.set(lot.feed, number);
    const piece = Math.floor(at / FRAME_ITEMS);
    const name = `${piece}/${number}/${modack.extendMs}/${event.partition}/${event.topic}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { together: [modack], extendMs: modack.extendMs });
    else group.together.push(modack);
  });
  return [...groups.values()];
}

function send(session: Session, frame: SettledFrame, ranges: readonly number[], more: string): void {
  const corr = session.answers.expect({ for: "settle", frame });
  session.connection.subscriptions.settling(frame.feed, 1);
  const { topic, partition, feed } = frame;
  const head = opening(frame.verb, corr) + nameText(topic, feed.facts.group);
  session.send(`${head},"partition":${partition},"offsets":${rangesText(ranges)}${more}}`);
}

/** Settled, except for those no longer leased to this client. */
export function settled(session: Session, frame: SettledFrame, unknown: readonly (readonly [number, number])[]): void {
  session.connection.subscriptions.settling(frame.feed, -1);
  const isUnknown = (delivery: Delivery) => {
    const { offset } = delivery.event;
    return unknown.some(([from, to]) => from <= offset && offset <= to);
  };
  if (unknown.length > 0 && frame.verb === "MODACK") {
    // By identity: the same event may have come again under a new lease.
    const renewed = new Set(frame.waiters.map(({ delivery }) => delivery));
    frame.feed.forget((delivery) => renewed.has(delivery) && isUnknown(delivery));
  }
  for (const { delivery, waiter } of frame.waiters) {
    if (waiter === undefined) continue;
    if (isUnknown(delivery)) waiter.reject(leaseLost(delivery, "it is not leased to this client (any more)"));
    else waiter.resolve();
  }
}

const LOST: ReadonlySet<string> = new Set(["unknown_id", "fenced", "not_subscribed"]);

export function settleRefused(session: Session, frame: SettledFrame, problem: Problem): void {
  session.connection.subscriptions.settling(frame.feed, -1);
  if (LOST.has(problem.code)) {
    const gone = new Set(frame.waiters.map(({ delivery }) => delivery));
    frame.feed.forget((delivery) => gone.has(delivery));
    return refuse(frame.waiters, problem.msg);
  }
  for (const { waiter } of frame.waiters) waiter?.reject(errorOf(problem));
}
