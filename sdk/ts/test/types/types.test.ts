/** Typed topics: right uses compile, and wrong ones are compile errors at their position. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** The folder of the package: from `build/test/types`. */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const fixtures = join(root, "test", "types", "fixtures");

/** What `tsc --strict` complains about in the fixtures: `file:line`, each once. */
function complaints(): string[] {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { stdout, stderr, error } = spawnSync(process.execPath, [tsc, "--pretty", "false", "-p", fixtures], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(error, undefined);
  const found = [...stdout.matchAll(/^(?:.*\/)?([a-z]+\.ts)\((\d+),\d+\): error TS\d+: /gm)];
  assert.equal(found.length > 0, true, `tsc has to complain about wrong.ts, and said:\n${stdout}${stderr}`);
  return [...new Set(found.map(([, file, line]) => `${file}:${line}`))].sort();
}

function markedLines(): string[] {
  const lines = readFileSync(join(fixtures, "wrong.ts"), "utf8").split("\n");
  return lines.flatMap((line, index) => (line.includes("// error:") ? [`wrong.ts:${index + 1}`] : [])).sort();
}

test("a wrong payload, an unknown topic and an unknown option are compile errors, and nothing else is", () => {
  const marked = markedLines();
  assert.ok(marked.length > 10);
  assert.deepEqual(complaints(), marked);
});
