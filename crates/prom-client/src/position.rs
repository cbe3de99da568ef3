//! Where reading begins.

use prom_protocol::frame::subscribe::{From, SubscribeOpts};
use prom_types::{EpochMs, EventId, Offset};

/// A place in a topic. In a topic with several partitions it is found in each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// At this offset; never beyond the end.
    Offset(Offset),
}

impl Position {
    pub(crate) fn write_to(self, opts: &mut SubscribeOpts) {
        (opts.ts, opts.after_id, opts.offset) = (None, None, None);
        opts.from = Some(match self {
            Self::Latest => From::Latest,
            Self::Earliest => From::Earliest,
            Self::StoredAt(ts) => {
                opts.ts = Some(ts);
                From::Ts
            }
            Self::AfterId(id) => {
                opts.after_id = Some(id);
                From::AfterId
            }
            Self::Offset(offset) => {
                opts.offset = Some(offset);
                From::Offset
            }
        });
    }
}
