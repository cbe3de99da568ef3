//! Error and close codes. Made from `protocol/codes.json` by `cargo xtask gen`; not edited by hand.

use serde::{Deserialize, Serialize};

/// Whether sending the same again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    No,
    Yes,
    /// After `retry_after_ms`.
    After,
    /// With the same event id, so that it is stored once.
    SameId,
    WithNewToken,
}

/// Whether connecting again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    No,
    Yes,
    /// With a token that is valid.
    WithToken,
}

/// Why a frame or a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The text is not one JSON object.
    BadJson,
    /// A field is missing, has the wrong type or a value out of range, or an option differs from what the group agreed on.
    BadRequest,
    /// AUTH has to come first.
    Unauthorized,
    /// The token's rights do not cover this, or its subject has reached a cap.
    Forbidden,
    /// The hub requires a token and none was sent.
    NoToken,
    /// The token is malformed, forged, for another audience or not valid yet.
    JwtInvalid,
    /// The token has expired.
    JwtExpired,
    /// Too many events from this connection or subject, or for this topic.
    RateLimited,
    /// This connection already has this subscription.
    AlreadySubscribed,
    /// This connection has no such subscription.
    NotSubscribed,
    /// There is nothing with this id, or the event is not leased to this connection (any more).
    UnknownId,
    /// The topic, group or event does not exist.
    UnknownTopic,
    /// Retention or compaction removed events that an answer about that time needs; `earliest_ts` is the earliest time that can be answered.
    HistoryGone,
    /// Another owner has the cursor or the partition now.
    Fenced,
    /// The condition of the publish does not hold; `actual` has the actual value. Nothing was stored.
    Conflict,
    /// The payload does not fit the topic's schema.
    SchemaInvalid,
    /// The schema is not compatible with earlier versions; `violations` says where and why.
    SchemaIncompatible,
    /// A frame, payload or batch is above its limit.
    TooLarge,
    /// The store could not store the event; `stored` says whether it may have been stored anyway.
    PublishFailed,
    /// The settlement is not durable yet; the hub keeps trying.
    AckFailed,
    /// The hub, or a service that it depends on, cannot handle this now.
    Overloaded,
    /// An unexpected error; the hub's log says more.
    Internal,
}

impl ErrorCode {
    pub const ALL: &'static [Self] = &[
        Self::BadJson,
        Self::BadRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NoToken,
        Self::JwtInvalid,
        Self::JwtExpired,
        Self::RateLimited,
        Self::AlreadySubscribed,
        Self::NotSubscribed,
        Self::UnknownId,
        Self::UnknownTopic,
        Self::HistoryGone,
        Self::Fenced,
        Self::Conflict,
        Self::SchemaInvalid,
        Self::SchemaIncompatible,
        Self::TooLarge,
        Self::PublishFailed,
        Self::AckFailed,
        Self::Overloaded,
        Self::Internal,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadJson => "bad_json",
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NoToken => "no_token",
            Self::JwtInvalid => "jwt_invalid",
            Self::JwtExpired => "jwt_expired",
            Self::RateLimited => "rate_limited",
            Self::AlreadySubscribed => "already_subscribed",
            Self::NotSubscribed => "not_subscribed",
            Self::UnknownId => "unknown_id",
            Self::UnknownTopic => "unknown_topic",
            Self::HistoryGone => "history_gone",
            Self::Fenced => "fenced",
            Self::Conflict => "conflict",
            Self::SchemaInvalid => "schema_invalid",
            Self::SchemaIncompatible => "schema_incompatible",
            Self::TooLarge => "too_large",
            Self::PublishFailed => "publish_failed",
            Self::AckFailed => "ack_failed",
            Self::Overloaded => "overloaded",
            Self::Internal => "internal",
        }
    }

    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == code)
    }

    /// The status of the same refusal over HTTP.
    pub fn http_status(self) -> u16 {
        match self {
            Self::BadJson => 400,
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NoToken => 401,
            Self::JwtInvalid => 401,
            Self::JwtExpired => 401,
            Self::RateLimited => 429,
            Self::AlreadySubscribed => 409,
            Self::NotSubscribed => 409,
            Self::UnknownId => 404,
            Self::UnknownTopic => 404,
            Self::HistoryGone => 410,
            Self::Fenced => 409,
            Self::Conflict => 409,
            Self::SchemaInvalid => 422,
            Self::SchemaIncompatible => 409,
            Self::TooLarge => 413,
            Self::PublishFailed => 503,
            Self::AckFailed => 503,
            Self::Overloaded => 503,
            Self::Internal => 500,
        }
    }

    pub fn retry(self) -> Retry {
        match self {
            Self::BadJson => Retry::No,
            Self::BadRequest => Retry::No,
            Self::Unauthorized => Retry::No,
            Self::Forbidden => Retry::No,
            Self::NoToken => Retry::No,
            Self::JwtInvalid => Retry::No,
            Self::JwtExpired => Retry::WithNewToken,
            Self::RateLimited => Retry::After,
            Self::AlreadySubscribed => Retry::No,
            Self::NotSubscribed => Retry::No,
            Self::UnknownId => Retry::No,
            Self::UnknownTopic => Retry::No,
            Self::HistoryGone => Retry::No,
            Self::Fenced => Retry::No,
            Self::Conflict => Retry::No,
            Self::SchemaInvalid => Retry::No,
            Self::SchemaIncompatible => Retry::No,
            Self::TooLarge => Retry::No,
            Self::PublishFailed => Retry::SameId,
            Self::AckFailed => Retry::Yes,
            Self::Overloaded => Retry::Yes,
            Self::Internal => Retry::Yes,
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::BadJson => "The text is not one JSON object.",
            Self::BadRequest => "A field is missing, has the wrong type or a value out of range, or an option differs from what the group agreed on.",
            Self::Unauthorized => "AUTH has to come first.",
            Self::Forbidden => "The token's rights do not cover this, or its subject has reached a cap.",
            Self::NoToken => "The hub requires a token and none was sent.",
            Self::JwtInvalid => "The token is malformed, forged, for another audience or not valid yet.",
            Self::JwtExpired => "The token has expired.",
            Self::RateLimited => "Too many events from this connection or subject, or for this topic.",
            Self::AlreadySubscribed => "This connection already has this subscription.",
            Self::NotSubscribed => "This connection has no such subscription.",
            Self::UnknownId => "There is nothing with this id, or the event is not leased to this connection (any more).",
            Self::UnknownTopic => "The topic, group or event does not exist.",
            Self::HistoryGone => "Retention or compaction removed events that an answer about that time needs; `earliest_ts` is the earliest time that can be answered.",
            Self::Fenced => "Another owner has the cursor or the partition now.",
            Self::Conflict => "The condition of the publish does not hold; `actual` has the actual value. Nothing was stored.",
            Self::SchemaInvalid => "The payload does not fit the topic's schema.",
            Self::SchemaIncompatible => "The schema is not compatible with earlier versions; `violations` says where and why.",
            Self::TooLarge => "A frame, payload or batch is above its limit.",
            Self::PublishFailed => "The store could not store the event; `stored` says whether it may have been stored anyway.",
            Self::AckFailed => "The settlement is not durable yet; the hub keeps trying.",
            Self::Overloaded => "The hub, or a service that it depends on, cannot handle this now.",
            Self::Internal => "An unexpected error; the hub's log says more.",
        }
    }

    /// What to do about it.
    pub fn fix(self) -> &'static str {
        match self {
            Self::BadJson => "Send one JSON object per text frame.",
            Self::BadRequest => "Change what the message names.",
            Self::Unauthorized => "Send AUTH and wait for its OK, or send it first without waiting.",
            Self::Forbidden => "Use a token whose scopes or policy allow the action on the topic; if a cap is named, use what exists or have the cap raised.",
            Self::NoToken => "Send a token.",
            Self::JwtInvalid => "Get a token that this hub accepts; the message says what is wrong with this one.",
            Self::JwtExpired => "Get a fresh token and send AUTH again.",
            Self::RateLimited => "Wait for `retry_after_ms`, then send it again.",
            Self::AlreadySubscribed => "Use the existing subscription, or unsubscribe first.",
            Self::NotSubscribed => "Subscribe first, with the same topic and group.",
            Self::UnknownId => "Check the id. After an ack or nack there is nothing to do: the group redelivers the event if it is not settled.",
            Self::UnknownTopic => "Create it first.",
            Self::HistoryGone => "Ask for a later time.",
            Self::Fenced => "Subscribe again.",
            Self::Conflict => "Read again, decide again, and publish with the new value.",
            Self::SchemaInvalid => "Change the payload where the message points.",
            Self::SchemaIncompatible => "Change the schema as each violation says, or register it with an upcaster.",
            Self::TooLarge => "Send less at once.",
            Self::PublishFailed => "Send it again with the same id; it will be stored once.",
            Self::AckFailed => "Nothing, or send it again.",
            Self::Overloaded => "Try again later, with backoff.",
            Self::Internal => "Try again; report it if it persists.",
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the hub ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseCode {
    /// The client asked for it.
    Normal,
    /// The hub is shutting down.
    GoingAway,
    /// The data is not valid WebSocket.
    ProtocolError,
    /// A binary message; the hub speaks text.
    NotText,
    /// A text message that is not UTF-8.
    NotUtf8,
    /// A message above the limit.
    TooLarge,
    /// Too many connections.
    Overloaded,
    /// The client was silent for too long and did not answer a ping.
    Silent,
    /// The hub could not continue this connection; its log says why.
    Failed,
    /// No valid AUTH came in time.
    AuthDeadline,
    /// The token expired and no fresh AUTH came.
    JwtExpired,
    /// Too many refused frames in a row.
    Abuse,
}

impl CloseCode {
    pub fn code(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::GoingAway => 1001,
            Self::ProtocolError => 1002,
            Self::NotText => 1003,
            Self::NotUtf8 => 1007,
            Self::TooLarge => 1009,
            Self::Overloaded => 4000,
            Self::Silent => 4001,
            Self::Failed => 4002,
            Self::AuthDeadline => 4100,
            Self::JwtExpired => 4101,
            Self::Abuse => 4200,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::GoingAway => "going_away",
            Self::ProtocolError => "protocol_error",
            Self::NotText => "not_text",
            Self::NotUtf8 => "not_utf8",
            Self::TooLarge => "too_large",
            Self::Overloaded => "overloaded",
            Self::Silent => "silent",
            Self::Failed => "failed",
            Self::AuthDeadline => "auth_deadline",
            Self::JwtExpired => "jwt_expired",
            Self::Abuse => "abuse",
        }
    }

    /// What a client does after it. Our own codes go by their range.
    pub fn reconnect(code: u16) -> Reconnect {
        match code {
            1000 => Reconnect::No,
            1001 => Reconnect::Yes,
            1002 => Reconnect::No,
            1003 => Reconnect::No,
            1007 => Reconnect::No,
            1009 => Reconnect::No,
            4100..=4199 => Reconnect::WithToken,
            4200..=4299 => Reconnect::No,
            _ => Reconnect::Yes,
        }
    }
}
