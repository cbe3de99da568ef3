/**
 * A real hub in a test: `prom serve` on a free port of this machine, in memory unless asked otherwise. Node only.
 *
 * Promises: ready when `startHarness` resolves; gone after `close()`, and also when the test's process ends without it, in
 * any way: a small supervisor runs between the two and ends the hub when its connection to the test breaks. The harness
 * does not keep the process alive.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import { findBinary } from "./harness/find-binary.js";
import type { FromSupervisor, ToSupervisor } from "./harness/messages.js";

export { type ProcessExample, type ProcessExampleOptions, startProcessExample } from "./harness/process-example.js";
export type { Heartbeat, ProcessState, ProcessTopics } from "./harness/process-example.js";

/** Longer than a hub takes to start on a machine that is busy with other tests. */
const READY_TIMEOUT_MS = 20_000;

export interface HarnessOptions {
  /** The `prom` binary. Otherwise `PROM_BINARY`, one built above the current folder, or the one on the `PATH`. */
  readonly binary?: string;
  /** Keeps the events in this folder instead of in memory, so that they survive a `restart`. */
  readonly dataFolder?: string;
  /** More arguments for `prom serve`. */
  readonly args?: readonly string[];
  /** More environment variables, such as `JWT_SECRET`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly readyTimeoutMs?: number;
}

/** A running hub for a test. */
export interface Harness {
  /** For `PromClient`: `ws://127.0.0.1:…/ws`. */
  readonly url: string;
  /** For HTTP: `http://127.0.0.1:…`, without a slash at the end. */
  readonly httpUrl: string;
  /** The process of the hub; another one after a `restart`. */
  readonly pid: number;
  /** Ends it as a crash would: none of its handlers run. */
  kill(): Promise<void>;
  /** Asks it to shut down, as a deployment would, and waits until it has. */
  stop(): Promise<void>;
  /** Starts it again at the same address, after `kill` or `stop`. */
  restart(): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Settings that the developer has for another hub do not apply here. */
const NOT_FOR_THE_HUB = ["MONGO_URL", "WS_PORT", "OPS_PORT", "JWT_SECRET", "JWT_JWKS_URL", "JWT_AUD", "JWT_ISS"];
/** Settings of the test runner are not meant for the supervisor. */
const NOT_FOR_THE_SUPERVISOR = ["NODE_OPTIONS", "NODE_TEST_CONTEXT", "NODE_V8_COVERAGE"];

/** Starts a hub and waits until it is ready. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const hub = new SupervisedHub(options);
  try {
    await hub.restart();
  } catch (error) {
    await hub.close();
    throw error;
  }
  return hub;
}

class SupervisedHub implements Harness {
  url = "";
  httpUrl = "";
  pid = 0;
  readonly #binary: string;
  readonly #options: HarnessOptions;
  readonly #supervisor;
  #listen = "127.0.0.1:0";
  #waiting: ((message: FromSupervisor) => void) | undefined;
  #isClosed = false;

  constructor(options: HarnessOptions) {
    this.#options = options;
    this.#binary = options.binary ?? findBinary();
    // In its own process group: an interrupt from the keyboard is for the test; then the connection breaks, and that is enough.
    this.#supervisor = fork(fileURLToPath(new URL("./harness/supervisor.js", import.meta.url)), [], {
      detached: true,
      execArgv: [],
      env: environmentWithout([...NOT_FOR_THE_HUB, ...NOT_FOR_THE_SUPERVISOR]),
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#supervisor.on("message", (message: FromSupervisor) => this.#hear(message));
    this.#supervisor.on("error", (error) => this.#hear({ is: "failed", reason: error.message }));
    this.#supervisor.on("exit", () => this.#hear({ is: "failed", reason: "the hub's supervisor has ended" }));
    this.#letGo();
  }

  async restart(): Promise<void> {
    const place = this.#options.dataFolder === undefined ? ["--store", "memory"] : ["--data", this.#options.dataFolder];
    const args = ["serve", "--listen", this.#listen, ...place, ...(this.#options.args ?? [])];
    const timeoutMs = this.#options.readyTimeoutMs ?? READY_TIMEOUT_MS;
    const start: ToSupervisor = { do: "start", binary: this.#binary, args, env: { ...this.#options.env }, timeoutMs };
    const answer = await this.#ask(start);
    if (answer.is !== "ready") throw new Error(`the hub did not start: ${explain(answer)}`);
    this.pid = answer.pid;
    this.#listen = answer.address;
    this.url = `ws://${answer.address}/ws`;
    this.httpUrl = `http://${answer.address}`;
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const supervisor = this.#supervisor;
    if (supervisor.exitCode !== null || supervisor.signalCode !== null || !supervisor.connected) return;
    const ended = new Promise((resolve) => supervisor.once("exit", resolve));
    supervisor.ref();
    supervisor.disconnect();
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const answer = await this.#ask({ do: "end", signal });
    if (answer.is !== "ended") throw new Error(`the hub did not end: ${explain(answer)}`);
  }

  /** One request at a time; while it is open it keeps the process alive. */
  async #ask(question: ToSupervisor): Promise<FromSupervisor> {
    if (this.#isClosed) throw new Error("the harness is closed");
    if (this.#waiting !== undefined) throw new Error("the hub is starting or ending already; wait for that first");
    this.#supervisor.ref();
    this.#supervisor.channel?.ref();
    const answer = new Promise<FromSupervisor>((resolve) => {
      this.#waiting = resolve;
    });
    this.#supervisor.send(question);
    return answer;
  }

  #hear(message: FromSupervisor): void {
    this.#letGo();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(message);
  }

  #letGo(): void {
    this.#supervisor.unref();
    this.#supervisor.channel?.unref();
  }
}

function explain(answer: FromSupervisor): string {
  switch (answer.is) {
    case "ready":
      return "it is ready";
    case "ended":
      return `it ended with ${answer.status}${answer.said === "" ? "" : `:\n${answer.said}`}`;
    case "failed":
      return answer.reason;
  }
}

function environmentWithout(names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.includes(name)));
}
