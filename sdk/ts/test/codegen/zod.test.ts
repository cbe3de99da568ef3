/**
 * Schemas written in Zod become JSON Schema by Zod's own export, types with the same meaning by `prom codegen`, and the rule by which a
 * hub judges events by `prom schema register`.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { startHarness } from "../../src/harness.js";
import { findBinary } from "../../src/harness/find-binary.js";
import { codegen, compile, emptyFolder, root } from "./generate.js";

/** Each can stand for the other. */
const SAME = `
import type { z } from "zod";
import type { OrdersPlaced } from "./topics.js";
import type { orderPlaced } from "./schemas.mjs";

type Input = z.input<typeof orderPlaced>;
export const forward = (value: Input): OrdersPlaced => value;
export const back = (value: OrdersPlaced): Input => value;
export const wrong = (value: Omit<Input, "id">): OrdersPlaced => value; // error: a field is missing
export const wide = (value: OrdersPlaced): { status: "new" } => value; // error: there are other states
`;

const ORDER = {
  id: "6f1b7a52-3f0e-4f0a-9f5e-0f7a5a1c2d3e",
  status: "new",
  lines: [{ sku: "a", count: 1 }],
  totals: { eur: 12.5 },
  note: null,
  address: { street: "Main", zip: "12345" },
  payment: { kind: "card", last4: "1234" },
};

/** Changes that make an order another, valid or not. */
const CHANGES: object[] = [
  {},
  { id: "not a uuid" },
  { status: "lost" },
  { lines: [] },
  { lines: [{ sku: "a", count: 0 }] },
  { lines: [{ sku: "a", count: 1.5 }] },
  { lines: [{ sku: "a", count: 1, extra: true }] },
  { totals: { eur: "12" } },
  { totals: {} },
  { position: [1, 2] },
  { position: [1] },
  { position: [1, 2, 3] },
  { note: "x".repeat(200) },
  { note: "x".repeat(201) },
  { note: undefined },
  { gift: null },
  { gift: true },
  { address: { street: "", zip: "12345" } },
  { address: { street: "Main", zip: "1234" } },
  { payment: { kind: "invoice", to: { street: "Side", zip: "54321" }, due_days: 14 } },
  { payment: { kind: "invoice", to: { street: "Side", zip: "54321" }, due_days: -1 } },
  { payment: { kind: "cash" } },
  { extra: 1 },
];

interface ZodExample {
  write(folder: string): void;
  orderPlaced: { safeParse(value: unknown): { success: boolean } };
}

/** The example in a folder of its own, with the schemas that it writes. */
async function written(folder: string): Promise<ZodExample> {
  copyFileSync(join(root, "..", "..", "examples", "node", "zod", "schemas.mjs"), join(folder, "schemas.mjs"));
  const example = (await import(pathToFileURL(join(folder, "schemas.mjs")).href)) as ZodExample;
  example.write(join(folder, "schemas"));
  return example;
}

test("a hub judges events by a schema that was written in Zod as Zod does", async () => {
  const folder = emptyFolder("zod-hub");
  const example = await written(folder);
  await using harness = await startHarness();
  const prom = (...asked: string[]): string => {
    const { status, stdout, stderr } = spawnSync(findBinary(), [...asked, "--url", harness.httpUrl], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.match(prom("schema", "register", "--folder", "schemas"), /orders\.placed version 1 is registered/);
  for (const change of CHANGES) {
    const order = { ...ORDER, ...change };
    const body = JSON.stringify({ topic: "orders.placed", payload: order });
    const { status } = await fetch(`${harness.httpUrl}/publish`, { method: "POST", body });
    assert.equal(status, example.orderPlaced.safeParse(order).success ? 200 : 422, JSON.stringify(change));
  }
  prom("codegen", "ts", "--out", "topics.ts");
  codegen(join(folder, "schemas"), join(folder, "of-folder.ts"));
  assert.equal(readFileSync(join(folder, "topics.ts"), "utf8"), readFileSync(join(folder, "of-folder.ts"), "utf8"));
});

test("types and verdicts of a schema written in Zod are the same after codegen", async () => {
  const folder = emptyFolder("zod");
  const example = await written(folder);
  const { status, stderr } = codegen(join(folder, "schemas"), join(folder, "topics.ts"));
  assert.equal(status, 0, stderr);
  assert.equal(stderr.includes("note:"), false, stderr);

  writeFileSync(join(folder, "same.ts"), SAME);
  const marked = SAME.split("\n").flatMap((line, at) => (line.includes("// error:") ? [`same.ts:${at + 1}`] : []));
  // Zod writes optional properties as `?: T | undefined`, which only differs under exactOptionalPropertyTypes.
  const options = { target: "ES2022", module: "NodeNext", types: [], strict: true, allowJs: true, outDir: "out", skipLibCheck: true };
  const { complaints, said } = compile(folder, options);
  assert.deepEqual(complaints, marked.sort(), said);

  const { isOrdersPlaced } = (await import(pathToFileURL(join(folder, "out", "topics.js")).href)) as {
    isOrdersPlaced(value: unknown): boolean;
  };
  const verdicts = CHANGES.map((change) => {
    const order = { ...ORDER, ...change };
    assert.equal(isOrdersPlaced(order), example.orderPlaced.safeParse(order).success, JSON.stringify(change));
    return isOrdersPlaced(order);
  });
  assert.ok(verdicts.filter(Boolean).length > 5 && verdicts.filter((verdict) => !verdict).length > 10);
});
