// Starts the servers on free ports with separate folders, and stops them by their process id.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { findNatsServer } from "./find-nats.mjs";

const READY_WITHIN_MS = 20_000;

function findProm() {
  if (process.env.PROM_BINARY) return process.env.PROM_BINARY;
  const program = fileURLToPath(new URL("../../../target/release/prom", import.meta.url));
  if (existsSync(program)) return program;
  throw new Error("no release build of prom: run `cargo build --release -p prom-cli`, or set PROM_BINARY");
}

/** `folder` is on the disk to be measured. */
export async function startProm(folder) {
  const port = await freePort();
  const data = mkdtempSync(join(folder, "prom-bench-"));
  const args = ["serve", "--data", join(data, "data"), "--listen", `127.0.0.1:${port}`, "--log", "warn"];
  return started(findProm(), args, `ws://127.0.0.1:${port}/ws`, port, data);
}

export async function startNats(folder) {
  const port = await freePort();
  const data = mkdtempSync(join(folder, "nats-bench-"));
  const config = join(data, "nats.conf");
  writeFileSync(config, `listen: "127.0.0.1:${port}"\njetstream: { store_dir: "${join(data, "data")}" }\n`);
  return started(findNatsServer(), ["--config", config], `nats://127.0.0.1:${port}`, port, data);
}

async function started(program, args, url, port, data) {
  const log = openSync(join(data, "log"), "w");
  const child = spawn(program, args, { stdio: ["ignore", log, log] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
    rmSync(data, { recursive: true, force: true });
  };
  const deadline = performance.now() + READY_WITHIN_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`${program} does not start; see ${data}/log`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url, stop };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.on("connect", () => socket.destroy());
    socket.on("error", () => resolve(false));
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export const defaultFolder = tmpdir();
