/** What a client can judge by itself: partitions, patterns, policies and codes, as `test/vectors` proves at length in Node. */

import { equal, ok } from "./expectations.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  {
    name: "a key's partition is the hub's",
    async run({ sdk }) {
      // Rows of protocol/vectors/partition.json: short, not ASCII, and long enough to be hashed in stripes.
      const long = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(15).slice(0, 512);
      const partitions = ["", "order-7", "日本語", long].map((key) => sdk.partitionOf(key, 4096));
      equal(partitions, [241, 2163, 3336, 1361]);
    },
  },
  {
    name: "patterns match as in the hub",
    async run({ sdk }) {
      equal(
        ["a.b.c.d.c", "a.c", "a.b", "dlq.a.c"].map((topic) => sdk.topicMatches("a.**.c", topic)),
        [true, true, false, false],
      );
      ok(!sdk.topicMatches("**", "dlq.orders"), "a wildcard at the beginning reached into the hub's topics");
    },
  },
  {
    name: "a policy says what a token may do",
    async run({ sdk }) {
      const policy = sdk.Policy.fromScopes(["publish:heartbeat.*", "subscribe:process.**"]);
      equal(policy.allows("publish", "heartbeat.received"), true);
      equal(policy.allows("publish", "process.state"), false);
      equal(policy.allowsPattern("subscribe", "process.*"), true);
    },
  },
  {
    name: "codes say whether to try again",
    async run({ sdk }) {
      equal([sdk.ERROR_CODES.rate_limited.retry, sdk.reconnectAfter(1001), sdk.reconnectAfter(4200)], ["after", "yes", "no"]);
    },
  },
];
