//! `GET /asyncapi.json`: the topics and their schemas for programs that read AsyncAPI.

use prom_types::TopicPattern;
use serde::{Deserialize, Serialize};

/// The query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct AsyncApiQuery {
    /// A topic or a pattern; all topics unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicPattern>,
}
