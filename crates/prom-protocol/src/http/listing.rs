//! The query of `GET /topics`, `GET /groups` and `GET /registry`: lists are filtered, sorted and cut by the hub.

use serde::{Deserialize, Serialize};

/// Without it a list is whole and by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct PageQuery {
    /// Only names that contain this, or that match it if it has a `*`. Groups also by the topics that they read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// By which field; with a `-` before it the largest come first. Topics: `topic`, `events`, `events_per_s`, `bytes`,
    /// `partitions`. Groups: `group`, `subscribers`, `created_ts`, `lag_events`, `in_flight`. Schemas: `topic`, `latest_ts`,
    /// `versions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(example = "-events"))]
    pub sort: Option<String>,
    /// At most this many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page before ended, as it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
