/** What the macros expand to. It can be called from JavaScript as well, and promises what each file says. */

export { Policy, PromClient, PromError, partitionOf, topicMatches } from "@promethean/client";

export { connect } from "./connect.js";
export { dualWrite } from "./dual-write.js";
export { rule } from "./policy.js";
export { publish } from "./publish.js";
export { startPartitioned } from "./start-partitioned.js";
export { subscribe, unsubscribe } from "./subscribe.js";
export { Topic, defineTopic } from "./topic.js";
export { upcastToLatest } from "./upcast.js";
