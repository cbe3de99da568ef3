//! The events of a topic from the newest to the oldest, over all partitions.
//!
//! ```text
//!   partition 0   … [block] 17 18 19 │            each partition is read in blocks from its end;
//!   partition 1   … [block]  4  5    │            the newest of what the blocks end with comes first
//! ```
//!
//! Logs are read forwards, so a block is read from a guess before its end on; a guess that brought too much is halved.
//!
//! Promises: within a partition events come in the reverse of their order; between partitions the one that was stored later
//! comes first. What is held is bounded: of a topic with many partitions some blocks are dropped and read again.

use prom_store::ReadLimit;
use prom_types::{EpochMs, Offset, TopicName};

use crate::limits::{SEARCH_BLOCK_BYTES, SEARCH_BLOCK_EVENTS, SEARCH_HELD_BYTES};
use crate::{Bus, Error, StoredEvent, TopicOffsets};

/// How many offsets the first block of a partition spans: events may be large.
const FIRST_SPAN: u64 = 16;

pub(super) struct Backwards {
    bus: Bus,
    topic: TopicName,
    lanes: Vec<Lane>,
    held_bytes: usize,
    /// Events that exist and cannot be read.
    pub unreadable: u64,
}

/// One partition.
struct Lane {
    partition: u32,
    /// Nothing before it is looked at.
    from: Offset,
    /// What is before it was not read yet.
    unread: Offset,
    /// Everything at or behind it was passed.
    passed: Offset,
    /// In offset order.
    block: Vec<StoredEvent>,
    /// When the newest event that was not handed out was stored, whether or not its block is held.
    newest: Option<EpochMs>,
    span: u64,
}

impl Backwards {
    /// Looks at each partition from before `to` down to `from`.
    pub async fn begin(bus: &Bus, topic: &TopicName, from: Vec<Offset>, to: Vec<Offset>) -> Result<Self, Error> {
        let lane = |(partition, (from, to)): (u32, (Offset, Offset))| Lane {
            partition,
            from,
            unread: to,
            passed: to,
            block: Vec::new(),
            newest: None,
            span: FIRST_SPAN,
        };
        let lanes = (0..).zip(from.into_iter().zip(to)).map(lane).collect();
        let mut backwards = Self { bus: bus.clone(), topic: topic.clone(), lanes, held_bytes: 0, unreadable: 0 };
        for at in 0..backwards.lanes.len() {
            backwards.fill(at).await?;
            if backwards.held_bytes > SEARCH_HELD_BYTES {
                backwards.drop_block(at);
            }
        }
        Ok(backwards)
    }

    /// The next event; `None` when there is none left.
    pub async fn next(&mut self) -> Result<Option<StoredEvent>, Error> {
        let newest = |(at, lane): (usize, &Lane)| lane.newest.map(|ts| (ts, at));
        let Some((_, at)) = self.lanes.iter().enumerate().filter_map(newest).max() else {
            return Ok(None);
        };
        if self.lanes[at].block.is_empty() {
            self.fill(at).await?;
        }
        let lane = &mut self.lanes[at];
        let event = lane.block.pop();
        lane.newest = lane.block.last().map(StoredEvent::stored_ts);
        let has_more = lane.newest.is_some();
        if let Some(event) = &event {
            self.held_bytes = self.held_bytes.saturating_sub(event.record().len());
        }
        if !has_more {
            self.fill(at).await?;
            if self.held_bytes > SEARCH_HELD_BYTES {
                self.drop_block(at);
            }
        }
        Ok(event)
    }

    /// The event was looked at. Events are passed in the order in which they came.
    pub fn pass(&mut self, event: &StoredEvent) {
        if let Some(lane) = self.lanes.get_mut(event.partition() as usize) {
            lane.passed = event.offset();
        }
    }

    /// Every event was handed out.
    pub fn is_at_end(&self) -> bool {
        self.lanes.iter().all(|lane| lane.newest.is_none())
    }

    /// Where to go on behind what was passed.
    pub fn position(&self) -> TopicOffsets {
        TopicOffsets(self.lanes.iter().map(|lane| lane.passed).collect())
    }

    /// Reads the block before what was read. Leaves the lane empty where there is none.
    async fn fill(&mut self, at: usize) -> Result<(), Error> {
        loop {
            let Self { bus, topic, lanes, held_bytes, unreadable: unreadable_before } = &mut *self;
            let lane = &mut lanes[at];
            if lane.unread <= lane.from {
                return Ok(());
            }
            let begin = lane.unread.saturating_sub(lane.span).max(lane.from);
            let (mut next, mut bytes, mut unreadable, mut events) = (begin, 0, 0, Vec::new());
            while next < lane.unread && bytes < SEARCH_BLOCK_BYTES {
                let limit = ReadLimit {
                    events: usize::try_from(lane.unread - next).unwrap_or(SEARCH_BLOCK_EVENTS),
                    bytes: SEARCH_BLOCK_BYTES - bytes,
                };
                let page = bus.read(topic, lane.partition, next, limit).await?;
                if let Some(damage) = &page.damage {
                    tracing::warn!(%topic, %damage, "a search passes over what cannot be read");
                    unreadable += damage.lost.as_ref().map_or(1, |lost| lost.end.saturating_sub(lost.start));
                }
                bytes += page.events.iter().map(|event| event.record().len()).sum::<usize>();
                events.extend(page.events.into_iter().filter(|event| event.offset() < lane.unread));
                if page.next <= next {
                    break;
                }
                next = page.next;
            }
            let is_whole = next >= lane.unread || bytes < SEARCH_BLOCK_BYTES;
            let spanned = lane.unread - begin;
            if !is_whole && spanned > 1 {
                // The newest of the span were not reached: they come first.
                lane.span = spanned / 2;
                continue;
            }
            if bytes < SEARCH_BLOCK_BYTES / 4 {
                lane.span = (lane.span * 2).min(SEARCH_BLOCK_EVENTS as u64);
            }
            lane.unread = begin;
            lane.newest = events.last().map(StoredEvent::stored_ts);
            lane.block = events;
            *held_bytes += bytes;
            *unreadable_before += unreadable;
            if lane.newest.is_some() {
                return Ok(());
            }
        }
    }

    /// Gives the memory of a block back. It is read again when its turn comes.
    fn drop_block(&mut self, at: usize) {
        let lane = &mut self.lanes[at];
        let Some(last) = lane.block.last() else {
            return;
        };
        lane.unread = last.offset() + 1;
        let bytes: usize = lane.block.iter().map(|event| event.record().len()).sum();
        lane.block = Vec::new();
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }
}
