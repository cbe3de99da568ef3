//! Telling a reader that events it should have seen are gone.

use std::ops::Range;

use prom_store::LogName;
use prom_types::{Gap, GapReason, Offset};

/// The gap that these offsets of a log leave.
pub(crate) fn gap(log: &LogName, lost: Range<Offset>, reason: GapReason) -> Gap {
    Gap { topic: log.topic.clone(), partition: log.partition, from: lost.start, to: lost.end, reason }
}
