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
  /** A field is missing, has the wrong type or a value out of range, or an option differs from what the group agreed on. */
  bad_request: {
    httpStatus: 400,
    retry: "no",
    meaning: "A field is missing, has the wrong type or a value out of range, or an option differs from what the group agreed on.",
    fix: "Change what the message names.",
  },
  /** AUTH has to come first. */
  unauthorized: {
    httpStatus: 401,
    retry: "no",
    meaning: "AUTH has to come first.",
    fix: "Send AUTH and wait for its OK, or send it first without waiting.",
  },
  /** The token's rights do not cover this, or its subject has reached a cap. */
  forbidden: {
    httpStatus: 403,
    retry: "no",
    meaning: "The token's rights do not cover this, or its subject has reached a cap.",
    fix: "Use a token whose scopes or policy allow the action on the topic; if a cap is named, use what exists or have the cap raised.",
  },
  /** The hub requires a token and none was sent. */
  no_token: {
    httpStatus: 401,
    retry: "no",
    meaning: "The hub requires a token and none was sent.",
    fix: "Send a token.",
  },
  /** The token is malformed, forged, for another audience or not valid yet. */
  jwt_invalid: {
    httpStatus: 401,
    retry: "no",
    meaning: "The token is malformed, forged, for another audience or not valid yet.",
    fix: "Get a token that this hub accepts; the message says what is wrong with this one.",
  },
  /** The token has expired. */
  jwt_expired: {
    httpStatus: 401,
    retry: "with_new_token",
    meaning: "The token has expired.",
    fix: "Get a fresh token and send AUTH again.",
  },
  /** Too many events from this connection or subject, or for this topic. */
  rate_limited: {
    httpStatus: 429,
    retry: "after",
    meaning: "Too many events from this connection or subject, or for this topic.",
    fix: "Wait for `retry_after_ms`, then send it again.",
  },
  /** This connection already has this subscription. */
  already_subscribed: {
    httpStatus: 409,
    retry: "no",
    meaning: "This connection already has this subscription.",
    fix: "Use the existing subscription, or unsubscribe first.",
  },
  /** This connection has no such subscription. */
  not_subscribed: {
    httpStatus: 409,
    retry: "no",
    meaning: "This connection has no such subscription.",
    fix: "Subscribe first, with the same topic and group.",
  },
  /** There is nothing with this id, or the event is not leased to this connection (any more). */
  unknown_id: {
    httpStatus: 404,
    retry: "no",
    meaning: "There is nothing with this id, or the event is not leased to this connection (any more).",
    fix: "Check the id. After an ack or nack there is nothing to do: the group redelivers the event if it is not settled.",
  },
  /** The topic, group or event does not exist. */
  unknown_topic: {
    httpStatus: 404,
    retry: "no",
    meaning: "The topic, group or event does not exist.",
    fix: "Create it first.",
  },
  /** Retention or compaction removed events that an answer about that time needs; `earliest_ts` is the earliest time that can be answered. */
  history_gone: {
    httpStatus: 410,
    retry: "no",
    meaning: "Retention or compaction removed events that an answer about that time needs; `earliest_ts` is the earliest time that can be answered.",
    fix: "Ask for a later time.",
  },
  /** Another owner has the cursor or the partition now. */
  fenced: {
    httpStatus: 409,
    retry: "no",
    meaning: "Another owner has the cursor or the partition now.",
    fix: "Subscribe again.",
  },
  /** The condition of the publish does not hold; `actual` has the actual value. Nothing was stored. */
  conflict: {
    httpStatus: 409,
    retry: "no",
    meaning: "The condition of the publish does not hold; `actual` has the actual value. Nothing was stored.",
    fix: "Read again, decide again, and publish with the new value.",
  },
  /** The payload does not fit the topic's schema. */
  schema_invalid: {
    httpStatus: 422,
    retry: "no",
    meaning: "The payload does not fit the topic's schema.",
    fix: "Change the payload where the message points.",
  },
  /** The schema is not compatible with earlier versions; `violations` says where and why. */
  schema_incompatible: {
    httpStatus: 409,
    retry: "no",
    meaning: "The schema is not compatible with earlier versions; `violations` says where and why.",
    fix: "Change the schema as each violation says, or register it with an upcaster.",
  },
  /** A frame, payload or batch is above its limit. */
  too_large: {
    httpStatus: 413,
    retry: "no",
    meaning: "A frame, payload or batch is above its limit.",
    fix: "Send less at once.",
  },
  /** The store could not store the event; `stored` says whether it may have been stored anyway. */
  publish_failed: {
    httpStatus: 503,
    retry: "same_id",
    meaning: "The store could not store the event; `stored` says whether it may have been stored anyway.",
    fix: "Send it again with the same id; it will be stored once.",
  },
  /** The settlement is not durable yet; the hub keeps trying. */
  ack_failed: {
    httpStatus: 503,
    retry: "yes",
    meaning: "The settlement is not durable yet; the hub keeps trying.",
    fix: "Nothing, or send it again.",
  },
  /** The hub, or a service that it depends on, cannot handle this now. */
  overloaded: {
    httpStatus: 503,
    retry: "yes",
    meaning: "The hub, or a service that it depends on, cannot handle this now.",
    fix: "Try again later, with backoff.",
  },
  /** An unexpected error; the hub's log says more. */
  internal: {
    httpStatus: 500,
    retry: "yes",
    meaning: "An unexpected error; the hub's log says more.",
    fix: "Try again; report it if it persists.",
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
  1001: { name: "going_away", reconnect: "yes", meaning: "The hub is shutting down." },
  1002: { name: "protocol_error", reconnect: "no", meaning: "The data is not valid WebSocket." },
  1003: { name: "not_text", reconnect: "no", meaning: "A binary message; the hub speaks text." },
  1007: { name: "not_utf8", reconnect: "no", meaning: "A text message that is not UTF-8." },
  1009: { name: "too_large", reconnect: "no", meaning: "A message above the limit." },
  4000: { name: "overloaded", reconnect: "yes", meaning: "Too many connections." },
  4001: { name: "silent", reconnect: "yes", meaning: "The client was silent for too long and did not answer a ping." },
  4002: { name: "failed", reconnect: "yes", meaning: "The hub could not continue this connection; its log says why." },
  4100: { name: "auth_deadline", reconnect: "with_token", meaning: "No valid AUTH came in time." },
  4101: { name: "jwt_expired", reconnect: "with_token", meaning: "The token expired and no fresh AUTH came." },
  4200: { name: "abuse", reconnect: "no", meaning: "Too many refused frames in a row." },
};

/** What a client does after a connection was closed with this code. Our own codes go by their range. */
export function reconnectAfter(closeCode: number): Reconnect {
  if (closeCode >= 4100 && closeCode <= 4199) return "with_token";
  if (closeCode >= 4200 && closeCode <= 4299) return "no";
  return closeCode < 4000 ? (CLOSE_CODES[closeCode]?.reconnect ?? "yes") : "yes";
}
