/** Error and close codes. Made from `protocol/codes.json` by `cargo xtask gen`; not edited by hand. */

/** Whether sending the same again can help: `after` means after `retry_after_ms`, `same_id` with the same event id. */
export type Retry = "no" | "yes" | "after" | "same_id" | "with_new_token";

/** Whether connecting again can help. */
export type Reconnect = "no" | "yes" | "with_token";

/** What is known of an error code. */
export interface ErrorCodeFacts {
  /** The status of the same refusal over HTTP. */
  readonly httpStatus: number;
  readonly retry: Retry;
  readonly meaning: string;
  /** What to do about it. */
  readonly fix: string;
}

/** What is known of a close code. */
export interface CloseCodeFacts {
  readonly name: string;
  readonly reconnect: Reconnect;
  readonly meaning: string;
}

/** Why a frame or a request was refused. */
export const ERROR_CODES = {
  /** The text is not one JSON object. */
  bad_json: {
    httpStatus: 400,
    retry: "no",
    meaning: "The text is not one JSON object.",
    fix: "Send one JSON object per text frame.",
  },
  /** A field is missing, has the wrong type or a value out of range, or an option is not what the group agreed on. */
  bad_request: {
    httpStatus: 400,
    retry: "no",
    meaning: "A field is missing, has the wrong type or a value out of range, or an option is not what the group agreed on.",
    fix: "Change what the message names.",
  },
  /** AUTH has to come first. */
  unauthorized: {
    httpStatus: 401,
    retry: "no",
    meaning: "AUTH has to come first.",
    fix: "Send AUTH and wait for its OK, or send it first without waiting.",
  },
  /** The token's rights do not cover this, or its subject has as many of it as it may. */
  forbidden: {
    httpStatus: 403,
    retry: "no",
    meaning: "The token's rights do not cover this, or its subject has as many of it as it may.",
    fix: "Use a token whose scopes or policy allow the action on the topic; where a cap is named, use what exists or have it raised.",
  },
  /** The hub wants a token and none was sent. */
  no_token: {
    httpStatus: 401,
    retry: "no",
    meaning: "The hub wants a token and none was sent.",
    fix: "Send a token.",
  },
  /** The token is malformed, forged, for another audience or not valid yet. */
  jwt_invalid: {
    httpStatus: 401,
    retry: "no",
    meaning: "The token is malformed, forged, for another audience or not valid yet.",
    fix: "Get a token that this hub accepts; the message says what is wrong with this one.",
  },
  /** The token's time is over. */
  jwt_expired: {
    httpStatus: 401,
    retry: "with_new_token",
    meaning: "The token's time is over.",
    fix: "Get a fresh token and send AUTH again.",
  },
  /** Too many events from this connection or subject, or for this topic. */
  rate_limited: {
    httpStatus: 429,
    retry: "after",
    meaning: "Too many events from this connection or subject, or for this topic.",
    fix: "Wait for `retry_after_ms`, then send it again.",
  },
  /** This connection has this subscription already. */
  already_subscribed: {
    httpStatus: 409,
    retry: "no",
    meaning: "This connection has this subscription already.",
    fix: "Use the one that runs, or unsubscribe first.",
  },
  /** This connection has no such subscription. */
  not_subscribed: {
    httpStatus: 409,
    retry: "no",
    meaning: "This connection has no such subscription.",
    fix: "Subscribe first, with the same topic and group.",
  },
  /** The event is not leased to this connection (any more). */
  unknown_id: {
    httpStatus: 404,
    retry: "no",
    meaning: "The event is not leased to this connection (any more).",
    fix: "Nothing: the group hands it out again if it is not settled.",
  },
  /** The topic, group or event does not exist. */
  unknown_topic: {
    httpStatus: 404,
    retry: "no",
    meaning: "The topic, group or event does not exist.",
    fix: "Create it first.",
  },
  /** Retention or compaction removed what an answer about that time takes; `earliest_ts` says since when there is one. */
  history_gone: {
    httpStatus: 410,
    retry: "no",
    meaning: "Retention or compaction removed what an answer about that time takes; `earliest_ts` says since when there is one.",
    fix: "Ask for a later time.",
  },
  /** The cursor or the partition has another owner now. */
  fenced: {
    httpStatus: 409,
    retry: "no",
    meaning: "The cursor or the partition has another owner now.",
    fix: "Subscribe again.",
  },
  /** The partition or the key is not as the publisher expected; `actual` says how it is. Nothing was stored. */
  conflict: {
    httpStatus: 409,
    retry: "no",
    meaning: "The partition or the key is not as the publisher expected; `actual` says how it is. Nothing was stored.",
    fix: "Read again, decide again, and publish with what you read.",
  },
  /** The payload does not fit the topic's schema. */
  schema_invalid: {
    httpStatus: 422,
    retry: "no",
    meaning: "The payload does not fit the topic's schema.",
    fix: "Change the payload where the message points.",
  },
  /** The schema is not compatible with the versions before it; `violations` says where and why. */
  schema_incompatible: {
    httpStatus: 409,
    retry: "no",
    meaning: "The schema is not compatible with the versions before it; `violations` says where and why.",
    fix: "Change the schema as each violation says, or register it with an upcaster.",
  },
  /** A frame, payload or batch is above its limit. */
  too_large: {
    httpStatus: 413,
    retry: "no",
    meaning: "A frame, payload or batch is above its limit.",
    fix: "Send less at once.",
  },
  /** The store could not take it; `stored` says whether it may have been stored anyway. */
  publish_failed: {
    httpStatus: 503,
    retry: "same_id",
    meaning: "The store could not take it; `stored` says whether it may have been stored anyway.",
    fix: "Send it again with the same id: it is stored once.",
  },
  /** The settlement is not durable yet; the hub keeps trying. */
  ack_failed: {
    httpStatus: 503,
    retry: "yes",
    meaning: "The settlement is not durable yet; the hub keeps trying.",
    fix: "Nothing, or send it again.",
  },
  /** The hub or what it depends on cannot take this now. */
  overloaded: {
    httpStatus: 503,
    retry: "yes",
    meaning: "The hub or what it depends on cannot take this now.",
    fix: "Try again later, with backoff.",
  },
  /** Something that should not happen; the hub's log says more. */
  internal: {
    httpStatus: 500,
    retry: "yes",
    meaning: "Something that should not happen; the hub's log says more.",
    fix: "Try again; report it if it stays.",
  },
} as const satisfies Readonly<Record<string, ErrorCodeFacts>>;

/** The code of an `ERR` frame. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Whether this client knows the code; a newer hub may have more. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** Why the hub ended a connection, by the number of the WebSocket close. */
export const CLOSE_CODES: Readonly<Record<number, CloseCodeFacts>> = {
  1000: { name: "normal", reconnect: "no", meaning: "The client asked for it." },
  1001: { name: "going_away", reconnect: "yes", meaning: "The hub shuts down." },
  1002: { name: "protocol_error", reconnect: "no", meaning: "What came is not WebSocket." },
  1003: { name: "not_text", reconnect: "no", meaning: "A binary message; the hub speaks text." },
  1007: { name: "not_utf8", reconnect: "no", meaning: "A text message that is not UTF-8." },
  1009: { name: "too_large", reconnect: "no", meaning: "A message above the limit." },
  4000: { name: "overloaded", reconnect: "yes", meaning: "Too many connections." },
  4001: { name: "silent", reconnect: "yes", meaning: "Nothing came for too long, not even an answer to a ping." },
  4002: { name: "failed", reconnect: "yes", meaning: "The hub could not go on with this connection; its log says why." },
  4100: { name: "auth_deadline", reconnect: "with_token", meaning: "No valid AUTH came in time." },
  4101: { name: "jwt_expired", reconnect: "with_token", meaning: "The token's time is over and no fresh AUTH came." },
  4200: { name: "abuse", reconnect: "no", meaning: "One refused frame after another." },
};

/** What a client does after a connection was closed with this code. Our own codes go by their range. */
export function reconnectAfter(closeCode: number): Reconnect {
  if (closeCode >= 4100 && closeCode <= 4199) return "with_token";
  if (closeCode >= 4200 && closeCode <= 4299) return "no";
  return closeCode < 4000 ? (CLOSE_CODES[closeCode]?.reconnect ?? "yes") : "yes";
}
