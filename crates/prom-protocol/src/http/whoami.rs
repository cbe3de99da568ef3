//! `GET /whoami` tells callers what their token allows, so that a page shows no more than that.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

/// The query of `GET /whoami`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct WhoAmIQuery {
    /// Also tell the rights to this topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicName>,
}

/// The answer to `GET /whoami`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhoAmI {
    /// The version of the hub.
    pub version: String,
    /// The hub has no auth: every caller may do everything.
    pub open: bool,
    /// The subject of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub subject: Option<String>,
    /// When the token ends, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub expires_at_ms: Option<i64>,
    pub rights: ReachOfRights,
    /// The rights to the topic of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub topic: Option<RightsToTopic>,
    /// The port for WebSockets, where it is another one than that of this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub websocket_port: Option<u16>,
}

/// How far each right goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReachOfRights {
    pub publish: RightReach,
    pub subscribe: RightReach,
    pub ops: RightReach,
    pub admin: RightReach,
}

/// What a right covers: the hub as a whole (`**`), some topics or groups, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RightReach {
    Everywhere,
    Somewhere,
    Nowhere,
}

/// What the caller may do with one topic, outside groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RightsToTopic {
    pub publish: bool,
    pub subscribe: bool,
    pub ops: bool,
    pub admin: bool,
}
