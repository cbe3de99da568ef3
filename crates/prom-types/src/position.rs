//! Where reading begins: for a new group, for a tail, and for a cursor that is moved.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EpochMs, EventId, Offset};

/// A place in a topic. In a topic with several partitions it is looked up in each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// After everything that is there now.
    #[default]
    Latest,
    /// At the oldest event that is retained.
    Earliest,
    /// At the first event stored at or after this time.
    StoredAt(EpochMs),
    /// Right after this event. Other partitions begin at the time at which it was stored.
    AfterId(EventId),
    /// At this offset.
    Offset(Offset),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Earliest => f.write_str("earliest"),
            Self::StoredAt(ts) => write!(f, "ts:{ts}"),
            Self::AfterId(id) => write!(f, "after:{id}"),
            Self::Offset(offset) => write!(f, "offset:{offset}"),
        }
    }
}
