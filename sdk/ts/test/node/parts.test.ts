/** The small parts, each by its own promise. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../../src/connection/backoff.js";
import { Pacer } from "../../src/connection/pacer.js";
import { PublishQueue } from "../../src/connection/queue.js";
import { Progress } from "../../src/connection/resume.js";
import { Deque } from "../../src/deque.js";
import type { EventEnvelope } from "../../src/event.js";
import { IdMaker, isEventId } from "../../src/event-id.js";
import { TAIL_OVERLAP_MS, TAIL_PIECE } from "../../src/limits.js";
import { Pending } from "../../src/pending.js";
import { merged, rangesText } from "../../src/ranges.js";
import { Room } from "../../src/room.js";
import { cutToBytes, exceedsBytes } from "../../src/text-size.js";
import { hubUrl } from "../../src/url.js";

test("made ids are of version 7, carry their time and only grow, even when the clock jumps back", () => {
  const maker = new IdMaker();
  const clock = [1_700_000_000_123, 1_700_000_000_123, 1_700_000_005_000, 3, 1_700_000_005_001];
  const ids = Array.from({ length: 50_000 }, (_, at) => maker.make(clock[Math.floor(at / 10_000)] as number));
  for (let at = 1; at < ids.length; at++)
    assert.ok((ids[at - 1] as string) < (ids[at] as string), `${ids[at - 1]} ${ids[at]}`);
  for (const id of [ids[0], ids[20_000]] as string[]) {
    assert.ok(isEventId(id), id);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.equal(parseInt((ids[0] as string).replace("-", "").slice(0, 12), 16), 1_700_000_000_123);
  const counted = new IdMaker();
  for (let at = 0; at < 2 ** 24 - 1; at++) counted.make(7);
  const times = [0, 1, 2].map(() => counted.make(7).slice(0, 13));
  assert.deepEqual(times, ["00000000-0007", "00000000-0008", "00000000-0008"], "a full count borrows time");
});

test("two makers at the same moment make different ids", () => {
  assert.notEqual(new IdMaker().make(5), new IdMaker().make(5));
});

test("usual addresses are accepted, and invalid ones are refused with the reason", () => {
  const check = (url: string, expected: string) => assert.equal(hubUrl(url), expected);
  check("http://127.0.0.1:8090", "ws://127.0.0.1:8090/ws");
  check("http://127.0.0.1:8090/", "ws://127.0.0.1:8090/ws");
  check("wss://hub.example", "wss://hub.example/ws");
  check("https://[::1]:9000/bus/ws?a=b", "wss://[::1]:9000/bus/ws?a=b");
  for (const [url, reason] of [
    ["127.0.0.1:8090", /not a URL|scheme/],
    ["ftp://hub.example", /none of http/],
    ["http://me:secret@hub.example", /user/],
    ["", /not a URL/],
  ] as const) {
    assert.throws(() => hubUrl(url), reason);
  }
});

test("ranges are sorted, and no offset occurs twice", () => {
  const check = (ranges: number[], expected: string) => assert.equal(rangesText(merged(ranges)), expected);
  check([], "[]");
  check([3, 5], "[[3,5]]");
  check([3, 5, 6, 6, 9, 10], "[[3,6],[9,10]]");
  check([9, 10, 3, 5, 4, 4, 12, 12], "[[3,5],[9,10],[12,12]]");
  check([1, 9, 2, 3], "[[1,9]]");
});

test("waits double to the longest with jitter and begin again after a reset", () => {
  for (const random of [0, 0.5, 0.999]) {
    const backoff = new Backoff(100, 350, () => random);
    const waits = Array.from({ length: 4 }, () => backoff.waitMs());
    assert.deepEqual(
      waits,
      [100, 200, 350, 350].map((step) => step * (0.5 + random / 2)),
    );
    backoff.reset();
    assert.ok(backoff.waitMs() <= 100);
  }
});

test("after a refusal for pace it waits for what is in flight, then probes, then doubles, and forgets it", () => {
  const pacer = new Pacer();
  assert.equal(pacer.allowance(0), Infinity);
  pacer.sent(10);
  pacer.sent(5);
  pacer.refused(10, 1000, 0);
  assert.equal(pacer.allowance(500), 0);
  pacer.release(2000);
  assert.equal(pacer.allowance(2000), 0, "five are in flight");
  pacer.refused(5, 0, 2000);
  assert.equal(pacer.allowance(2000), 1);
  pacer.sent(1);
  assert.equal(pacer.allowance(2000), 0, "one probe at a time");
  pacer.accepted(1);
  assert.equal(pacer.allowance(2000), 2);
  pacer.sent(5000);
  pacer.accepted(5000);
  assert.equal(pacer.allowance(2000), Infinity);
});

function pending(text: string, ids: string | string[] = "id"): Pending {
  return new Pending(
    text,
    "",
    "",
    ids,
    1000,
    () => {},
    () => {},
  );
}

test("publishes that wait leave together, batches alone, in order and within limits", () => {
  const queue = new PublishQueue();
  for (const text of ["1", "2"]) queue.add(pending(text));
  queue.add(pending("batch", ["a", "b"]));
  for (const text of ["3", "4", "5"]) queue.add(pending(text));
  const take = (events: number, size: number) => queue.take({ events, size }).map(({ head }) => head);
  const first = queue.take({ events: 100, size: 100 });
  assert.deepEqual(
    first.map(({ head }) => head),
    ["1", "2"],
  );
  assert.deepEqual(take(100, 100), ["batch"]);
  queue.putBack(first);
  assert.deepEqual(take(100, 100), ["1", "2", "3", "4", "5"], "what comes back leaves first");
  queue.add(pending("6".repeat(50)));
  queue.add(pending("7"));
  assert.deepEqual(take(100, 1), ["6".repeat(50)], "one goes in any case");
  assert.deepEqual(take(1, 100), ["7"]);
  assert.equal(queue.length, 0);
});

test("publishes that come back in pieces leave again in their old order", () => {
  const queue = new PublishQueue();
  for (const text of ["1", "2", "3", "4", "5", "6"]) queue.add(pending(text));
  const take = () => queue.take({ events: 2, size: 100 });
  const [first, second] = [take(), take()];
  queue.putBack(first);
  queue.putBack(second);
  const all = queue.take({ events: 100, size: 1000 }).map(({ head }) => head);
  assert.deepEqual(all, ["1", "2", "3", "4", "5", "6"]);
});

test("a publish that waits for room is not overtaken by a smaller one", () => {
  const admitted: string[] = [];
  const room = new Room(10, 100, ({ head }) => admitted.push(head));
  const [large, larger, small] = [pending("x".repeat(40), ["a"]), pending("y".repeat(70), ["b"]), pending("z", ["c"])];
  room.enter(large);
  room.enter(larger);
  room.enter(small);
  assert.deepEqual(admitted, [large.head]);
  large.succeed([]);
  assert.deepEqual(admitted, [large.head, larger.head, small.head]);
});

test("a queue returns what was put in, in order, and forgets what it is told to", () => {
  const deque = new Deque<number>();
  for (let n = 0; n < 10_000; n++) deque.push(n);
  for (let n = 0; n < 6000; n++) assert.equal(deque.shift(), n);
  deque.retain((n) => n % 2 === 0);
  assert.equal(deque.length, 2000);
  assert.equal(deque.shift(), 6000);
  deque.clear();
  assert.equal(deque.shift(), undefined);
});

function event(topic: string, offset: number, stored_ts: number): EventEnvelope {
  return { id: "", ts: 0, stored_ts, topic, partition: 0, offset, payload: 1 };
}

test("a tail continues at the log that is furthest behind and drops what was seen", () => {
  const progress = new Progress();
  assert.equal(progress.resumeAt("at the end"), undefined);
  assert.ok(progress.note(event("a", 0, 10_000)));
  assert.ok(progress.note(event("a", 1, 90_000)));
  assert.ok(progress.note(event("b", 0, 50_000)));
  assert.equal(progress.resumeAt("at the end"), 50_000 - TAIL_OVERLAP_MS);
  assert.ok(!progress.note(event("a", 1, 90_000)), "seen before");
  assert.ok(progress.note(event("b", 1, 60_000)));
  assert.ok(progress.note(event("a", 0, 99_000)), "a log that was re-created");
});

test("a quiet log does not drag a tail back, and logs that had no turn yet keep it at its beginning", () => {
  const progress = new Progress();
  progress.note(event("quiet", 0, 1_000));
  const last = 3 * TAIL_PIECE;
  assert.equal(progress.resumeAt("with history"), undefined);
  for (let offset = 0; offset <= last; offset++) progress.note(event("busy", offset, 100_000 + offset));
  assert.equal(progress.resumeAt("at the end"), 100_000 + last - TAIL_OVERLAP_MS);
  assert.equal(progress.resumeAt("with history"), 100_000 + last - TAIL_OVERLAP_MS);
});

test("sizes are those of UTF-8, and a text is never cut within a character", () => {
  assert.equal(exceedsBytes("aaaa", 4), false);
  assert.equal(exceedsBytes("äää", 5), true);
  assert.equal(cutToBytes("ab", 4), "ab");
  assert.equal(cutToBytes("äää", 5), "ää");
  assert.equal(cutToBytes("🦀🦀", 7), "🦀");
});
