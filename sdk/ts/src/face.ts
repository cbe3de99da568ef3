/** What applications see, on every platform; each entry point adds its own `PromClient`. */

export type { EventsOptions, Handler, TailHandler } from "./client.js";
export {
  CLOSE_CODES,
  type CloseCodeFacts,
  ERROR_CODES,
  type ErrorCode,
  type ErrorCodeFacts,
  isErrorCode,
  type Reconnect,
  reconnectAfter,
  type Retry,
} from "./codes.js";
export { Delivery } from "./deliver.js";
export { CLIENT_CODES, type ClientCode, type MaybeStored, PromError, type SchemaMisfit } from "./error.js";
export type { Durability, EventEnvelope, Expectation, NewEvent, PublishOptions, Receipt, StoredEvent } from "./event.js";
export { IdMaker, isEventId } from "./event-id.js";
export { EventStream } from "./events.js";
export type * as Http from "./http.js";
export { idFromKey } from "./id-from-key.js";
export type { NackOptions } from "./nack.js";
export {
  type MongoMarks,
  mongoOnce,
  type Once,
  once,
  ONCE_TTL_MS,
  type OnceEvent,
  onceMark,
  oncePublish,
  type OnceStore,
  type PostgresClient,
  postgresOnce,
} from "./once.js";
export type { ClientOptions, GroupOptions, PositionOptions, SubscribeOptions, TailOptions, Token } from "./options.js";
export type { Payloads } from "./payload-text.js";
export { partitionOf } from "./partition-of.js";
export { type Action, type Effect, Policy, PolicyError, type Rule, scopesToRules } from "./policy.js";
export type { Assignment, Gap, Notice, NoticeListener, State, Thinned } from "./state.js";
export { Subscription } from "./subscription.js";
export { isGroupName, isReservedTopic, isTopicName } from "./topic-name.js";
export { hasWildcard, isTopicPattern, topicMatches } from "./topic-pattern.js";
export type { AnyTopics, MatchedTopic, TopicOf, TopicOrPattern } from "./topics.js";
export type { Transport, TransportListener, TransportSocket } from "./transport/transport.js";
