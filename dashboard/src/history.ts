/**
 * What the page has seen of the hub since it was opened: rates and lags, for curves. Nothing is asked for while the page is
 * hidden, and what is kept is bounded.
 */

import type { HubStats, LagAnswer, LagView } from "@promethean/client/http";
import { signal } from "@preact/signals";
import { ask } from "./hub.ts";
import { may } from "./session.ts";

/** Half an hour at one look in two seconds. */
const KEPT = 900;
const STATS_EVERY_MS = 2000;
/** Each look at a lag asks the store. */
const LAG_EVERY_MS = 4000;

/** Points in time with values of the same length; times in seconds, as the charts want them. */
export interface Series {
  readonly at: readonly number[];
  readonly values: readonly (readonly number[])[];
}

const EMPTY: Series = { at: [], values: [] };

export function append(series: Series, at: number, point: readonly number[]): Series {
  const from = series.at.length >= KEPT ? 1 : 0;
  const values = point.map((value, index) => [...(series.values[index]?.slice(from) ?? []), value]);
  return { at: [...series.at.slice(from), at], values };
}

export const stats = signal<HubStats | undefined>(undefined);
export const statsError = signal<Error | undefined>(undefined);
/** Published, delivered and acked per second. */
export const rates = signal<Series>(EMPTY);
/** Lag in events, in flight, dead letters, nacks, connections, bytes. */
export const levels = signal<Series>(EMPTY);
export const lags = signal<readonly LagView[] | undefined>(undefined);
export const lagsError = signal<Error | undefined>(undefined);
export const lagsOmitted = signal(0);
/** By topic and group: events and seconds behind. */
const lagSeries = signal<ReadonlyMap<string, Series>>(new Map());

const keyOf = (topic: string, group: string) => `${topic}\n${group}`;

export function lagOver(topic: string, group: string): Series {
  return lagSeries.value.get(keyOf(topic, group)) ?? EMPTY;
}

/** Begins to look; the returned function ends it. */
export function watchHub(): () => void {
  const ended = new AbortController();
  const every = (ms: number, look: () => Promise<void>) => {
    let isLooking = false;
    let nextAt = 0;
    const turn = async () => {
      const began = performance.now();
      if (isLooking || document.hidden || began < nextAt) return;
      isLooking = true;
      await look().finally(() => (isLooking = false));
      nextAt = restUntil(began);
    };
    void turn();
    const timer = setInterval(turn, ms);
    ended.signal.addEventListener("abort", () => clearInterval(timer));
  };
  if (may("ops", "everywhere")) every(STATS_EVERY_MS, () => lookAtStats(ended.signal));
  if (may("ops")) every(LAG_EVERY_MS, () => lookAtLags(ended.signal));
  return () => {
    ended.abort();
    stats.value = undefined;
    lags.value = undefined;
    rates.value = EMPTY;
    levels.value = EMPTY;
    lagSeries.value = new Map();
  };
}

/** What takes the hub long is asked for seldom: a page that is left open costs it a tenth of a processor at the most. */
export function restUntil(began: number): number {
  const now = performance.now();
  return now + 9 * (now - began);
}

async function lookAtStats(signal: AbortSignal): Promise<void> {
  try {
    const now = await ask<HubStats>("/stats", { signal });
    const at = Date.now() / 1000;
    stats.value = now;
    statsError.value = undefined;
    if (now.rates) {
      const { published_per_s, delivered_per_s, acked_per_s } = now.rates;
      rates.value = append(rates.value, at, [published_per_s, delivered_per_s, acked_per_s]);
    }
    levels.value = append(levels.value, at, [
      now.lag_events,
      now.in_flight,
      now.dead_letters,
      now.events.nacked,
      now.ws_connections,
      now.store.bytes,
    ]);
  } catch (error) {
    if (!signal.aborted) statsError.value = error as Error;
  }
}

async function lookAtLags(signal: AbortSignal): Promise<void> {
  try {
    const answer = await ask<LagAnswer>("/lag", { signal });
    const many = "lags" in answer ? answer.lags : [answer];
    const at = Date.now() / 1000;
    const next = new Map<string, Series>();
    for (const lag of many) {
      const key = keyOf(lag.topic, lag.group);
      next.set(key, append(lagSeries.value.get(key) ?? EMPTY, at, [lag.lagEvents, lag.lagMs / 1000]));
    }
    lags.value = many;
    lagsOmitted.value = "lags" in answer ? (answer.omitted ?? 0) : 0;
    lagSeries.value = next;
    lagsError.value = undefined;
  } catch (error) {
    if (!signal.aborted) lagsError.value = error as Error;
  }
}
