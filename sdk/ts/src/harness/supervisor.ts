/**
 * The process between a test and its hub: starts and ends the hub on request, and ends it when the connection to the test
 * breaks. Nothing else can: a killed test runs no code any more.
 */

import { type ChildProcess, spawn } from "node:child_process";

import type { FromSupervisor, ToSupervisor } from "./messages.js";

/** Where the hub says that it listens, once it is ready. */
const GREETING = /ws:\/\/([0-9.]+:[0-9]+)\/ws/;
const SAID_CHARACTERS = 16_384;

let hub: ChildProcess | undefined;
let said = "";

process.on("disconnect", () => {
  if (hub === undefined) process.exit(0);
  // Waits for it: a process whose parent is gone may stay in the process table.
  hub.once("exit", () => process.exit(0));
  hub.kill("SIGKILL");
});

process.on("message", (message: ToSupervisor) => {
  if (message.do === "start") start(message);
  else end(message.signal);
});

function start({ binary, args, env, timeoutMs }: Extract<ToSupervisor, { do: "start" }>): void {
  if (hub !== undefined) return answer({ is: "failed", reason: "it runs already; end it first" });
  said = "";
  const child = spawn(binary, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  hub = child;
  let greeting = "";
  const late = setTimeout(() => {
    hub = undefined;
    child.kill("SIGKILL");
    answer({ is: "failed", reason: `it was not ready within ${timeoutMs} ms\n${said}` });
  }, timeoutMs);
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID_CHARACTERS);
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (greeting === "ready") return;
    greeting += text;
    const address = GREETING.exec(greeting)?.[1];
    if (address === undefined) return;
    greeting = "ready";
    clearTimeout(late);
    answer({ is: "ready", pid: child.pid ?? 0, address });
  });
  child.once("error", (error) => {
    clearTimeout(late);
    hub = undefined;
    answer({ is: "failed", reason: `${binary} cannot be started: ${error.message}` });
  });
  // After its last output was read.
  child.once("close", (code, signal) => {
    if (hub !== child) return;
    clearTimeout(late);
    hub = undefined;
    answer({ is: "ended", status: signal ?? `exit code ${code}`, said });
  });
}

/** The answer comes when it has ended. */
function end(signal: "SIGKILL" | "SIGTERM"): void {
  if (hub === undefined) return answer({ is: "ended", status: "nothing to end", said });
  hub.kill(signal);
}

function answer(message: FromSupervisor): void {
  if (process.connected) process.send?.(message);
}
