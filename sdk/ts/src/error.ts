/**
 * The one error type of this client. Its `code` says what to do: the hub's codes are in `ERROR_CODES`, the client's own in
 * `CLIENT_CODES`.
 */

import { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.js";
import type { MaybeStored } from "./http.js";

/** Codes that only a client has, and what to do. */
export const CLIENT_CODES = {
  unreachable: "Check that the hub runs and that the address is right. A client that was connected once keeps trying.",
  gave_up: "Publish again with the same id: it is stored once. `stored` says whether it may be there already.",
  lease_lost: "Stop working on the event: the group delivers it again unless its settlement had arrived.",
  token_failed: "Check the function that provides tokens.",
  buffer_full: "Await publishes, or `client.room()`, before you publish more.",
  unsupported: "Use a newer hub, or do without.",
  closed: "Make a new client.",
} as const;

export type ClientCode = keyof typeof CLIENT_CODES;

export type { MaybeStored };

export interface PromErrorFacts {
  readonly retryAfterMs?: number | undefined;
  readonly stored?: MaybeStored | undefined;
  readonly cause?: unknown;
}

export class PromError extends Error {
  override readonly name = "PromError";
  /** A newer hub may have codes that are not listed here. */
  readonly code: ErrorCode | ClientCode | (string & {});
  /** When the hub would accept the same again. */
  readonly retryAfterMs: number | undefined;
  /** Of a failed publish: whether the event may be stored anyway. Publishing again with its id is safe. */
  readonly stored: MaybeStored | undefined;

  constructor(code: ErrorCode | ClientCode | (string & {}), message: string, facts: PromErrorFacts = {}) {
    super(`${message} (${code})`, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.retryAfterMs = facts.retryAfterMs;
    this.stored = facts.stored;
  }

  /** What to do. */
  get fix(): string {
    if (isErrorCode(this.code)) return ERROR_CODES[this.code].fix;
    return Object.hasOwn(CLIENT_CODES, this.code) ? CLIENT_CODES[this.code as ClientCode] : "See the hub's log.";
  }
}

/** A refusal as a frame carries it. */
export interface Problem {
  readonly code: string;
  readonly msg: string;
  readonly retry_after_ms?: number;
  readonly stored?: MaybeStored;
}

export function errorOf(problem: Problem): PromError {
  return new PromError(problem.code, problem.msg, { retryAfterMs: problem.retry_after_ms, stored: problem.stored });
}

export function closedError(reason: string): PromError {
  return new PromError("closed", `the client is closed: ${reason}`);
}

export function invalid(message: string): PromError {
  return new PromError("bad_request", message);
}

/** A sentence for any thrown value. It may be anything, so nothing about it is assumed. */
export function reasonOf(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown;
    if (thrown instanceof Error) {
      const told = [thrown.message, thrown.name].find((text) => typeof text === "string" && text !== "");
      return told ?? "an error without a message";
    }
    return String(thrown);
  } catch {
    return `a value of type ${typeof thrown} that has no text`;
  }
}
