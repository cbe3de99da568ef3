/** Runs `prom codegen ts` and the TypeScript compiler as a program's build would. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { findBinary } from "../../src/harness/find-binary.js";

/** The folder of the package: from `build/test/codegen`. Inside it the package is found by its name. */
export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Everything that a careful program switches on. */
export const STRICTEST = {
  target: "ES2022",
  module: "NodeNext",
  lib: ["ES2022", "DOM", "ESNext.Disposable"],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
};

/** An empty folder inside of the package. */
export function emptyFolder(name: string): string {
  const folder = join(root, "build", "codegen", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}

export function codegen(schemas: string, out: string, ...more: string[]): { status: number | null; stderr: string } {
  const asked = ["codegen", "ts", "--folder", schemas, "--out", out, ...more];
  const { status, stderr, error } = spawnSync(findBinary(), asked, { encoding: "utf8" });
  assert.equal(error, undefined);
  return { status, stderr };
}

/** What the compiler complains about: `file:line`, each once, with everything it said. */
export function compile(folder: string, options: object): { complaints: string[]; said: string } {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["."] }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", folder], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(error, undefined);
  const found = [...stdout.matchAll(/^(?:.*\/)?([\w.-]+\.ts)\((\d+),\d+\): error TS\d+: /gm)];
  const complaints = [...new Set(found.map(([, file, line]) => `${file}:${line}`))].sort();
  assert.equal(complaints.length > 0, status !== 0, `${stdout}${stderr}`);
  return { complaints, said: stdout };
}
