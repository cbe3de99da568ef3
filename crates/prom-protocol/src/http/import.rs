//! `POST /import`: whole events, one per line. The answer comes in lines as well.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use super::problem::ProblemDocument;

/// The query of `POST /import`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ImportQuery {
    /// The topic that all events go to. Without it each event names its own.
    pub topic: Option<TopicName>,
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum ImportReport {
    /// This line was not imported.
    Failed { line: u64, error: Box<ProblemDocument> },
    /// Events that are stored so far.
    Progress { progress: u64 },
    /// The last line. `moved` of the imported events are at another offset or in another partition than before.
    Done {
        imported: u64,
        duplicates: u64,
        failed: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        #[cfg_attr(feature = "openapi", schema(required = false))]
        moved: u64,
    },
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
