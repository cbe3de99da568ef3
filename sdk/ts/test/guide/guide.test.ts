/** The code of the guide compiles as it is written, and its programs run. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { type Harness, startHarness } from "../../src/harness.js";

/** The folder of the package: from `build/test/guide`. Inside it the package is found by its name. */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = join(root, "build", "guide");
const PAGES = [join(root, "..", "..", "docs", "guide", "typescript-client.md"), join(root, "README.md")];

/** Top-level statements that open and close a client are a program; the rest shows how something is written. */
const isProgram = (code: string): boolean => /^await client\.close\(\);$/m.test(code);

let harness: Harness | undefined;

before(async () => {
  harness = await startHarness();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

after(() => harness?.close());

test("the code of the guide compiles, and its programs run", { timeout: 120_000 }, async () => {
  const blocks = PAGES.flatMap((page) => [...readFileSync(page, "utf8").matchAll(/^```ts\n([^]*?)^```$/gm)]);
  const programs: string[] = [];
  assert.ok(blocks.length > 10);
  blocks.forEach(([, code = ""], index) => {
    const name = `block-${index + 1}`;
    writeFileSync(join(folder, `${name}.ts`), code.replaceAll("http://127.0.0.1:8090", harness?.url ?? ""));
    if (isProgram(code)) programs.push(name);
  });
  const options = { target: "ES2022", module: "NodeNext", lib: ["ES2023", "DOM"], types: ["node"], strict: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["."] }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", folder], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
  assert.ok(programs.length >= 4);
  for (const program of programs) {
    const file = join(folder, `${program}.js`);
    await assert.doesNotReject(promisify(execFile)(process.execPath, [file], { timeout: 20_000 }), file);
  }
});
