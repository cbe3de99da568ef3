//! The promises that can be broken, and how that is reported.

use std::fmt;

/// Which promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// The file itself cannot be judged.
    History,
    /// An acknowledged event is in the log where its receipt says.
    Stored,
    /// No event is there twice, and every event was published.
    Once,
    /// Offsets have no gaps; what was acknowledged before another publish began comes before it.
    LogOrder,
    /// Everything in the log is delivered to every group and settled in the end, and nothing else counts as settled.
    Settled,
    /// No second delivery while the first lease is live.
    OneLease,
    /// An acked event does not come again.
    AckKept,
    /// What was delivered before a takeover cannot be settled after it.
    Fenced,
    /// Failed attempts are counted, and nothing else is.
    Attempts,
    /// A key waits for its earlier events; a partition is delivered by offset.
    DeliveryOrder,
}

/// One broken promise: the event it concerns, and the lines of the file that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub promise: Promise,
    pub what: String,
    /// The first line is 1.
    pub lines: Vec<usize>,
}

impl Broken {
    pub(super) fn new(promise: Promise, lines: impl Into<Vec<usize>>, what: impl Into<String>) -> Self {
        let mut lines = lines.into();
        lines.sort_unstable();
        Self { promise, what: what.into(), lines }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
        write!(f, "{:?}: {} (lines {})", self.promise, self.what, lines.join(", "))
    }
}
