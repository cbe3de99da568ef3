/** Scopes: `action:pattern`, the short form of a rule that allows. */

import { topicPatternFault } from "../topic-pattern.js";
import { type Rule, PolicyError, parseAction, unknownAction } from "./rule.js";

/** The rule that a scope means. Throws a `PolicyError`. */
export function parseScope(scope: string): Rule {
  const colon = scope.indexOf(":");
  const [name, pattern] = colon < 0 ? [scope, "**"] : [scope.slice(0, colon), scope.slice(colon + 1)];
  const refuse = (reason: string): never => {
    throw new PolicyError(`the scope ${JSON.stringify(scope)} is invalid: ${reason}`);
  };
  const action = name === "*" ? name : (parseAction(name) ?? refuse(unknownAction(name)));
  const fault = topicPatternFault(pattern);
  if (fault !== undefined) refuse(`the pattern ${JSON.stringify(pattern)} is invalid: ${fault}`);
  return { effect: "allow", action, topics: [pattern] };
}
