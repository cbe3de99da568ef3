//! What a publisher gets back.

use serde::{Deserialize, Serialize};

use crate::{EpochMs, EventId, Offset};

/// How safe an acknowledged event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// On the disk, synced: survives power loss.
    Fsync,
    /// Handed to the operating system: survives the process, not the machine.
    Os,
    /// Journaled by a majority of a replica set.
    Majority,
    /// Gone with the process.
    Memory,
}

impl Durability {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Os => "os",
            Self::Majority => "majority",
            Self::Memory => "memory",
        }
    }
}

/// The promise that an event is stored, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub id: EventId,
    pub partition: u32,
    pub offset: Offset,
    pub stored_ts: EpochMs,
    pub durability: Durability,
}
