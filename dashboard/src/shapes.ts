/**
 * What views read of the answers about dead letters, traces and searches. Payloads in them are {@link Raw}: the text that the hub
 * keeps, with every digit.
 */

import type { LetterJobKind } from "@promethean/client/http";
import { parseKeeping, type Raw } from "./json/scan.ts";
import type { RawEvent } from "./live.ts";

/** A dead letter. */
export interface Letter {
  readonly id: string;
  readonly ts: number;
  readonly group: string;
  readonly err: string;
  readonly fingerprint: string;
  readonly attempts: number;
  readonly deaths: number;
  readonly key?: string;
  /** The event as it was, whole. */
  readonly original: Raw;
  readonly replay?: { readonly by?: string | null; readonly ts: number; readonly edited: boolean; readonly outcome: "waiting" | "acked" | "dead_again" };
}

export function originalOf(letter: Letter): RawEvent {
  return parseKeeping(letter.original.text) as RawEvent;
}

export interface LetterPage {
  readonly letters: readonly Letter[];
  readonly next?: string;
}

export interface LetterError {
  readonly fingerprint: string;
  readonly pattern: string;
  readonly count: number;
  readonly replayed: number;
  readonly firstTs: number;
  readonly lastTs: number;
  readonly groups: readonly { readonly group: string; readonly count: number }[];
}

export interface LetterTopic {
  readonly topic: string;
  readonly count: number;
  readonly replayed: number;
  readonly errors: readonly LetterError[];
}

export interface LetterErrors {
  readonly topics: readonly LetterTopic[];
  readonly hidden?: boolean;
  readonly omitted?: number;
}

/** What came of a replay, or would come of it. */
export interface LettersDone {
  readonly job?: string;
  readonly matched: number;
  readonly replayed: number;
  readonly skipped: number;
  readonly reason?: string;
  readonly more?: boolean;
  /** A payload is the text of its JSON. */
  readonly wouldSend?: readonly { readonly letter: string; readonly original: Raw; readonly payload?: Raw; readonly edited: boolean; readonly unfit?: string }[];
}

export interface LetterJob {
  readonly job: string;
  readonly kind: LetterJobKind;
  readonly topic: string;
  readonly state: "running" | "canary" | "paused" | "stopped" | "done" | "cancelled";
  readonly reason?: string;
  readonly by?: string | null;
  readonly createdTs: number;
  readonly matched: number;
  readonly replayed: number;
  readonly skipped: number;
  readonly outcome: { readonly acked: number; readonly waiting: number; readonly deadAgain: number };
}

export interface LetterJobs {
  readonly jobs: readonly LetterJob[];
}

/** A page of a search, newest first. */
export interface SearchPage {
  readonly scanned: number;
  readonly items: readonly RawEvent[];
  readonly next: string | null;
  readonly failed?: number;
  readonly failure?: string;
}

export interface TraceDelivery {
  readonly group: string;
  readonly state: "settled" | "in_flight" | "waiting" | "queued" | "dead";
  readonly attempts?: number;
  readonly reason?: string;
  readonly member?: string;
  readonly served_by?: string;
  readonly letter?: { readonly err?: string; readonly attempts: number; readonly ts: number };
}

export interface TraceNode {
  readonly id: string;
  readonly event?: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly retained: boolean;
    readonly stored_ts?: number;
    readonly key?: string;
    readonly deliveries?: readonly TraceDelivery[];
  };
  readonly repeated?: boolean;
  readonly causes?: readonly TraceNode[];
  readonly effects?: readonly TraceNode[];
}

export interface TraceAnswer {
  readonly trace: TraceNode;
  readonly behind: number;
  readonly hidden?: boolean;
  readonly cut?: boolean;
}
