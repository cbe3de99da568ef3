/** Generated types make a client typed: right uses compile, and wrong ones are compile errors at their position. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { STRICTEST, codegen, compile, emptyFolder, root } from "./generate.js";

const corpus = join(root, "..", "..", "crates", "prom-schema", "tests", "codegen", "corpus");

const PROGRAM = `
import { PromClient } from "@promethean/client";
import { type HeartbeatReceivedV1, type Topics, type UnionsTagged, checks, isHeartbeatReceived, versions } from "./topics.js";

export async function right(client: PromClient<Topics>, value: unknown): Promise<number> {
  await client.publish("heartbeat.received", { pid: 1, name: "a", host: "b", cpu_pct: 0, mem_mib: 1 });
  await client.publish("nullable.fields", { required_nullable: null, required_ref: "a", optional_nullable: null });
  await client.publish("tuples.all", { point: [1, 2], entry: ["a"], rest: ["a", true, false] });
  await client.publish("records.all", { counts: { a: 1 }, named_too: { id: 1, other: 2.5 } });
  await client.publish("recursive.tree", { value: 1, left: { value: 2 }, list: { head: "a", tail: null } });
  await client.subscribe("unions.tagged", "g", (event) => area(event.payload), { normalize: true });
  await new PromClient<Topics>("http://127.0.0.1:1").publish("orders", { id: 1, total: "12.50" });
  const old: HeartbeatReceivedV1 = { pid: 1, name: "a", host: "b", cpu_pct: 0, mem_mb: 1 };
  const latest: 2 = versions["heartbeat.received"].latest;
  const known = checks["heartbeat.received"](old);
  return isHeartbeatReceived(value) ? value.mem_mib : latest + (known?.pointer.length ?? 0);
}

function area(shape: UnionsTagged): number {
  switch (shape.kind) {
    case "circle": return shape.radius;
    case "square": return shape.side;
    case "empty": return 0;
  }
}

export async function wrong(client: PromClient<Topics>): Promise<void> {
  await client.publish("heartbeat.received", { pid: 1, name: "a", host: "b", cpu_pct: 0, mem_mb: 1 }); // error: a field of v1
  await client.publish("heartbeat.received", { pid: "1", name: "a", host: "b", cpu_pct: 0, mem_mib: 1 }); // error: a text
  await client.publish("heartbeat.received", { pid: 1, name: "a", host: "b", cpu_pct: 0 }); // error: a field is missing
  await client.publish("heartbeat.recieved", {}); // error: an unknown topic
  await client.publish("process.state", {} as Topics["orders"]); // error: another topic's payload
  await client.publish("nullable.fields", { required_nullable: null, required_ref: "a", optional: null }); // error: null
  await client.publish("tuples.all", { point: [1, 2, 3] }); // error: one number too many
  await client.publish("tuples.all", { point: [1] }); // error: one number missing
  await client.publish("unions.tagged", { kind: "circle", side: 1 }); // error: a field of another member
  await new PromClient<Topics>("http://127.0.0.1:1").publish("heartbeat.received", { pid: 1, nam: "a" }); // error: misspelt
  await client.publish("enums.all", { level: "medium" }); // error: not in the list
  await client.publish("records.all", { counts: { a: "1" } }); // error: a text in a record of numbers
  await client.subscribe("heartbeat.received", "g", (event) => event.payload.mem_mb); // error: a field of v1
}
`;

test("a wrong payload is a compile error, and nothing else is", () => {
  const folder = emptyFolder("types");
  const { status, stderr } = codegen(corpus, join(folder, "topics.ts"));
  assert.equal(status, 0, stderr);
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  const lines = PROGRAM.split("\n");
  const marked = lines.flatMap((line, at) => (line.includes("// error:") ? [`program.ts:${at + 1}`] : []));
  const { complaints, said } = compile(folder, { ...STRICTEST, noUnusedLocals: false });
  assert.deepEqual(complaints, marked.sort(), said);
});

test("the code of the guide compiles", () => {
  const folder = emptyFolder("guide");
  codegen(corpus, join(folder, "topics.ts"), "--topic", "heartbeat.*");
  const page = readFileSync(join(root, "..", "..", "docs", "guide", "codegen.md"), "utf8");
  const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)];
  assert.ok(blocks.length > 0);
  blocks.forEach(([, code = ""], at) => writeFileSync(join(folder, `block${"abc"[at]}.ts`), code));
  const { complaints, said } = compile(folder, STRICTEST);
  assert.deepEqual(complaints, [], said);
});

test("a file that is current passes the check, and one that was edited does not", () => {
  const folder = emptyFolder("check");
  const file = join(folder, "topics.ts");
  assert.equal(codegen(corpus, file).status, 0);
  assert.equal(codegen(corpus, file, "--check").status, 0);
  writeFileSync(file, readFileSync(file, "utf8").replace("mem_mib", "mem_gib"));
  assert.equal(codegen(corpus, file, "--check").status, 1);
});
