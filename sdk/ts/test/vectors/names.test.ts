/** Names, patterns and headers are judged as the hub judges them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalHeaderName, headerFault } from "../../src/header-rules.js";
import { isGroupName, isReservedTopic, isTopicName, topicNameFault } from "../../src/topic-name.js";
import { isTopicPattern, topicMatches, topicPatternFault } from "../../src/topic-pattern.js";
import { readVectors } from "./read-vectors.js";

interface Names {
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
}

interface Patterns {
  readonly matches: readonly (readonly [pattern: string, topic: string, matches: boolean])[];
  readonly invalid: readonly string[];
}

interface Headers {
  readonly valid_names: readonly (readonly [given: string, kept: string])[];
  readonly invalid_names: readonly string[];
  readonly valid_values: readonly string[];
  readonly invalid_values: readonly string[];
}

test("topic names are valid where the hub takes them", () => {
  const { valid, invalid } = readVectors<Names>("topic_names.json");
  for (const name of valid) assert.equal(topicNameFault(name), undefined, name);
  for (const name of invalid) assert.equal(isTopicName(name), false, JSON.stringify(name));
});

test("patterns match what they match in the hub", () => {
  const { matches, invalid } = readVectors<Patterns>("topic_patterns.json");
  assert.ok(matches.length > 700);
  for (const [pattern, topic, expected] of matches) {
    assert.equal(topicPatternFault(pattern), undefined, pattern);
    assert.equal(topicMatches(pattern, topic), expected, `${pattern} and ${topic}`);
  }
  for (const pattern of invalid) assert.equal(isTopicPattern(pattern), false, JSON.stringify(pattern));
});

test("many wildcards do not take long", () => {
  const pattern = `${"**.a.".repeat(40)}b`;
  const begin = performance.now();
  assert.equal(topicMatches(pattern, "a.".repeat(120) + "c"), false);
  assert.ok(performance.now() - begin < 500);
});

test("headers are valid where the hub takes them, and kept as it keeps them", () => {
  const { valid_names, invalid_names, valid_values, invalid_values } = readVectors<Headers>("headers.json");
  for (const [given, kept] of valid_names) assert.equal(canonicalHeaderName(given), kept, given);
  for (const name of invalid_names) {
    assert.equal(canonicalHeaderName(name), undefined, JSON.stringify(name));
    assert.match(headerFault(name, "v") ?? "", /names are x-/);
  }
  for (const value of valid_values) assert.equal(headerFault("x-a", value), undefined, JSON.stringify(value));
  for (const value of invalid_values) assert.ok(headerFault("x-a", value), JSON.stringify(value));
  assert.equal(headerFault("x-a", "ü".repeat(4096)), undefined);
  assert.ok(headerFault("x-a", "ü".repeat(4097)));
});

test("the hub's topics and groups are known by their names", () => {
  assert.deepEqual(["dlq.a", "system.audit", "dlq", "systems.a"].map(isReservedTopic), [true, true, false, false]);
  for (const good of ["billing", "changelog:processes", "A.b_c-1", "g".repeat(128)]) assert.ok(isGroupName(good), good);
  for (const bad of ["", "a b", "a/b", "ü", "a\0", "a\n", "g".repeat(129)]) assert.ok(!isGroupName(bad), bad);
});
