/**
 * Asks the hub over HTTP, with the user's token.
 *
 * Promises: payloads in answers are {@link Raw}, with every digit; refusals are {@link Problem}s with what the hub says about
 * mending them; a token that the hub does not take any more leads back to signing in.
 */

import type { ProblemDocument } from "@promethean/client/http";
import { KEPT, parseKeeping } from "./json/scan.ts";
import { refused, token } from "./session.ts";

/** Why the hub did not do it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly document: Partial<ProblemDocument>,
  ) {
    super(document.detail ?? `the hub answered ${status}`);
  }

  get code(): string {
    return this.document.code ?? "";
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }
}

/** The hub cannot be reached. */
export class Unreachable extends Error {
  constructor(reason: string) {
    super(`the hub cannot be reached: ${reason}`);
  }
}

/** The folder that the page is served from. */
export const base = new URL(".", location.href.split("#")[0]);

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function pathOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  return search.size > 0 ? `${path}?${search}` : path;
}

interface Asking {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Text goes as it is; anything else is written as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Members of the answer that are JSON of users too. */
  readonly keeps?: readonly string[] | undefined;
}

/** The answer as a value, payloads in it as {@link Raw}. */
export async function ask<Answer>(path: string, asking: Asking = {}): Promise<Answer> {
  const text = await askText(path, asking);
  const kept = asking.keeps === undefined ? KEPT : new Set([...KEPT, ...asking.keeps]);
  return (text === "" ? undefined : parseKeeping(text, kept)) as Answer;
}

export async function askText(path: string, asking: Asking = {}): Promise<string> {
  return (await send(path, asking)).text();
}

/** The response itself, for answers that are read as they come. */
export async function send(path: string, { method = "GET", body, signal }: Asking = {}): Promise<Response> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (token.value !== "") headers["authorization"] = `Bearer ${token.value}`;
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "omit", redirect: "error" };
  if (signal !== undefined) init.signal = signal;
  if (body !== undefined) {
    headers["content-type"] = "application/json";
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(new URL(path.replace(/^\//, ""), base), init);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Unreachable(error instanceof Error ? error.message : String(error));
  }
  if (response.ok) return response;
  const problem = new Problem(response.status, await document_(response));
  if (response.status === 401) refused(problem.message);
  throw problem;
}

async function document_(response: Response): Promise<Partial<ProblemDocument>> {
  const text = await response.text();
  try {
    return parseKeeping(text) as Partial<ProblemDocument>;
  } catch {
    return { detail: `the hub answered ${response.status} ${response.statusText}: ${text.slice(0, 200)}` };
  }
}
