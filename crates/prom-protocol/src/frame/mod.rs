//! The frames, one file each: how a client writes it, how the hub reads it, and the reverse.
//!
//! ```text
//!   client ──▶ AUTH PUBLISH SUBSCRIBE UNSUBSCRIBE ACK NACK MODACK PAUSE RESUME ──▶ hub
//!   client ◀── OK ERR EVENT EVENTS GAP THINNED ASSIGNED REVOKED                ◀── hub
//! ```
//!
//! A frame is one JSON object. Unknown fields are ignored; a field of the wrong type is refused
//! by its name. `corr` is echoed. With the feature `batch`, agreed on by AUTH, PUBLISH and ACK carry
//! many and EVENTS replaces EVENT.

mod corr;
mod error;
mod field;
mod usual;
mod write;

pub mod ack;
pub mod assignment;
pub mod auth;
pub mod err;
pub mod event;
pub mod gap;
pub mod modack;
pub mod nack;
pub mod ok;
pub mod pause;
pub mod peek;
pub mod publish;
mod publish_items;
pub mod subscribe;
pub mod thinned;
pub mod unsubscribe;

mod client;
mod hub;

pub use client::{ClientFrame, Refused, Request};
pub use corr::Corr;
pub use error::FrameError;
pub use hub::{Done, HubFrame};
pub use usual::EventStart;

/// A subscription as frames name it: the string that was subscribed to, and the group, if any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubscriptionName {
    pub topic: String,
    pub group: Option<String>,
}

/// One event, or many of one log, as ACK, NACK and MODACK name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    Ids(smallvec::SmallVec<[prom_types::EventId; 1]>),
    /// Of the partition of the concrete topic in `topic`; both ends belong to it.
    Offsets {
        partition: u32,
        ranges: Vec<(prom_types::Offset, prom_types::Offset)>,
    },
}

impl Which {
    /// A single event by its id, as plain clients name it.
    pub fn is_one(&self) -> bool {
        matches!(self, Self::Ids(ids) if ids.len() == 1)
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Ids(ids) => ids.is_empty(),
            Self::Offsets { ranges, .. } => ranges.is_empty(),
        }
    }
}
