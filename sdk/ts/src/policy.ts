/**
 * Policies: whether a token's rights cover an action on a topic, or on everything that a pattern can match.
 *
 * Promises the hub's answers; `protocol/vectors/policies.json` checks both. A matching deny beats every allow, in any
 * order; what no allow matches is denied. The hub decides in any case: this is for showing people what they may do before
 * they try.
 */

import { covers } from "./policy/cover.js";
import { overlaps } from "./policy/overlap.js";
import { type Action, type CheckedRule, type Rule, checkRule, concerns } from "./policy/rule.js";
import { parseScope } from "./policy/scope.js";
import { topicMatches } from "./topic-pattern.js";

export { type Action, type Effect, type Rule, PolicyError } from "./policy/rule.js";

/** The rules that scopes mean, in the form of a token's `policy`. */
export function scopesToRules(scopes: readonly string[]): Rule[] {
  return scopes.map(parseScope);
}

/** Checked rules. */
export class Policy {
  readonly #rules: readonly CheckedRule[] | "open";

  private constructor(rules: readonly CheckedRule[] | "open") {
    this.#rules = rules;
  }

  /** Every right to every topic, including the hub's own. */
  static open(): Policy {
    return new Policy("open");
  }

  /**
   * Each is `action:pattern` or `action:pattern@groups`. Without a pattern the scope covers every topic that `**` matches, and
   * `*` alone the hub's own topics too. Throws a `PolicyError`.
   */
  static fromScopes(scopes: readonly string[]): Policy {
    return Policy.fromRules(scopesToRules(scopes));
  }

  /** Rules as in a token. Throws a `PolicyError` that names the invalid rule. */
  static fromRules(rules: readonly unknown[]): Policy {
    return new Policy(rules.map((rule, index) => checkRule(rule, index + 1)));
  }

  /** Whether the action is allowed on the topic. A rule with `groups` matches only if it names the caller's group. */
  allows(action: Action, topic: string, group?: string): boolean {
    const matches = (rule: CheckedRule): boolean => rule.topics.some((pattern) => topicMatches(pattern, topic));
    return this.#decide(action, group, matches, matches);
  }

  /** Whether everything the pattern can match is allowed, and no deny overlaps it. */
  allowsPattern(action: Action, pattern: string, group?: string): boolean {
    const takesIn = (rule: CheckedRule): boolean => rule.topics.some((allowed) => covers(allowed, pattern));
    const meets = (rule: CheckedRule): boolean => rule.topics.some((denied) => overlaps(denied, pattern));
    return this.#decide(action, group, takesIn, meets);
  }

  /** Hub-wide views and changes: as for the pattern `**`, outside any group. */
  allowsEverywhere(action: Action): boolean {
    return this.allowsPattern(action, "**");
  }

  #decide(
    action: Action,
    group: string | undefined,
    takesIn: (rule: CheckedRule) => boolean,
    meets: (rule: CheckedRule) => boolean,
  ): boolean {
    if (this.#rules === "open") return true;
    const concerned = this.#rules.filter((rule) => concerns(rule, action, group));
    const isDenied = concerned.some((rule) => rule.effect === "deny" && meets(rule));
    return !isDenied && concerned.some((rule) => rule.effect === "allow" && takesIn(rule));
  }
}
