/** How flows between databases and the bus are told: kinds, states, stages, and the commands that help. */

import type { FlowKindView, FlowStateView, FlowView } from "@promethean/client/http";
import * as format from "../format.ts";
import type { Tone } from "../ui/parts.tsx";

/** In the order of the view. */
export const KINDS: readonly (readonly [FlowKindView, string, string])[] = [
  ["outbox", "Outboxes", "Rows of a service's own database are published to topics. [[outbox]] in prom.toml declares one."],
  ["feed", "Change feeds", "Changes of a MongoDB collection are published to a topic. [[changefeed]] in prom.toml declares one."],
  ["projection", "Projections", "The events of a topic become documents of a collection. [[projector]] in prom.toml declares one."],
];

export const TONES: Readonly<Record<FlowStateView, Tone>> = {
  starting: "info",
  snapshot: "info",
  running: "ok",
  elsewhere: "plain",
  retrying: "warn",
  stopped: "bad",
};

/** A state in words; one that the page does not know as the hub calls it. */
export function stateWords(state: FlowStateView): string {
  if (state === "snapshot") return "first copy";
  return state === "elsewhere" ? "on another hub" : state;
}

export const isUnwell = (flow: FlowView) => flow.state === "retrying" || flow.state === "stopped";

export const stageWords = (name: string) => name.replaceAll("_", " ");

/** The stage that covers most of the way comes last. */
export const lastStage = (flow: FlowView) => flow.stages.at(-1);

export function waiting(flow: FlowView): string {
  return flow.pending === undefined ? "–" : format.exact(flow.pending);
}

export function oldest(flow: FlowView): string {
  return flow.oldest_ts === undefined ? "–" : format.duration(Math.max(0, Date.now() - flow.oldest_ts));
}

/** Since when it fails, and when it is tried again. */
export function tries(flow: FlowView): string {
  const { error } = flow;
  if (error === undefined) return "";
  const next = error.retry_ts === undefined ? "waits for an operator" : `again in ${format.duration(Math.max(0, error.retry_ts - Date.now()))}`;
  return `${format.many(error.tries, "try", "tries")} since ${format.ago(error.since_ts)}; ${next}`;
}

const COMMANDS: Readonly<Record<FlowKindView, string>> = { outbox: "outbox", feed: "feeds", projection: "projections" };

/** What can be typed, and what for. */
export function helps(flow: FlowView): (readonly [string, string])[] {
  const name = format.shell(flow.name);
  const found: (readonly [string, string])[] = [];
  if (isUnwell(flow)) found.push([`prom ${COMMANDS[flow.kind]} restart ${name}`, "retries it now"]);
  if (flow.kind === "outbox" && flow.counts.failed > 0) found.push([`prom outbox rows ${name} --status error`, "lists what failed, and with what"]);
  if (flow.kind === "feed" && flow.state === "stopped") found.push([`prom feeds seek ${name} --at -15m`, "resumes from 15 minutes ago, and skips what is before that"]);
  return found;
}
