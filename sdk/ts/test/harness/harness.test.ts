/** The hub of a test is real, starts at once, and ends with the test, however that ends. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { startHarness } from "../../src/harness.js";
import type { Http } from "../../src/index.js";

const DEADLINE_MS = 20_000;
const harnessModule = new URL("../../src/harness.js", import.meta.url).href;

test("a hub is ready within a second", async () => {
  const begin = performance.now();
  await using harness = await startHarness();
  const tookMs = performance.now() - begin;
  assert.ok(tookMs < 1000, `${tookMs} ms`);
  assert.equal((await fetch(`${harness.httpUrl}/readyz`)).status, 200);
});

test("a closed harness has no hub any more, and closing twice is fine", async () => {
  const harness = await startHarness();
  await harness.close();
  await harness.close();
  await untilGone(harness.pid);
  await assert.rejects(harness.restart(), /closed/);
});

test("a killed hub comes back at the same address with what it had stored", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "prom-harness-"));
  try {
    await using harness = await startHarness({ dataFolder });
    const { url, httpUrl, pid } = harness;
    const event = { topic: "orders.placed", payload: { id: 7 } };
    const answer = await fetch(`${httpUrl}/publish`, { method: "POST", body: JSON.stringify(event) });
    assert.equal(answer.status, 200);
    await harness.kill();
    await assert.rejects(fetch(`${httpUrl}/readyz`));
    await harness.restart();
    assert.deepEqual([harness.url, harness.pid === pid], [url, false]);
    const replay = (await (await fetch(`${httpUrl}/replay?topic=orders.placed`)).json()) as Http.ReplayPage;
    assert.equal(replay.count, 1);
    await harness.stop();
    await harness.restart();
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
});

test("a test that is killed takes its hub with it", async () => {
  const { process: tester, hubPid } = await startTester("setInterval(() => {}, 1000);");
  tester.kill("SIGKILL");
  await untilGone(hubPid);
});

test("a test that forgets to close still ends, and its hub with it", async () => {
  const { process: tester, hubPid, ended } = await startTester("");
  assert.deepEqual(await ended, [0, null]);
  assert.equal(tester.exitCode, 0);
  await untilGone(hubPid);
});

test("a test that throws takes its hub with it", async () => {
  const { ended, hubPid } = await startTester("throw new Error('on purpose');");
  const [code] = await ended;
  assert.equal(code, 1);
  await untilGone(hubPid);
});

test("a hub that cannot start is explained in its own words", async () => {
  await assert.rejects(startHarness({ args: ["--nonsense"] }), /did not start: it ended with exit code 2:\n[^]*--nonsense/);
  await assert.rejects(startHarness({ binary: "/nowhere/prom" }), /did not start: \/nowhere\/prom cannot be started/);
});

test("without a binary the error says how to get one", async () => {
  const script = `import(${JSON.stringify(new URL("../../src/harness/find-binary.js", import.meta.url).href)})
    .then(({ findBinary }) => findBinary()).catch((error) => console.log(error.message));`;
  const said = async (env: Record<string, string>): Promise<string> => {
    const child = spawn(process.execPath, ["-e", script], { cwd: tmpdir(), env, stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
    await once(child, "close");
    return text;
  };
  assert.match(await said({}), /set PROM_BINARY to it, put it on the PATH, or run `cargo build/);
  assert.match(await said({ PROM_BINARY: "/nowhere/prom" }), /PROM_BINARY names \/nowhere\/prom/);
});

interface Tester {
  readonly process: ChildProcess;
  readonly hubPid: number;
  readonly ended: Promise<unknown[]>;
}

/** Another process that starts a harness, says its hub's process id, and continues with `rest`. */
async function startTester(rest: string): Promise<Tester> {
  const script = `const { startHarness } = await import(${JSON.stringify(harnessModule)});
    const harness = await startHarness();
    console.log(harness.pid);
    ${rest}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return { process: child, hubPid: Number(line), ended };
}

async function untilGone(pid: number): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (isRunning(pid)) {
    assert.ok(performance.now() < deadline, `process ${pid} is still there`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
