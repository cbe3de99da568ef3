//! The index of causes: which events an event led to, and where those are.
//!
//! ```text
//!   topics ─▶ events with caused_by ─▶ trace_effects   cause / effect / place
//!                                      trace_places    effect / place
//!                                      trace_blocks    what to delete when retention removes them
//!                                      trace_marks     how far each topic is read
//! ```
//!
//! Only events that name causes have entries. Where one process writes, a topic to which nobody published such an event since it
//! started is not even read. Promises: what a commit of the index says is in it, with the marks; of two processes that index
//! at once one commit is refused, and it goes on from what is stored. An entry may outlive its event by a while, so readers that
//! follow one look whether the event is there.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_engine::{Bus, Error, StoredEvent, TopicOffsets, UnitOfWork};
use prom_store::{Bounds, DocumentWrite, Expect, ReadLimit};
use prom_types::{EventId, Offset, TopicName};
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::{
    TRACE_BLOCKS_AT_ONCE, TRACE_EFFECTS, TRACE_MARK_EVERY, TRACE_READ_BYTES, TRACE_READ_EVENTS, TRACE_SETTLES,
};
use crate::source::at;

const EFFECTS: &str = "trace_effects";
const PLACES: &str = "trace_places";
const BLOCKS: &str = "trace_blocks";
const MARKS: &str = "trace_marks";

/// Where an event was stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracePlace {
    /// Its topic.
    pub topic: TopicName,
    /// Its partition.
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
}

/// Keeps the index up to date.
#[derive(Default)]
pub struct TraceIndex {
    marks: BTreeMap<TopicName, TopicMark>,
    is_loaded: bool,
}

/// How far a topic is read.
#[derive(Default)]
struct TopicMark {
    next: Vec<Offset>,
    /// Entries of what is before are deleted.
    start: Vec<Offset>,
    /// Of the document; the offsets above may be ahead of it.
    revision: u64,
    stored_next: Vec<Offset>,
    /// What was counted of events with causes, and when that last changed. `None` before the first look of this process.
    counted: Option<(u64, Duration)>,
}

#[derive(Serialize, Deserialize)]
struct StoredMark {
    next: Vec<Offset>,
    start: Vec<Offset>,
}

/// Entries of events that lie next to each other.
#[derive(Serialize, Deserialize)]
struct Block {
    /// The last of them.
    last: Offset,
    effects: Vec<String>,
    places: Vec<String>,
}

impl TraceIndex {
    /// Reads what is new in all topics, until the deadline of the bus's monotonic clock. Returns how many events are left.
    pub async fn catch_up(&mut self, bus: &Bus, deadline: Duration) -> Result<u64, JobError> {
        match self.try_catch_up(bus, deadline).await {
            Err(JobError::Bus(Error::Conflict { .. })) => {
                // Another process indexed meanwhile.
                self.try_catch_up(bus, deadline).await
            }
            other => other,
        }
    }

    async fn try_catch_up(&mut self, bus: &Bus, deadline: Duration) -> Result<u64, JobError> {
        if !self.is_loaded {
            self.load(bus).await?;
        }
        // Until the end: a pass that fails or is dropped half way leaves marks that may not be those that are stored.
        self.is_loaded = false;
        let mut topics: BTreeMap<TopicName, Vec<Bounds>> = BTreeMap::new();
        for info in bus.logs().await? {
            let bounds = topics.entry(info.log.topic).or_default();
            let partition = info.log.partition as usize;
            if bounds.len() <= partition {
                bounds.resize(partition + 1, Bounds::default());
            }
            bounds[partition] = info.bounds;
        }
        let mut left = 0;
        for (topic, bounds) in &topics {
            left += match self.read_topic(bus, topic, bounds, deadline).await {
                // Deleted since it was listed.
                Err(JobError::Bus(Error::UnknownTopic { .. })) => 0,
                read => read?,
            };
        }
        let gone: Vec<TopicName> = self.marks.keys().filter(|topic| !topics.contains_key(*topic)).cloned().collect();
        for topic in gone {
            self.drop_topic(bus, &topic).await?;
        }
        self.is_loaded = true;
        Ok(left)
    }

    /// Deletes everything about a topic that is not there any more.
    async fn drop_topic(&mut self, bus: &Bus, topic: &TopicName) -> Result<(), JobError> {
        let Some(mut mark) = self.marks.remove(topic) else {
            return Ok(());
        };
        if mark.revision > 0 {
            let all_gone = vec![Bounds { start: Offset::MAX, next: Offset::MAX }; mark.next.len()];
            forget(bus, topic, &mut mark, &all_gone).await?;
            let mut work = bus.unit_of_work();
            work.write(DocumentWrite::delete(MARKS, topic).expecting(Expect::Revision(mark.revision)));
            work.commit().await?;
        }
        Ok(())
    }

    async fn load(&mut self, bus: &Bus) -> Result<(), JobError> {
        self.marks.clear();
        let mut after: Option<String> = None;
        loop {
            let page = bus.documents(MARKS, after.as_deref(), TRACE_BLOCKS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
            for document in page {
                let StoredMark { next, start } = read_document(&document.value)?;
                let mark =
                    TopicMark { stored_next: next.clone(), next, start, revision: document.revision, counted: None };
                self.marks.insert(TopicName::parse(&document.key)?, mark);
            }
        }
        Ok(())
    }

    /// Returns how many events are left when the time is up.
    async fn read_topic(
        &mut self,
        bus: &Bus,
        topic: &TopicName,
        bounds: &[Bounds],
        deadline: Duration,
    ) -> Result<u64, JobError> {
        let mark = self.marks.entry(topic.clone()).or_default();
        let has_gone = bounds.iter().enumerate().any(|(partition, bounds)| at(&mark.start, partition) < bounds.start);
        if has_gone && mark.revision > 0 {
            forget(bus, topic, mark, bounds).await?;
        }
        if mark.may_skip(bus, topic) {
            mark.next = bounds.iter().map(|bounds| bounds.next).collect();
        }
        while mark.left(bounds) > 0 {
            if bus.clock().monotonic() >= deadline || !bus.is_open() {
                return Ok(mark.left(bounds));
            }
            step(bus, topic, mark).await?;
        }
        // Marks of topics without causes are stored now and then: after a restart little is read twice.
        if mark
            .next
            .iter()
            .enumerate()
            .any(|(partition, next)| next - at(&mark.stored_next, partition) >= TRACE_MARK_EVERY)
        {
            mark.store(bus.unit_of_work(), topic).await?;
        }
        Ok(0)
    }

    /// The events that this one led to, in the order of their ids, at most so many.
    pub async fn effects(bus: &Bus, cause: EventId) -> Result<Vec<(EventId, TracePlace)>, JobError> {
        let entries = entries(bus, EFFECTS, cause).await?;
        let effect = |entry: String| {
            let (effect, place) = entry.split_once('/')?;
            Some((EventId::parse(effect).ok()?, read_place(place)?))
        };
        Ok(entries.into_iter().filter_map(effect).collect())
    }

    /// Where an event with causes is. Several, if it was stored in several topics.
    pub async fn places(bus: &Bus, id: EventId) -> Result<Vec<TracePlace>, JobError> {
        let entries = entries(bus, PLACES, id).await?;
        Ok(entries.iter().filter_map(|entry| read_place(entry)).collect())
    }
}

impl TopicMark {
    /// Whether nothing that names causes can be unread: this process has looked before, it alone writes, and every such event
    /// that it admitted was admitted long ago.
    fn may_skip(&mut self, bus: &Bus, topic: &TopicName) -> bool {
        let now = bus.clock().monotonic();
        let Some(counted) = bus.caused_events(topic) else {
            return false;
        };
        match self.counted {
            Some((before, since)) if before == counted => counted == 0 || now.saturating_sub(since) >= TRACE_SETTLES,
            Some(_) => {
                self.counted = Some((counted, now));
                false
            }
            None => {
                self.counted = Some((counted, now));
                false
            }
        }
    }

    fn left(&self, bounds: &[Bounds]) -> u64 {
        let left = |(partition, bounds): (usize, &Bounds)| {
            bounds.next.saturating_sub(at(&self.next, partition).max(bounds.start))
        };
        bounds.iter().enumerate().map(left).sum()
    }

    async fn store(&mut self, mut work: UnitOfWork, topic: &TopicName) -> Result<(), JobError> {
        let mark = StoredMark { next: self.next.clone(), start: self.start.clone() };
        let write = DocumentWrite::put(MARKS, topic, write_document(&mark)?);
        work.write(write.expecting(Expect::Revision(self.revision)));
        work.commit().await?;
        self.revision += 1;
        self.stored_next.clone_from(&self.next);
        Ok(())
    }
}

/// One read. Commits only where it found something.
async fn step(bus: &Bus, topic: &TopicName, mark: &mut TopicMark) -> Result<(), JobError> {
    let limit = ReadLimit { events: TRACE_READ_EVENTS, bytes: TRACE_READ_BYTES };
    let page = bus.read_topic(topic, TopicOffsets(mark.next.clone()), limit).await?;
    let mut work = bus.unit_of_work();
    let mut blocks: BTreeMap<u32, (Offset, Block)> = BTreeMap::new();
    let (mut entries, mut next) = (0, page.next.0);
    for event in &page.events {
        let causes = event.caused_by();
        if causes.is_empty() {
            continue;
        }
        if entries >= TRACE_EFFECTS {
            // The step ends before this event. Later partitions were not begun.
            let partition = event.partition() as usize;
            for (later, next) in next.iter_mut().enumerate().skip(partition) {
                *next = if later == partition { event.offset() } else { at(&mark.next, later) };
            }
            break;
        }
        let empty = || (event.offset(), Block { last: 0, effects: Vec::new(), places: Vec::new() });
        let (_, block) = blocks.entry(event.partition()).or_insert_with(empty);
        block.last = event.offset();
        entries += 1 + causes.len();
        index(event, &causes, block, &mut work);
    }
    mark.next = next;
    if blocks.is_empty() {
        return Ok(());
    }
    for (partition, (first, block)) in blocks {
        work.write(DocumentWrite::put(BLOCKS, &block_key(topic, partition, first), write_document(&block)?));
    }
    mark.store(work, topic).await
}

fn index(event: &StoredEvent, causes: &[EventId], block: &mut Block, work: &mut UnitOfWork) {
    let (id, place) = (event.id(), format!("{}/{}/{}", event.topic(), event.partition(), event.offset()));
    let own = format!("{id}/{place}");
    work.write(DocumentWrite::put(PLACES, &own, "0"));
    for cause in causes {
        let effect = format!("{cause}/{own}");
        work.write(DocumentWrite::put(EFFECTS, &effect, "0"));
        block.effects.push(effect);
    }
    block.places.push(own);
}

/// Deletes the entries of blocks that are gone whole.
async fn forget(bus: &Bus, topic: &TopicName, mark: &mut TopicMark, bounds: &[Bounds]) -> Result<(), JobError> {
    mark.start.resize(bounds.len(), 0);
    for (partition, bounds) in (0_u32..).zip(bounds) {
        if mark.start[partition as usize] >= bounds.start {
            continue;
        }
        loop {
            let before_all = format!("{topic}/{partition:04}/");
            let page = bus.documents(BLOCKS, Some(&before_all), 1).await?;
            let Some(document) = page.into_iter().find(|document| document.key.starts_with(&before_all)) else { break };
            let block: Block = read_document(&document.value)?;
            if block.last >= bounds.start {
                break;
            }
            let mut work = bus.unit_of_work();
            block.effects.iter().for_each(|entry| work.write(DocumentWrite::delete(EFFECTS, entry)));
            block.places.iter().for_each(|entry| work.write(DocumentWrite::delete(PLACES, entry)));
            work.write(DocumentWrite::delete(BLOCKS, &document.key));
            mark.store(work, topic).await?;
        }
        mark.start[partition as usize] = bounds.start;
    }
    Ok(())
}

fn block_key(topic: &TopicName, partition: u32, first: Offset) -> String {
    format!("{topic}/{partition:04}/{first:020}")
}

/// What follows `id/` in the keys of a collection.
async fn entries(bus: &Bus, collection: &str, id: EventId) -> Result<Vec<String>, JobError> {
    let prefix = format!("{id}/");
    let found = bus.documents(collection, Some(&prefix), TRACE_EFFECTS).await?;
    let rest = found.into_iter().map_while(|document| document.key.strip_prefix(&prefix).map(str::to_owned));
    Ok(rest.collect())
}

fn read_place(text: &str) -> Option<TracePlace> {
    let mut parts = text.split('/');
    let (topic, partition, offset) = (parts.next()?, parts.next()?, parts.next()?);
    Some(TracePlace {
        topic: TopicName::parse(topic).ok()?,
        partition: partition.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

fn read_document<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, JobError> {
    serde_json::from_slice(text).map_err(|error| JobError::Progress { reason: error.to_string() })
}

fn write_document(value: &impl Serialize) -> Result<Vec<u8>, JobError> {
    serde_json::to_vec(value).map_err(|error| JobError::Progress { reason: error.to_string() })
}
