//! What a publisher gets back.

use serde::{Deserialize, Serialize};

use crate::{EpochMs, EventId, Offset};

/// How safe an acknowledged event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// Its name in receipts and answers.
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receipt {
    /// The id of the event.
    pub id: EventId,
    /// Where it is.
    pub partition: u32,
    /// The place in the partition: 0, 1, 2…
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub offset: Offset,
    /// When it was stored, by the hub's clock, in epoch milliseconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub stored_ts: EpochMs,
    /// How durable it is.
    pub durability: Durability,
    /// The id was stored before, and this is where: nothing was stored now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub duplicate: bool,
}
