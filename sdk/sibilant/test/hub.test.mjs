// Programs in Sibilant against a real hub.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startHarness } from "@promethean/client/harness";

import { compile, compileFile, root, run, scratchFolder } from "./compile.mjs";

let harness;

before(async () => {
  harness = await startHarness();
});

after(() => harness.close());

/** Runs a program that has a client called `client`. */
function runWithClient(t, program) {
  const connected = '(var client (await! (connect! process.env.PROM_URL)))\n';
  return run(compile(t, `${connected}${program}\n(await! (close! client))`), harness.url);
}

async function replay(topic) {
  const answer = await fetch(`${harness.httpUrl}/replay?topic=${topic}`);
  return (await answer.json()).events;
}

test("the example publishes and consumes", async (t) => {
  const file = join(scratchFolder(t), "heartbeat.js");
  writeFileSync(file, compileFile(join(root, "example", "heartbeat.sibilant")));
  assert.equal(await run(file, harness.url), "red:api:7 alive 64\nred:api:8 alive 128\n");
  const [first] = await replay("process.state");
  assert.equal(first.caused_by[0], (await replay("heartbeat.received"))[0].id);
});

test("the first program of the guide runs as it is written", async (t) => {
  const guide = readFileSync(join(root, "..", "..", "docs", "guide", "sibilant.md"), "utf8");
  const [, program] = /```lisp\n([^]*?)```/.exec(guide);
  const [, ...body] = program.replace("ws://127.0.0.1:8090/ws", harness.url).split("(use-promethean)\n");
  assert.equal(await run(compile(t, body.join("")), harness.url), "c-17 12\n");
});

test("publish! gives the topic's key and version, and the receipt", async (t) => {
  const said = await runWithClient(
    t,
    `(define-topic orders "orders.kept" { key (# (order) order.id) version 2 })
     (await! (then! (publish! client orders { id 7 }) (receipt) (console.log receipt.offset receipt.durability)))`,
  );
  assert.equal(said, "0 memory\n");
  const [{ key, headers, payload }] = await replay("orders.kept");
  assert.deepEqual({ key, headers, payload }, { key: "7", headers: { "x-schema-version": "2" }, payload: { id: 7 } });
});

test("a handler that throws is called again", async (t) => {
  const said = await runWithClient(
    t,
    `(await! (publish! client "jobs.queued" 1))
     (await! (new Promise (# (resolve)
       (subscribe! client "jobs.queued" "workers" { backoff { first-ms 10 max-ms 10 } } (event delivery)
         (console.log delivery.attempt)
         (when (= delivery.attempt 1) (throw (new Error "not yet")))
         (resolve)))))
     (await! (unsubscribe! client "jobs.queued" "workers"))`,
  );
  assert.equal(said, "1\n2\n");
});

test("dual-write! stores in both topics or in neither", async (t) => {
  await runWithClient(t, `(await! (dual-write! client "bills.sent" 2 { cents 5 } { key "a" }))`);
  const [plain, versioned] = [await replay("bills.sent"), await replay("bills.sent.v2")];
  for (const [event] of [plain, versioned]) {
    assert.deepEqual([event.payload, event.key, event.headers], [{ cents: 5 }, "a", { "x-schema-version": "2" }]);
  }
  await assert.rejects(runWithClient(t, `(await! (dual-write! client "bills.sent" 3 { cents 6 } { partition 9 }))`), /partition/);
  assert.equal((await replay("bills.sent")).length, 1);
});

test("start-partitioned keeps a key in its lane and in order, and lanes apart", async (t) => {
  const said = await runWithClient(
    t,
    `(define-topic moves "moves.made" { key (# (move) move.piece) })
     (var count 0
          turns [])
     (await! (Promise.all (.map [ 0 1 2 3 4 5 6 7 8 9 10 11 ] (# (n) (publish! client moves { piece (+ "p" (mod n 3)) n n })))))
     (await! (new Promise (# (resolve)
       (start-partitioned client moves "board" 4 (event partition)
         (turns.push [ event.key partition event.payload.n ])
         (assign count (+ 1 count))
         (when (= count 12) (resolve))
         (new Promise (# (done) (set-timeout done 5)))))))
     (console.log (JSON.stringify turns))`,
  );
  const turns = JSON.parse(said);
  for (const piece of ["p0", "p1", "p2"]) {
    const own = turns.filter(([key]) => key === piece);
    assert.equal(new Set(own.map(([, partition]) => partition)).size, 1, piece);
    assert.deepEqual(own.map(([, , n]) => n), [0, 3, 6, 9].map((n) => n + Number(piece[1])), piece);
  }
});

test("the macros are found by the package's name where it is installed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "prom-sibilant-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "node_modules"), join(folder, "node_modules"), {
    recursive: true,
    dereference: true,
    filter: (path) => !/node_modules\/(typescript|@typescript|\.bin)$/.test(path) && !path.endsWith("client/node_modules"),
  });
  const own = join(folder, "node_modules", "@promethean", "sibilant");
  mkdirSync(own);
  for (const part of ["package.json", "macros.sibilant", "src"]) cpSync(join(root, part), join(own, part), { recursive: true });
  const program = `(include "@promethean/sibilant/macros")\n(import-namespace prom)\n(use-promethean)
    (console.log (partition-of "" 4096))\n`;
  writeFileSync(join(folder, "program.sibilant"), program);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}\n');
  const compiler = join(folder, "node_modules", "sibilant", "bin", "sibilant");
  await run(compiler, "", { cwd: folder, args: ["program.sibilant", "-o", "."] });
  assert.equal(await run(join(folder, "program.js"), ""), "241\n");
});
