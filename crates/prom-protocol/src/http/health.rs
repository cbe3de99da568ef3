//! `GET /healthz` and `GET /readyz`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The process answers, or takes events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HealthAnswer {
    /// `ok`
    #[cfg_attr(feature = "openapi", schema(example = "ok"))]
    pub status: String,
    /// Tasks of the hub that panicked within the last minute and were started again, work in the background whose last pass
    /// failed, and flows that retry or are stopped, by kind; missing where there are none. The hub's log has the reasons, and
    /// so has `background` of `/stats`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failing: BTreeMap<String, u64>,
}

impl HealthAnswer {
    pub fn ok() -> Self {
        Self { status: "ok".to_owned(), failing: BTreeMap::new() }
    }
}
