// What can be known without a hub: expansions, judgements, and what is refused when a program is compiled.
import assert from "node:assert/strict";
import { test } from "node:test";

import { compile, evaluate } from "./compile.mjs";

test("scopes->policy and rules judge as the hub does", async (t) => {
  const result = await evaluate(
    t,
    `(var scoped (scopes->policy [ "publish:heartbeat.*" "subscribe:process.**" ])
          ruled (policy (allow 'subscribe "orders.**" { groups [ "billing" ] })
                        (deny "*" "orders.secret.**")))
     (set global-this 'result
       [ (scoped.allows "publish" "heartbeat.received")
         (scoped.allows "publish" "process.state")
         (ruled.allows "subscribe" "orders.placed" "billing")
         (ruled.allows "subscribe" "orders.placed")
         (ruled.allows "subscribe" "orders.secret.keys" "billing") ])`,
  );
  assert.deepEqual(result, [true, false, true, false, false]);
});

test("partition-of gives the hub's partition", async (t) => {
  assert.deepEqual(await evaluate(t, `(set global-this 'result [ (partition-of "" 4096) (partition-of "a" 1) ])`), [241, 0]);
});

test("upcast->latest takes every step, says where it came from, and leaves the event as it was", async (t) => {
  const result = await evaluate(
    t,
    `(define-topic beats "heartbeat.received" { version 3 })
     (define-upcaster beats 1 (old) { mem_mib old.mem_mb })
     (define-upcaster beats 2 (old) { mem { mib old.mem_mib } })
     (var first { id "1" payload { mem_mb 64 } }
          second { id "2" payload { mem_mib 8 } headers { "x-schema-version" "2" } }
          third { id "3" payload { mem { mib 1 } } headers { "x-schema-version" "3" } })
     (set global-this 'result [ (upcast->latest beats first) (upcast->latest beats second) (upcast->latest beats third) first ])`,
  );
  const headers = (from) => ({ "x-schema-version": "3", "x-upcasted-from": from });
  assert.deepEqual(result, [
    { id: "1", payload: { mem: { mib: 64 } }, headers: headers("1") },
    { id: "2", payload: { mem: { mib: 8 } }, headers: headers("2") },
    { id: "3", payload: { mem: { mib: 1 } }, headers: { "x-schema-version": "3" } },
    { id: "1", payload: { mem_mb: 64 } },
  ]);
});

test("a missing step and an unreadable version are errors", async (t) => {
  const program = (event) => `(define-topic beats "heartbeat.received" { version 3 })
    (define-upcaster beats 1 (old) old)
    (upcast->latest beats ${event})`;
  await assert.rejects(evaluate(t, program(`{ id "1" payload 1 }`)), /no step from version 2 to 3/);
  await assert.rejects(evaluate(t, program(`{ id "1" payload 1 headers { "x-schema-version" "two" } }`)), /"two"/);
});

test("a step that leads nowhere and a second one are refused", async (t) => {
  const program = (steps) => `(define-topic beats "heartbeat.received" { version 2 })\n${steps}`;
  await assert.rejects(evaluate(t, program("(define-upcaster beats 2 (old) old)")), /no step from 2/);
  const twice = "(define-upcaster beats 1 (old) old)\n(define-upcaster beats 1 (old) old)";
  await assert.rejects(evaluate(t, program(twice)), /already/);
});

test("what is wrong in a program is said when it is compiled", (t) => {
  const cases = [
    [`(define-topic orders "Orders.Placed")`, /"Orders.Placed" is not a topic's name, at .*program.sibilant:4/],
    [`(publish! client "orders.placed")`, /publish!: a client, a topic and a payload/],
    [`(subscribe! client "orders.placed" "billing" { concurrency 2 })`, /subscribe!: name what the handler gets/],
    [`(start-partitioned client "orders.placed" "billing" 4)`, /start-partitioned: name what the handler gets/],
    [`(scopes->rules [])`, /did you mean scopes->policy/],
    [`(upcast->newest topic event)`, /did you mean upcast->latest/],
  ];
  for (const [program, complaint] of cases) assert.throws(() => compile(t, program), complaint, program);
});
