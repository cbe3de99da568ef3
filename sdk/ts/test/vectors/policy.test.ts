/** Policies answer as the hub's do. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Action, Policy, PolicyError, scopesToRules } from "../../src/policy.js";
import { readVectors } from "./read-vectors.js";

type Row = readonly [policy: string, action: Action, asked: string, group: string | null, isAllowed: boolean];
type Pair = readonly [pattern: string, asked: string, answer: boolean];

interface Vectors {
  readonly policies: readonly { readonly name: string; readonly scopes?: string[]; readonly rules?: unknown[] }[];
  readonly topics: readonly Row[];
  readonly patterns: readonly Row[];
  readonly covers: readonly Pair[];
  readonly overlaps: readonly Pair[];
  readonly invalid_scopes: readonly string[];
  readonly invalid_rules: readonly unknown[];
}

const vectors = readVectors<Vectors>("policies.json");
const policies = new Map(
  vectors.policies.map(({ name, scopes, rules }) => [name, scopes ? Policy.fromScopes(scopes) : Policy.fromRules(rules ?? [])]),
);

function policyNamed(name: string): Policy {
  const policy = policies.get(name);
  assert.ok(policy, name);
  return policy;
}

test("a policy allows the topics that the hub allows", () => {
  assert.ok(vectors.topics.length > 900);
  for (const [name, action, topic, group, expected] of vectors.topics) {
    const answer = policyNamed(name).allows(action, topic, group ?? undefined);
    assert.equal(answer, expected, `${name}: ${action} ${topic} in ${group}`);
  }
});

test("a policy allows the patterns that the hub allows", () => {
  assert.ok(vectors.patterns.length > 1000);
  for (const [name, action, pattern, group, expected] of vectors.patterns) {
    const answer = policyNamed(name).allowsPattern(action, pattern, group ?? undefined);
    assert.equal(answer, expected, `${name}: ${action} ${pattern} in ${group}`);
  }
});

test("an allow covers a pattern where everything it can match is covered", () => {
  for (const [pattern, asked, expected] of vectors.covers) {
    const policy = Policy.fromRules([{ effect: "allow", action: "subscribe", topics: [pattern] }]);
    assert.equal(policy.allowsPattern("subscribe", asked), expected, `${pattern} covers ${asked}`);
  }
});

test("a deny meets a pattern where they have a single name in common", () => {
  for (const [pattern, asked, expected] of vectors.overlaps) {
    const policy = Policy.fromRules([
      { effect: "allow", action: "subscribe", topics: [asked] },
      { effect: "deny", action: "subscribe", topics: [pattern] },
    ]);
    assert.equal(policy.allowsPattern("subscribe", asked), !expected, `${pattern} meets ${asked}`);
  }
});

test("scopes and rules that the hub refuses are refused with their reason", () => {
  assert.ok(vectors.invalid_scopes.length > 10);
  for (const scope of vectors.invalid_scopes) assert.throws(() => Policy.fromScopes([scope]), PolicyError, scope);
  assert.ok(vectors.invalid_rules.length > 15);
  for (const rule of vectors.invalid_rules) {
    assert.throws(() => Policy.fromRules([rule]), /^PolicyError: rule 1 of the policy is invalid: /, JSON.stringify(rule));
  }
});

test("scopes are the short form of rules", () => {
  assert.deepEqual(scopesToRules(["publish:heartbeat.*", "ops"]), [
    { effect: "allow", action: "publish", topics: ["heartbeat.*"] },
    { effect: "allow", action: "ops", topics: ["**"] },
  ]);
});

test("an open policy and one without rules are opposites", () => {
  assert.equal(Policy.open().allowsEverywhere("admin"), true);
  assert.equal(Policy.open().allows("subscribe", "dlq.orders"), true);
  assert.equal(Policy.fromRules([]).allows("publish", "a"), false);
});
