//! `GET /latest-by-key`: the latest event of a key, or `null`.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

/// The query of `GET /latest-by-key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct LatestByKeyQuery {
    pub topic: TopicName,
    pub key: String,
}
