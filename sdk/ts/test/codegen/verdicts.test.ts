/**
 * Generated validators give the verdict of the schema, on documents that an independent implementation has judged:
 * `crates/prom-schema/tests/codegen/verdicts.json`, or the file that `PROM_VERDICTS` names, for a longer run.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { STRICTEST, codegen, compile, emptyFolder, root } from "./generate.js";

const corpus = join(root, "..", "..", "crates", "prom-schema", "tests", "codegen");

interface Problem {
  pointer: string;
  keyword: string;
  message: string;
}

type Check = (value: unknown) => Problem | undefined;

/** `heartbeat.received/2` → `checkHeartbeatReceivedV2`. */
function nameOf(versioned: string): string {
  const [topic = "", version] = versioned.split("/");
  const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
  const segments = topic.split(".").map((segment, at) => (at > 0 && /^v\d+$/.test(segment) ? "_" : "") + capital(segment));
  return `check${segments.join("")}V${version}`;
}

test("the whole corpus compiles under the strictest settings, and its validators agree with the judge", async () => {
  const folder = emptyFolder("verdicts");
  const { status, stderr } = codegen(join(corpus, "corpus"), join(folder, "topics.ts"));
  assert.equal(status, 0, stderr);
  const { complaints, said } = compile(folder, { ...STRICTEST, lib: ["ES2020"] });
  assert.deepEqual(complaints, [], said);

  const code = readFileSync(join(folder, "topics.ts"), "utf8");
  assert.doesNotMatch(code, /\beval\(|new Function|\bimport\b/);
  const generated = (await import(pathToFileURL(join(folder, "topics.js")).href)) as Record<string, Check>;
  const file = process.env["PROM_VERDICTS"] ?? join(corpus, "verdicts.json");
  const verdicts = JSON.parse(readFileSync(file, "utf8")) as Record<string, { valid: unknown[]; invalid: unknown[] }>;
  let judged = 0;
  for (const [versioned, { valid, invalid }] of Object.entries(verdicts)) {
    const check = generated[nameOf(versioned)];
    assert.ok(check, `there is no ${nameOf(versioned)}`);
    for (const value of valid) assert.equal(check(value), undefined, `${versioned} has to take ${JSON.stringify(value)}`);
    for (const value of invalid) {
      const problem = check(value);
      assert.ok(problem, `${versioned} has to refuse ${JSON.stringify(value)}`);
      assert.match(problem.pointer, /^(\/.*)?$/s);
    }
    judged += valid.length + invalid.length;
  }
  assert.ok(judged > 1000, `only ${judged} documents`);
});

test("a problem names the part, the keyword and what was expected", async () => {
  const folder = emptyFolder("problems");
  codegen(join(corpus, "corpus"), join(folder, "topics.ts"), "--topic", "arrays.*");
  const { complaints, said } = compile(folder, STRICTEST);
  assert.deepEqual(complaints, [], said);
  const generated = (await import(pathToFileURL(join(folder, "topics.js")).href)) as Record<string, Check>;
  const check = generated["checkArraysAll"];
  assert.deepEqual(check?.({ tags: ["a"], objects: [{ sku: "a" }, { sku: "b", count: -1 }] }), {
    pointer: "/objects/1/count",
    keyword: "minimum",
    message: "must be at least 0",
  });
  // What `JSON.stringify` leaves out is absent.
  assert.equal(check?.({ tags: ["a"], matrix: undefined }), undefined);
  assert.equal(check?.({ tags: undefined })?.keyword, "required");
});
