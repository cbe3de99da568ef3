/** What the hub sends, as it is in a frame; and the texts of small frames. One object in one text message. */

import type { Problem } from "./error.js";
import type { Durability, EventEnvelope } from "./event.js";

/** The feature that lets one frame carry many events and many acks. */
export const BATCH = "batch";

/**
 * Refused publishes are sent again, in their order: the hub lets nothing of their topic overtake an event that exceeded
 * a rate limit.
 */
export const ORDERED = "ordered";

/**
 * Partition, offset, stored_ts, the id where the hub made it, and whether it was there before; or why that one event
 * was refused.
 */
export type PublishResult = readonly [number, number, number, (string | boolean | null)?, boolean?] | Problem;

export interface OkFrame {
  readonly op: "OK";
  readonly corr?: number;
  // To AUTH.
  readonly hub?: string;
  readonly features?: readonly string[];
  readonly frame_bytes?: number;
  readonly connection?: string;
  readonly expires_at_ms?: number;
  // To PUBLISH.
  readonly durability?: Durability;
  readonly results?: readonly PublishResult[];
  /** To SUBSCRIBE: what the group has otherwise than was asked for. */
  readonly notes?: readonly string[];
  /** To ACK and MODACK: ranges that were not leased to us. */
  readonly unknown?: readonly (readonly [number, number])[];
}

export interface ErrFrame extends Problem {
  readonly op: "ERR";
  readonly corr?: number;
  /** If set, the frame answers nothing: the subscription of that name has ended. */
  readonly topic?: string;
  readonly group?: string;
}

interface EventFrame {
  readonly op: "EVENT";
  readonly topic: string;
  readonly group?: string;
  readonly event: EventEnvelope;
  readonly ctx?: { readonly attempt: number; readonly max_attempts: number; readonly ack_deadline_ms: number };
}

export interface EventsFrame {
  readonly op: "EVENTS";
  readonly topic: string;
  readonly group?: string;
  readonly events: readonly EventEnvelope[];
  readonly ctx?: {
    /** By index in the list; 1 if there is none. */
    readonly attempts?: Readonly<Record<string, number>>;
    readonly max_attempts: number;
    readonly ack_deadline_ms: number;
  };
}

export interface GapFrame {
  readonly op: "GAP";
  readonly topic: string;
  readonly group?: string;
  readonly event_topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** What a tail that asked for a filter, or for so many events a second, did not get since the frame before. */
export interface ThinnedFrame {
  readonly op: "THINNED";
  readonly topic: string;
  readonly group?: string;
  readonly seen: number;
  readonly matched: number;
  readonly sent: number;
  readonly failed: number;
  readonly error?: string;
}

/** Partitions that this member got, or must give up. */
export interface AssignmentFrame {
  readonly op: "ASSIGNED" | "REVOKED";
  readonly topic: string;
  readonly group?: string;
  readonly event_topic: string;
  readonly partitions: readonly number[];
}

export type HubFrame = OkFrame | ErrFrame | EventFrame | EventsFrame | GapFrame | ThinnedFrame | AssignmentFrame;

/** Throws if it is not a JSON object with an `op`. */
export function readFrame(text: string): HubFrame {
  const frame = JSON.parse(text) as HubFrame | null;
  if (typeof frame !== "object" || frame === null || typeof frame.op !== "string") throw new Error("it has no op");
  return frame;
}

/** A single event is a list of one. */
export function asEvents({ topic, group, event, ctx }: EventFrame): EventsFrame {
  const name = group === undefined ? { topic } : { topic, group };
  if (ctx === undefined) return { op: "EVENTS", ...name, events: [event] };
  const { attempt, max_attempts, ack_deadline_ms } = ctx;
  return { op: "EVENTS", ...name, events: [event], ctx: { attempts: { 0: attempt }, max_attempts, ack_deadline_ms } };
}

/** The opening of a frame to the hub, up to its own fields. */
export function opening(op: string, corr: number): string {
  return `{"op":"${op}","corr":${corr}`;
}

/** `,"topic":…,"group":…` of a subscription. */
export function nameText(topic: string, group: string | undefined): string {
  const text = `,"topic":${JSON.stringify(topic)}`;
  return group === undefined ? text : `${text},"group":${JSON.stringify(group)}`;
}
