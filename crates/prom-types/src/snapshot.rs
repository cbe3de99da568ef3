//! How often the state of a topic is written down.

use serde::{Deserialize, Serialize};

/// Settings of a topic with snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotSettings {
    /// So much time lies between two snapshots. Without anything new there is none.
    #[cfg_attr(feature = "openapi", schema(minimum = 1000))]
    pub every_ms: u64,
}
