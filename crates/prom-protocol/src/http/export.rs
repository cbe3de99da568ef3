//! `GET /export`: the events of a topic, streamed.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use super::flag;

/// The query of `GET /export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ExportQuery {
    pub topic: TopicName,
    /// Only events stored at or after this, in epoch milliseconds.
    #[serde(rename = "fromTs")]
    pub from_ts: Option<i64>,
    /// Only events stored at or before this, in epoch milliseconds.
    #[serde(rename = "toTs")]
    pub to_ts: Option<i64>,
    /// Only events that this jq program takes: its first output is neither `false` nor `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jq: Option<String>,
    /// `0`: one JSON array instead of one event per line.
    #[serde(default = "yes", with = "flag")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<u8>, minimum = 0, maximum = 1))]
    pub ndjson: bool,
    /// `cloudevents`: CloudEvents in structured mode.
    pub format: Option<String>,
    /// `1`: skip events that can no longer be read, instead of breaking off.
    #[serde(default, with = "flag", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<u8>, minimum = 0, maximum = 1))]
    pub skip_damaged: bool,
}

fn yes() -> bool {
    true
}
