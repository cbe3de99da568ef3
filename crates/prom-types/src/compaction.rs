//! How a topic is cleaned that keeps the latest event of each key.

use serde::{Deserialize, Serialize};

/// Settings of a compacted topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Compaction {
    /// How long a tombstone stays after it was first cleaned.
    pub tombstone_grace_ms: u64,
    /// Events stay for at least this long, also those that a later one replaced. So far back the topic can be read as it was.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub min_age_ms: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
