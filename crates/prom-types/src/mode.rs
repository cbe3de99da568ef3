//! How the events of a group are divided among its subscribers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether partitions have owners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each event goes to any subscriber that has room.
    #[default]
    Shared,
    /// Each partition has one owner among the subscribers.
    Partitioned,
}

impl Mode {
    /// Its name in options and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Partitioned => "partitioned",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
