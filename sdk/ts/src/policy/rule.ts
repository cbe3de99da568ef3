/**
 * One rule of a policy, as written in a token. An unknown field is an error: a misspelled `groups` would otherwise turn a
 * rule for one group into a rule for all.
 */

import { isGroupName } from "../topic-name.js";
import { topicPatternFault } from "../topic-pattern.js";

/** What a caller wants to do. */
export type Action = "publish" | "subscribe" | "ops" | "admin";

export type Effect = "allow" | "deny";

/** Allows or denies actions on topics. */
export interface Rule {
  readonly effect: Effect;
  readonly action: Action | "*" | readonly (Action | "*")[];
  /** Names or patterns; at least one. */
  readonly topics: readonly string[];
  /** Only for callers in one of these groups; `billing-*` is all that begin so, `*` any group. Without it, for all callers. */
  readonly groups?: readonly string[];
}

/** A checked rule. */
export interface CheckedRule {
  readonly effect: Effect;
  readonly actions: ReadonlySet<Action>;
  readonly topics: readonly string[];
  readonly groups: readonly string[] | undefined;
}

/** A rule or a scope that the hub would refuse, and why. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
}

export const ACTIONS: readonly Action[] = ["publish", "subscribe", "ops", "admin"];
const FIELDS: ReadonlySet<string> = /* @__PURE__ */ new Set(["effect", "action", "topics", "groups"]);

/** Whether the rule applies to this action, in this group or outside any. */
export function concerns(rule: CheckedRule, action: Action, group: string | undefined): boolean {
  if (!rule.actions.has(action)) return false;
  if (rule.groups === undefined) return true;
  return group !== undefined && rule.groups.some((candidate) => takesIn(candidate, group));
}

function takesIn(candidate: string, group: string): boolean {
  return candidate.endsWith("*") ? group.startsWith(candidate.slice(0, -1)) : candidate === group;
}

/** Whether it is a group's name, the beginning of one with a star behind it, or the star alone. */
export function isGroupMatch(text: string): boolean {
  return text === "*" || isGroupName(text.endsWith("*") ? text.slice(0, -1) : text);
}

/** `number` counts from 1, as people count. */
export function checkRule(rule: unknown, number: number): CheckedRule {
  const refuse = (reason: string): never => {
    throw new PolicyError(`rule ${number} of the policy is invalid: ${reason}`);
  };
  if (typeof rule !== "object" || rule === null || Array.isArray(rule)) return refuse("it is not an object");
  const { effect, action, topics, groups } = rule as Record<string, unknown>;
  const unknown = Object.keys(rule).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) refuse(`it has the unknown field ${JSON.stringify(unknown)}`);
  if (effect !== "allow" && effect !== "deny") return refuse("its `effect` must be allow or deny");
  const actions = new Set(namedActions(action, refuse));
  const patterns = texts(topics, "topics", refuse);
  if (patterns.length === 0) refuse("its `topics` are empty; name at least one pattern, ** for every topic");
  for (const pattern of patterns) {
    const fault = topicPatternFault(pattern);
    if (fault !== undefined) refuse(`the pattern ${JSON.stringify(pattern)} is invalid: ${fault}`);
  }
  return { effect, actions, topics: patterns, groups: checkGroups(groups, actions, refuse) };
}

function namedActions(action: unknown, refuse: (reason: string) => never): readonly Action[] {
  const names: readonly unknown[] = Array.isArray(action) ? action : [action];
  if (names.length === 0) refuse("its list of actions is empty; name one, or * for all");
  return names.flatMap((name) => (name === "*" ? ACTIONS : [parseAction(name) ?? refuse(unknownAction(name))]));
}

export function parseAction(name: unknown): Action | undefined {
  return ACTIONS.find((action) => action === name);
}

export function unknownAction(name: unknown): string {
  return `${JSON.stringify(name) ?? "nothing"} is no action; there are ${ACTIONS.join(", ")} and *`;
}

function checkGroups(
  groups: unknown,
  actions: ReadonlySet<Action>,
  refuse: (reason: string) => never,
): readonly string[] | undefined {
  if (groups === undefined || groups === null) return undefined;
  const names = texts(groups, "groups", refuse);
  if (names.length === 0) refuse("its `groups` are empty; name at least one, or leave `groups` out for all callers");
  const bad = names.find((name) => !isGroupMatch(name));
  if (bad !== undefined) refuse(`the group ${JSON.stringify(bad)} is invalid; use 1 to 128 of A-Z a-z 0-9 . _ : -, and a * at the end at most`);
  if (actions.size === 1 && actions.has("publish")) {
    refuse("it has `groups`, but publishing has no group; leave `groups` out");
  }
  return names;
}

function texts(list: unknown, field: string, refuse: (reason: string) => never): readonly string[] {
  if (!Array.isArray(list) || !list.every((item) => typeof item === "string")) {
    return refuse(`its \`${field}\` have to be a list of texts`);
  }
  return list;
}
