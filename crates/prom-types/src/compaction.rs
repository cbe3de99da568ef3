//! How a topic is cleaned that keeps the latest event of each key.

use serde::{Deserialize, Serialize};

/// Settings of a compacted topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Compaction {
    /// How long a tombstone stays after it was first cleaned.
    pub tombstone_grace_ms: u64,
}
