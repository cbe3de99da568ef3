/**
 * The heartbeat example: `heartbeat.received` comes in, `process.state` goes out, keyed by process. A process that falls
 * silent becomes stale.
 *
 * Promises: states of one process come in the order of its heartbeats; a heartbeat is acked once its state is stored; an
 * invalid heartbeat is nacked with the reason. The list of processes is kept in memory.
 */

import { PromClient } from "../index.js";

/** What a process reports. */
export interface Heartbeat {
  readonly pid: number;
  readonly name: string;
  readonly host: string;
  readonly cpu_pct: number;
  readonly mem_mb: number;
  readonly sid?: string;
}

/** The state of a process. */
export interface ProcessState extends Heartbeat {
  /** `host:name:pid`, which is also the event's key. */
  readonly processId: string;
  readonly last_seen_ts: number;
  readonly status: "alive" | "stale";
}

/** The topics of the example, for a client with types. */
export interface ProcessTopics {
  "heartbeat.received": Heartbeat;
  "process.state": ProcessState;
}

export interface ProcessExampleOptions {
  /** Silence after which a process is stale; 15 s by default. */
  readonly staleAfterMs?: number;
}

/** The running example. */
export interface ProcessExample {
  stop(): Promise<void>;
}

const STALE_AFTER_MS = 15_000;
const LOOKS_PER_SILENCE = 4;

interface Known {
  readonly state: ProcessState;
  readonly heardAt: number;
  readonly heartbeatId: string;
}

/** Starts with the earliest heartbeat of the hub, which may be a harness. */
export async function startProcessExample(
  hub: { readonly url: string },
  { staleAfterMs = STALE_AFTER_MS }: ProcessExampleOptions = {},
): Promise<ProcessExample> {
  const client = new PromClient<ProcessTopics>(hub.url);
  await client.connect();
  const known = new Map<string, Known>();
  const publish = (state: ProcessState, heartbeatId: string): Promise<unknown> =>
    client.publish("process.state", state, { key: state.processId, caused_by: [heartbeatId] });

  const lookForSilence = (): void => {
    for (const { state, heardAt, heartbeatId } of known.values()) {
      if (performance.now() - heardAt < staleAfterMs) continue;
      // Forgotten until its next heartbeat; if its state cannot be stored now, it is checked again.
      known.delete(state.processId);
      publish({ ...state, status: "stale" }, heartbeatId).catch(() => {
        if (!known.has(state.processId)) known.set(state.processId, { state, heardAt, heartbeatId });
      });
    }
  };
  const looking = setInterval(lookForSilence, Math.max(1, staleAfterMs / LOOKS_PER_SILENCE));
  looking.unref();

  await client.subscribe(
    "heartbeat.received",
    "process-example",
    async (event) => {
      const state = stateOf(event.payload, event.stored_ts);
      await publish(state, event.id);
      known.set(state.processId, { state, heardAt: performance.now(), heartbeatId: event.id });
    },
    { from: "earliest" },
  );
  return {
    async stop() {
      clearInterval(looking);
      await client.close();
    },
  };
}

function stateOf(heartbeat: Heartbeat, last_seen_ts: number): ProcessState {
  const { pid, name, host, cpu_pct, mem_mb, sid } = heartbeat ?? {};
  const isHeartbeat =
    [pid, cpu_pct, mem_mb].every((value) => typeof value === "number") &&
    [name, host].every((value) => typeof value === "string");
  if (!isHeartbeat) throw new TypeError("not a heartbeat: it has pid, name, host, cpu_pct and mem_mb");
  const processId = `${host}:${name}:${pid}`;
  const session = sid === undefined ? {} : { sid };
  return { processId, name, host, pid, ...session, cpu_pct, mem_mb, last_seen_ts, status: "alive" };
}
