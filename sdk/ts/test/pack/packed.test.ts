/** The packed package works in a folder that knows nothing of this one: in Node, and bundled by Vite, in a page. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { PromClient } from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { browserMissing, openBrowser } from "../browser/open-browser.js";
import { serveFiles } from "../browser/serve-files.js";
import { until } from "../scenarios/expectations.js";

/** The folder of the package: from `build/test/pack`. */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const fixtures = join(root, "test", "pack", "fixtures");

let harness: Harness;
let folder: string;
let files: string[];

before(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "prom-pack-")));
  harness = await startHarness();
  // What is built is what was built for this run; building again here would disturb the tests beside this one.
  const packed = JSON.parse(npm(root, "pack", "--json", "--ignore-scripts", "--pack-destination", folder)) as Packed;
  const [{ filename, files: inside }] = packed;
  files = inside.map(({ path }) => path);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "fresh", private: true, type: "module" }));
  npm(folder, "install", "--no-audit", "--no-fund", "--loglevel=error", join(folder, filename));
  cpSync(fixtures, folder, { recursive: true });
});

after(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

type Packed = readonly [{ readonly filename: string; readonly files: readonly { readonly path: string }[] }];

function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

test("the package holds what runs, its types and its sources, and no tests", () => {
  for (const wanted of ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/browser.js"]) {
    assert.ok(files.includes(wanted), `${wanted} is missing`);
  }
  for (const wanted of ["dist/harness.js", "dist/harness/supervisor.js", "src/index.ts", "dist/index.js.map"]) {
    assert.ok(files.includes(wanted), `${wanted} is missing`);
  }
  const unwanted = files.filter((path) => /^(test|build|bench|node_modules)\//.test(path));
  assert.deepEqual(unwanted, []);
});

test("it brings no other package with it", () => {
  const tree = JSON.parse(npm(folder, "ls", "--all", "--json")) as { dependencies: Record<string, { dependencies?: object }> };
  assert.deepEqual(Object.keys(tree.dependencies), ["@promethean/client"]);
  assert.deepEqual(Object.keys(tree.dependencies["@promethean/client"]?.dependencies ?? {}), []);
});

test("it works in Node, harness included", () => {
  const said = execFileSync(process.execPath, ["in-node.mjs"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  assert.equal(said, "hello from a fresh folder\n");
});

/** As the README does it: two orders, and a group that has settled them, with options of its own. */
async function takeFirstSteps(): Promise<void> {
  const client = new PromClient(harness.url, undefined, { onNotice: () => {} });
  await client.publish("orders.placed", { id: 7 }, { key: "7" });
  await client.publish("orders.placed", { id: 8 });
  let settled = 0;
  await client.subscribe("orders.*", "billing", () => settled++, { from: "earliest" });
  await until(() => settled === 2, "both orders");
  await client.close();
}

test("the example of the repository runs with it, after the first steps of the README, and again", async () => {
  await takeFirstSteps();
  cpSync(join(root, "..", "..", "examples", "node", "orders.mjs"), join(folder, "orders.mjs"));
  const run = [process.execPath, ["orders.mjs", harness.httpUrl], { cwd: folder, encoding: "utf8", timeout: 60_000 }] as const;
  assert.match(execFileSync(...run), /^order 0 is stored at offset 2\n[^]*out of paper\n[^]*billed 20 orders\n$/);
  assert.match(execFileSync(...run), /^order 0 is stored at offset 22\n[^]*billed 20 orders\n$/);
});

test("packing in a fresh checkout fetches the compiler first, and only there", () => {
  const checkout = mkdtempSync(join(tmpdir(), "prom-checkout-"));
  try {
    // Notes what it is asked for, instead of doing it.
    writeFileSync(join(checkout, "npm"), `#!/bin/sh\necho "$@" >> "${checkout}/asked"\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${checkout}:${process.env["PATH"]}` };
    const prepack = () => {
      rmSync(join(checkout, "asked"), { force: true });
      execFileSync(process.execPath, [join(root, "scripts", "prepack.mjs")], { cwd: checkout, env });
      return readFileSync(join(checkout, "asked"), "utf8");
    };
    assert.equal(prepack(), "ci --no-audit --no-fund\nrun build\n");
    mkdirSync(join(checkout, "node_modules", "typescript"), { recursive: true });
    assert.equal(prepack(), "run build\n");
  } finally {
    rmSync(checkout, { recursive: true, force: true });
  }
});

describe("bundled by Vite", { skip: browserMissing() }, () => {
  test("it works in a page, and nothing of Node is in the bundle", async () => {
    const vite = await import("vite");
    const built = await vite.build({ root: join(folder, "page"), logLevel: "error", build: { minify: true } });
    const chunks = [built].flat().flatMap((result) => ("output" in result ? result.output : []));
    const code = chunks.map((chunk) => ("code" in chunk ? chunk.code : "")).join("\n");
    assert.doesNotMatch(code, /node:|require\(/);
    const served = await serveFiles(join(folder, "page", "dist"));
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      const failures: string[] = [];
      page.on("pageerror", (error) => failures.push(error.message));
      await page.goto(`${served.url}/?hub=${encodeURIComponent(harness.url)}`);
      await page.waitForFunction(() => document.title !== "waiting", undefined, { timeout: 20_000 }).catch(() => undefined);
      assert.deepEqual([await page.title(), failures], ["hello from a bundle", []]);
    } finally {
      await browser.close();
      await served.close();
    }
  });
});
