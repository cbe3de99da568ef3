/** Scopes: `action:pattern` or `action:pattern@groups`, the short form of a rule that allows. */

import { topicPatternFault } from "../topic-pattern.js";
import { type Rule, PolicyError, isGroupMatch, parseAction, unknownAction } from "./rule.js";

/** No leading wildcard matches the hub's own topics. The scope `*` is for all topics, these included. */
const EVERYTHING: readonly string[] = ["**", "dlq.**", "system.**"];

/** The rule that a scope means. Throws a `PolicyError`. */
export function parseScope(scope: string): Rule {
  const refuse = (reason: string): never => {
    throw new PolicyError(`the scope ${JSON.stringify(scope)} is invalid: ${reason}`);
  };
  const [before, group] = cut(scope, "@");
  const [name, pattern] = cut(before, ":");
  const action = name === "*" ? name : (parseAction(name) ?? refuse(unknownAction(name)));
  const fault = pattern === undefined ? undefined : topicPatternFault(pattern);
  if (fault !== undefined) refuse(`the pattern ${JSON.stringify(pattern)} is invalid: ${fault}`);
  const topics = pattern !== undefined ? [pattern] : name === "*" ? EVERYTHING : ["**"];
  if (group === undefined) return { effect: "allow", action, topics };
  if (!isGroupMatch(group)) refuse(`the group ${JSON.stringify(group)} is invalid`);
  if (action === "publish") refuse("publishing has no group");
  return { effect: "allow", action, topics, groups: [group] };
}

/** What comes before the first `mark`, and what comes after it. */
function cut(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
