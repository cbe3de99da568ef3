/**
 * The one error of this client. Its `code` says what to do: the hub's own codes are in `ERROR_CODES`, those that the
 * client adds are in `CLIENT_CODES`.
 */

import { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.js";

/** What only a client can say, and what to do about it. */
export const CLIENT_CODES = {
  unreachable: "Is the hub running, is the address right? A client that was connected once keeps trying by itself.",
  gave_up: "Publish again with the same id: it is stored once. `stored` says whether it may be there already.",
  lease_lost: "Do nothing more with the event: the group hands it out again unless its settlement had arrived.",
  token_failed: "Look at the function that gives tokens.",
  buffer_full: "Await publishes, or `client.room()`, before you publish more.",
  unsupported: "Use a newer hub, or do without.",
  closed: "Make a new client.",
} as const;

export type ClientCode = keyof typeof CLIENT_CODES;

/** Whether a failed publish may be stored all the same. */
export type MaybeStored = "no" | "unknown";

export interface PromErrorFacts {
  readonly retryAfterMs?: number | undefined;
  readonly stored?: MaybeStored | undefined;
  readonly cause?: unknown;
}

export class PromError extends Error {
  override readonly name = "PromError";
  /** A newer hub may have codes that are not listed here. */
  readonly code: ErrorCode | ClientCode | (string & {});
  /** When the hub would take the same again. */
  readonly retryAfterMs: number | undefined;
  /** Of a failed publish: whether the event may be stored all the same. Publishing again with its id is safe. */
  readonly stored: MaybeStored | undefined;

  constructor(code: ErrorCode | ClientCode | (string & {}), message: string, facts: PromErrorFacts = {}) {
    super(`${message} (${code})`, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.retryAfterMs = facts.retryAfterMs;
    this.stored = facts.stored;
  }

  /** What to do about it. */
  get fix(): string {
    if (isErrorCode(this.code)) return ERROR_CODES[this.code].fix;
    return Object.hasOwn(CLIENT_CODES, this.code) ? CLIENT_CODES[this.code as ClientCode] : "Ask the hub's log.";
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

/** A sentence for whatever was thrown. Anything can be thrown, so nothing about it is taken for granted. */
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
