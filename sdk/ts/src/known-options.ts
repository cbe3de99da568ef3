/**
 * Unknown options are refused: a misspelled one would otherwise be silently ignored. TypeScript refuses them too, but
 * not in JavaScript programs, and not for options from elsewhere.
 */

import { invalid } from "./error.js";
import type { PublishOptions } from "./event.js";
import type { NackOptions } from "./nack.js";
import type { ClientOptions, SubscribeOptions, TailOptions } from "./options.js";

/** Every name of an interface; the compiler ensures that none is missing. */
type Names<Options> = Readonly<Record<keyof Required<Options>, true>>;

const OF_CLIENT: Names<ClientOptions> = {
  maxPendingEvents: true,
  maxPendingBytes: true,
  giveUpAfterMs: true,
  whenRateLimited: true,
  backoff: true,
  connectTimeoutMs: true,
  pingAfterMs: true,
  silenceLimitMs: true,
  drainTimeoutMs: true,
  giveBackAfterMs: true,
  onNotice: true,
  transport: true,
  ca: true,
  payloads: true,
};

const OF_SUBSCRIBE: Names<SubscribeOptions & { group: unknown }> = {
  from: true,
  ts: true,
  afterId: true,
  offset: true,
  mode: true,
  order: true,
  filter: true,
  maxAttempts: true,
  backoff: true,
  partitions: true,
  park: true,
  expireAfter: true,
  topics: true,
  batchSize: true,
  maxInFlight: true,
  ackTimeoutMs: true,
  memberId: true,
  meta: true,
  weight: true,
  pin: true,
  ttlMs: true,
  onAssigned: true,
  onRevoked: true,
  normalize: true,
  concurrency: true,
  manualAck: true,
  onGap: true,
  group: true,
};

/** Without a group. */
const OF_TAIL: Names<TailOptions & { group: unknown; concurrency: unknown }> = {
  from: true,
  ts: true,
  afterId: true,
  offset: true,
  topics: true,
  normalize: true,
  filter: true,
  maxPerSecond: true,
  onThinned: true,
  onGap: true,
  concurrency: true,
  group: true,
};

const OF_PUBLISH: Names<PublishOptions> = {
  id: true,
  exact: true,
  ts: true,
  key: true,
  headers: true,
  tags: true,
  caused_by: true,
  sid: true,
  partition: true,
  dual_write: true,
  expect: true,
};

const OF_NACK: Names<NackOptions> = { delayMs: true };

const KNOWN = {
  "the client": OF_CLIENT,
  "a subscriber": OF_SUBSCRIBE,
  "a subscriber without a group": OF_TAIL,
  "a publish": OF_PUBLISH,
  "a nack": OF_NACK,
} as const;

/** Throws `bad_request` with the name, and with the one that was probably meant. */
export function checkOptions(kind: keyof typeof KNOWN, options: object): void {
  const known: Readonly<Record<string, true>> = KNOWN[kind];
  for (const name in options) {
    if (Object.hasOwn(known, name) || (options as Record<string, unknown>)[name] === undefined) continue;
    const meant = Object.keys(known).find((other) => plain(other) === plain(name));
    const hint = meant === undefined ? `there are ${Object.keys(known).join(", ")}` : `did you mean ${meant}?`;
    throw invalid(`${JSON.stringify(name.slice(0, 100))} is no option of ${kind}: ${hint}`);
  }
}

function plain(name: string): string {
  return name.replaceAll(/[^a-z0-9]/gi, "").toLowerCase();
}
