/** The same over TLS, with a certificate that is only trusted because it is named. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { findBinary } from "../../src/harness/find-binary.js";
import { PromClient } from "../../src/index.js";
import { eventually, rejectsWithCode } from "../scenarios/expectations.js";

const fixtures = fileURLToPath(new URL("../../../../../crates/prom-client/tests/client/fixtures/", import.meta.url));

test("only clients that trust its certificate reach a hub over TLS", async () => {
  const folder = mkdtempSync(join(tmpdir(), "prom-tls-"));
  const config = join(folder, "prom.toml");
  const file = (name: string) => JSON.stringify(join(fixtures, name));
  writeFileSync(config, `[server]\ntls = { cert = ${file("localhost.pem")}, key = ${file("localhost.key")} }\n`);
  const port = await freePort();
  const args = ["serve", "--config", config, "--store", "memory", "--listen", `127.0.0.1:${port}`, "--log", "error"];
  const hub = spawn(findBinary(), args, { stdio: "ignore" });
  try {
    await eventually(() => answers(port), "the hub");
    const url = `wss://localhost:${port}`;
    await rejectsWithCode(new PromClient(url).connect(), "unreachable");
    const client = new PromClient(url, null, { ca: readFileSync(join(fixtures, "ca.pem"), "utf8") });
    await client.connect();
    const large = "x".repeat(300_000);
    const [receipts, seen] = [
      await Promise.all([1, large].map((payload) => client.publish("a", payload))),
      [] as unknown[],
    ];
    assert.deepEqual(
      receipts.map(({ offset }) => offset),
      [0, 1],
    );
    for await (const { payload } of client.events("a", { from: "earliest" })) if (seen.push(payload) === 2) break;
    assert.deepEqual(seen, [1, large]);
    await client.close();
  } finally {
    const ended = once(hub, "exit");
    hub.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
