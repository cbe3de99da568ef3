//! Reading a topic in the name of a group without leases: the reader holds the cursors and settles them in units of work of its
//! own, together with what came of the events.
//!
//! ```text
//!   hold ──▶ read from the floors ──▶ the reader's unit of work: documents, letters, settlements ──▶ one commit
//! ```
//!
//! The group is like any other for those who look at it: it has lag, its cursor can be moved, its events can be skipped. Promises:
//! holding raises the epochs, so of two holders, or a holder and a dispatcher, only the last one commits; the other gets
//! [`Error::Fenced`] and holds again. What is not settled is read again.

use std::ops::Range;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::select_all;
use prom_store::{CursorChange, CursorName, CursorState, HeadWatch, LogName, ReadLimit};
use prom_types::{GroupName, Offset, Position, TopicName, TopicPattern};
use tokio::sync::watch;

use crate::dead_letter::{self, Letter};
use crate::event::EventOrigin;
use crate::group::RequestedOptions;
use crate::{Bus, Error, StoredEvent, TopicOffsets, UnitOfWork};

/// The cursors of a group in all partitions of a topic.
pub struct HeldCursors {
    bus: Bus,
    topic: TopicName,
    group: GroupName,
    logs: Vec<HeldLog>,
    /// The log that is read first.
    turn: usize,
    grown: watch::Receiver<usize>,
}

struct HeldLog {
    name: CursorName,
    origin: Arc<EventOrigin>,
    state: CursorState,
    head: HeadWatch,
}

/// Events in offset order within each partition, and what is settled with them.
#[derive(Debug, Clone, Default)]
pub struct HeldBatch {
    /// Without those that are settled already.
    pub events: Vec<StoredEvent>,
    /// Offsets that retention removed before they could be read, and those that exist and cannot be read.
    pub lost: u64,
    /// By partition, in the order of the events.
    ranges: Vec<(u32, Range<Offset>)>,
}

impl Bus {
    /// Holds the cursors of a group in a topic. The group is made if it is new, and begins at `from` then. The topic need not
    /// exist yet.
    pub async fn hold_cursors(&self, topic: &TopicName, group: &str, from: Position) -> Result<HeldCursors, Error> {
        let core = self.core();
        core.check_open()?;
        let group = GroupName::parse(group)?;
        let patterns = [TopicPattern::parse(topic)?];
        core.topics.find_named(&*core.store, &patterns).await?;
        let asked = RequestedOptions { from: Some(from), ..RequestedOptions::default() };
        core.join_group(&group, &patterns, &asked, self.maker()).await?;
        let grown = core.topics.watch();
        let mut held = HeldCursors { bus: self.clone(), topic: topic.clone(), group, logs: Vec::new(), turn: 0, grown };
        held.take_in_partitions().await?;
        Ok(held)
    }
}

impl HeldCursors {
    /// The group.
    pub fn group(&self) -> &GroupName {
        &self.group
    }

    /// The first offset in each partition that is not settled.
    pub fn floors(&self) -> TopicOffsets {
        TopicOffsets(self.logs.iter().map(|log| log.state.floor).collect())
    }

    /// Retained events that are not settled, holes counted as events.
    pub fn behind(&mut self) -> u64 {
        let behind = |log: &mut HeldLog| {
            let bounds = log.head.bounds();
            log.state.lag(bounds.start, bounds.next)
        };
        self.logs.iter_mut().map(behind).sum()
    }

    /// Events from the floors on. Partitions take turns, so none waits behind a busy one.
    pub async fn read(&mut self, limit: impl Into<ReadLimit>) -> Result<HeldBatch, Error> {
        self.take_in_partitions().await?;
        let (mut room, mut batch): (ReadLimit, _) = (limit.into(), HeldBatch::default());
        let logs = self.logs.len();
        for turn in 0..logs {
            let Some(log) = self.logs.get_mut((self.turn + turn) % logs) else { continue };
            let (floor, next) = (log.state.floor, log.head.bounds().next);
            if next < floor {
                // The topic was deleted, and began anew.
                return Err(Error::fenced(&log.name));
            }
            if room.events == 0 || room.bytes == 0 || next == floor {
                continue;
            }
            let page = self.bus.core().read_page(&log.origin, floor, room).await?;
            let bytes: usize = page.events.iter().map(|event| event.record().len()).sum();
            room.events = room.events.saturating_sub(page.events.len());
            room.bytes = room.bytes.saturating_sub(bytes);
            batch.lost += page.bounds.start.saturating_sub(floor);
            if let Some(damage) = &page.damage {
                tracing::error!(cursor = %log.name, %damage, "an event cannot be read and is passed over");
                batch.lost += damage.lost.as_ref().map_or(1, |lost| lost.end.saturating_sub(lost.start));
            }
            if page.next > floor {
                batch.ranges.push((log.name.log.partition, floor..page.next));
            }
            let state = &log.state;
            batch.events.extend(page.events.into_iter().filter(|event| !state.is_settled(event.offset())));
        }
        self.turn = self.turn.wrapping_add(1) % logs.max(1);
        Ok(batch)
    }

    /// Ready when there is something to read. Nothing is lost if the future is dropped.
    pub async fn arrived(&mut self) -> Result<(), Error> {
        loop {
            self.take_in_partitions().await?;
            let is_there = |log: &mut HeldLog| log.head.bounds().next != log.state.floor;
            if self.logs.iter_mut().any(is_there) {
                return Ok(());
            }
            let heads: Vec<_> = self.logs.iter_mut().map(|log| log.head.changed().boxed()).collect();
            let moved = async {
                match heads.is_empty() {
                    true => std::future::pending().await,
                    false => select_all(heads).await.0,
                }
            };
            tokio::select! {
                moved = moved => moved?,
                grown = self.grown.changed() => grown.map_err(|_| Error::Closed)?,
            }
        }
    }

    /// Whether the cursors are still held: an operator may have moved one, or another holder took them.
    pub async fn check(&self) -> Result<(), Error> {
        for log in &self.logs {
            let stored = self.bus.store().cursor(&log.name).await?;
            if stored.map(|stored| stored.epoch) != Some(log.state.epoch) {
                return Err(Error::fenced(&log.name));
            }
        }
        Ok(())
    }

    /// Settles a batch with the unit of work. It is refused if the cursors are not held any more.
    pub fn settle(&self, work: &mut UnitOfWork, batch: &HeldBatch) {
        for (partition, range) in &batch.ranges {
            if let Some(log) = self.logs.get(*partition as usize) {
                let epoch = log.state.epoch;
                let settled = vec![range.clone()];
                work.change_cursor(log.name.clone(), CursorChange::Settle { epoch, settled, failures: Vec::new() });
            }
        }
    }

    /// Settles nothing, but has the unit of work refused if the cursors are not held any more.
    pub fn fence(&self, work: &mut UnitOfWork) {
        for log in &self.logs {
            let settle = CursorChange::Settle { epoch: log.state.epoch, settled: Vec::new(), failures: Vec::new() };
            work.change_cursor(log.name.clone(), settle);
        }
    }

    /// The unit of work in which a batch was settled is stored.
    pub fn settled(&mut self, batch: &HeldBatch) {
        for (partition, range) in &batch.ranges {
            if let Some(log) = self.logs.get_mut(*partition as usize) {
                log.state.settle(range.clone());
            }
        }
    }

    /// What would settle everything before these offsets.
    pub fn until(&self, offsets: &TopicOffsets) -> HeldBatch {
        let ahead = self.logs.iter().zip(&offsets.0).filter(|(log, offset)| **offset > log.state.floor);
        let ranges = ahead.map(|(log, offset)| (log.name.log.partition, log.state.floor..*offset));
        HeldBatch { ranges: ranges.collect(), ..HeldBatch::default() }
    }

    /// Adds the dead letter of an event to the unit of work that settles it.
    pub fn write_letter(&self, work: &mut UnitOfWork, event: &StoredEvent, reason: &str) -> Result<(), Error> {
        let Some(topic) = self.topic.dead_letters() else {
            tracing::error!(?event, reason, "an event of a topic without dead letters is left out");
            return Ok(());
        };
        let cursor = CursorName::new(event.origin.log.clone(), self.group.clone());
        let letter = Letter { record: event.record().clone(), reason: reason.to_owned(), attempts: 1, given_back: 0 };
        let letter = dead_letter::event(&cursor, &letter, topic.clone(), self.bus.clock().now_ms());
        work.publish_own(topic, &letter)
    }

    /// Partitions that are new since the last look.
    async fn take_in_partitions(&mut self) -> Result<(), Error> {
        self.grown.borrow_and_update();
        let core = self.bus.core();
        let Some(topic) = core.topics.get(&self.topic).filter(|topic| topic.is_stored()) else {
            return Ok(());
        };
        for log in topic.logs().iter().skip(self.logs.len()) {
            let name = CursorName::new(log.clone(), self.group.clone());
            let state = core.store.take_cursor(&name, 0).await?;
            self.logs.push(HeldLog { name, origin: origin(log), state, head: core.store.watch(log) });
        }
        Ok(())
    }
}

fn origin(log: &LogName) -> Arc<EventOrigin> {
    EventOrigin::plain(log.clone())
}

impl HeldBatch {
    /// Nothing is settled by it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Before the event at this place, and from there on.
    pub fn split_at(mut self, place: usize) -> (Self, Self) {
        let Some(cut) = self.events.get(place) else {
            return (self, Self::default());
        };
        let (partition, offset) = (cut.partition(), cut.offset());
        let mut after = Self { events: self.events.split_off(place), ..Self::default() };
        let mut is_behind = false;
        for (at, range) in std::mem::take(&mut self.ranges) {
            if at == partition {
                is_behind = true;
                if range.start < offset {
                    self.ranges.push((at, range.start..offset));
                }
                after.ranges.push((at, offset..range.end));
            } else {
                let side = if is_behind { &mut after } else { &mut self };
                side.ranges.push((at, range));
            }
        }
        (self, after)
    }

    /// Where each partition of the batch begins and where it is after it.
    pub fn ranges(&self) -> &[(u32, Range<Offset>)] {
        &self.ranges
    }
}
