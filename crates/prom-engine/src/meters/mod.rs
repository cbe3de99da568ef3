//! What the bus counts about itself, without knowing who will look at it.
//!
//! ```text
//!   publish ──▶ TopicMeter, held by the topic          ┐
//!   dispatch ─▶ GroupMeter, held by the dispatchers    ├──▶ Bus::meters(): a snapshot
//!   take ─────▶ the same one, through the delivery     ┘
//! ```
//!
//! Promises: counting looks nothing up and takes no lock; it happens once per batch where there is
//! one, and reads the clock at most once per batch. Numbers begin at 0 with the process. A topic's
//! meter lives as long as the topic, that of a topic and group from its first event as long as the group; so there are
//! never more than topics times groups.

mod acked;
mod hand_overs;
mod in_flight;
mod snapshot;
mod taken;

use prom_store::{Counter, Gauge, Histogram};

pub(crate) use acked::AckTally;
pub(crate) use hand_overs::HandOvers;
pub(crate) use in_flight::InFlight;
pub use snapshot::{DispatcherCounts, GroupMeters, MetersSnapshot, OwnerMeters, TopicMeters};
pub(crate) use taken::count_taken;

/// Of one topic.
#[derive(Debug, Default)]
pub(crate) struct TopicMeter {
    pub published: Counter,
    /// Events with causes that were admitted, whether or not they are stored yet.
    pub caused: Counter,
    pub lost_to_tails: Counter,
}

/// Of one group in one topic, over all partitions. What each number means stands at [`GroupMeters`].
#[derive(Debug, Default)]
pub(crate) struct GroupMeter {
    pub delivered: Counter,
    pub redelivered: Counter,
    pub latency: Histogram,

    pub in_flight: Gauge,
    pub acked: Counter,
    pub nacked: Counter,
    pub dead_lettered: Counter,
    pub lost: Counter,
    pub polls: Histogram,
    pub handling: Histogram,

    pub moves: Counter,
    pub handovers: Histogram,
}
