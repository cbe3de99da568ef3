/** Rules of a policy, in the form of a token. */

/**
 * @param {import("@promethean/client").Effect} effect
 * @param {import("@promethean/client").Rule["action"]} action
 * @param {...(string | { groups: string[] })} topics Names or patterns; at the end, if at all, the groups it is for.
 * @returns {import("@promethean/client").Rule}
 */
export function rule(effect, action, ...topics) {
  /** @type {string[]} */
  const names = [];
  /** @type {string[] | undefined} */
  let groups;
  for (const topic of topics) {
    if (typeof topic === "string") names.push(topic);
    else groups = topic.groups;
  }
  return { effect, action, topics: names, ...(groups === undefined ? {} : { groups }) };
}
