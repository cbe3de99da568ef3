//! `GET /connections` shows who is connected by WebSocket, `DELETE /connections/{connection}` ends one of them.

use prom_types::EpochMs;
use serde::{Deserialize, Serialize};

use super::whoami::ReachOfRights;

/// The answer to `GET /connections`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConnectionList {
    /// Of the hub that was asked, the oldest first unless asked otherwise.
    pub connections: Vec<ConnectionView>,
    /// The hub that was asked, where several share a store: each lists its own connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hub: Option<String>,
    /// How many there are on all pages.
    pub total: u64,
    /// Give it as `?next=` for the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next: Option<String>,
}

/// One WebSocket connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConnectionView {
    /// Its name in logs, and of a member that gave itself none.
    #[cfg_attr(feature = "openapi", schema(example = "connection-7"))]
    pub connection: String,
    /// Where it comes from.
    pub address: String,
    pub since_ts: EpochMs,
    /// Whom it speaks for.
    pub speaker: ConnectionSpeaker,
    /// The subject of its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub subject: Option<String>,
    /// What its token allows; nothing is known before AUTH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub rights: Option<ReachOfRights>,
    /// When its token ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub expires_at_ms: Option<EpochMs>,
    /// How many subscriptions it has.
    pub subscriptions: u64,
    /// The first hundred of them.
    pub subscribed: Vec<ConnectionSubscription>,
    /// What its client has not taken yet. A slow client has much.
    pub unwritten_bytes: u64,
}

/// What is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConnectionSpeaker {
    /// No AUTH came yet.
    Unknown,
    Client,
    /// Another hub, for one of its clients.
    Hub,
}

/// A subscription as its client named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConnectionSubscription {
    pub topic: String,
    /// None: it only looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub group: Option<String>,
}

/// The answer to `DELETE /connections/{connection}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CutConnection {
    pub connection: String,
    pub address: String,
    /// Subscriptions that ended with it.
    pub subscriptions: u64,
}
