/**
 * The one error type of this client. Its `code` says what to do: the hub's codes are in `ERROR_CODES`, the client's own in
 * `CLIENT_CODES`.
 */

import { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.js";
import type { Expectation } from "./event.js";
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

/** Where a payload does not fit its topic's schema. */
export interface SchemaMisfit {
  /** Of the schema that judged it. */
  readonly version: number;
  /** Where in the payload, as a JSON pointer; empty for the whole. */
  readonly pointer: string;
  /** The keyword that refuses it. */
  readonly rule: string;
  /** What is there, as JSON, shortened. */
  readonly value: string;
}

export interface PromErrorFacts {
  readonly retryAfterMs?: number | undefined;
  readonly stored?: MaybeStored | undefined;
  readonly misfit?: SchemaMisfit | undefined;
  readonly actual?: Expectation | undefined;
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
  /** With `schema_invalid`: what does not fit. */
  readonly misfit: SchemaMisfit | undefined;
  /** With `conflict`: what is so instead of what was expected. */
  readonly actual: Expectation | undefined;

  constructor(code: ErrorCode | ClientCode | (string & {}), message: string, facts: PromErrorFacts = {}) {
    super(`${message} (${code})`, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.retryAfterMs = facts.retryAfterMs;
    this.stored = facts.stored;
    this.misfit = facts.misfit;
    this.actual = facts.actual;
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
  // With `schema_invalid`.
  readonly version?: number;
  readonly pointer?: string;
  readonly rule?: string;
  readonly value?: string;
  // With `conflict`.
  readonly actual?: Expectation;
}

export function errorOf(problem: Problem): PromError {
  const { code, msg, retry_after_ms, stored, actual } = problem;
  return new PromError(code, msg, { retryAfterMs: retry_after_ms, stored, misfit: misfitOf(problem), actual });
}

function misfitOf({ version, pointer, rule, value = "" }: Problem): SchemaMisfit | undefined {
  if (version === undefined || pointer === undefined || rule === undefined) return undefined;
  return { version, pointer, rule, value };
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
