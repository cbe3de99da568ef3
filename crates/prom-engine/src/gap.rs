//! Telling a reader that events it should have seen are gone.

use std::ops::Range;

use prom_store::LogName;
use prom_types::{Offset, TopicName};

/// Offsets that were not settled and cannot be delivered. The reader goes on after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub topic: TopicName,
    pub partition: u32,
    /// The first offset that is missing.
    pub from: Offset,
    /// The first offset after the gap.
    pub to: Offset,
    pub reason: GapReason,
}

/// Why they are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapReason {
    /// Retention was faster than the reader.
    Retention,
    /// The storage no longer holds what was written there; the text names file and position.
    Damage(String),
}

impl Gap {
    pub(crate) fn new(log: &LogName, lost: Range<Offset>, reason: GapReason) -> Self {
        Self { topic: log.topic.clone(), partition: log.partition, from: lost.start, to: lost.end, reason }
    }
}

impl std::fmt::Display for GapReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Retention => f.write_str("retention removed them before they were read"),
            Self::Damage(place) => f.write_str(place),
        }
    }
}
