//! Reading a snapshot: in key order from any key on, or one key by halving.

use std::collections::VecDeque;

use bytes::Bytes;
use prom_engine::{Bus, StoredEvent};
use prom_store::ReadLimit;
use prom_types::{EpochMs, Offset, TopicName};
use serde::Deserialize;

use super::Snapshot;
use super::place::snapshot_topic;
use crate::JobError;
use crate::newest::KeyState;

const PAGE: ReadLimit = ReadLimit { events: 256, bytes: 1 << 20 };
const ONE: ReadLimit = ReadLimit { events: 1, bytes: 1 };

/// The live keys of a snapshot, in order.
pub(crate) struct SnapshotReader {
    bus: Bus,
    place: TopicName,
    parts: Vec<PartReader>,
}

struct PartReader {
    partition: u32,
    next: Offset,
    marker: Offset,
    page: VecDeque<StoredEvent>,
}

/// What of the original event is looked at.
#[derive(Deserialize)]
struct Original {
    offset: Offset,
    stored_ts: EpochMs,
}

impl SnapshotReader {
    /// From this key on.
    pub async fn open(bus: &Bus, topic: &TopicName, of: &Snapshot, from_key: &str) -> Result<Self, JobError> {
        let place = snapshot_topic(topic)?;
        let mut parts = Vec::with_capacity(of.partitions.len());
        for (partition, part) in (0..).zip(&of.partitions) {
            let mut next = part.first;
            if !from_key.is_empty() {
                next = first_where(bus, &place, partition, (next, part.marker), |key| key >= from_key).await?;
            }
            parts.push(PartReader { partition, next, marker: part.marker, page: VecDeque::new() });
        }
        Ok(Self { bus: bus.clone(), place, parts })
    }

    /// The key of the next entry.
    pub async fn peek(&mut self) -> Result<Option<&str>, JobError> {
        Ok(self.smallest().await?.and_then(|at| self.parts[at].page.front()?.key()))
    }

    /// The next entry.
    pub async fn next(&mut self) -> Result<Option<KeyState>, JobError> {
        let Some(at) = self.smallest().await? else {
            return Ok(None);
        };
        match self.parts[at].page.pop_front() {
            Some(event) => Ok(Some(original(&self.place, &event)?)),
            None => Ok(None),
        }
    }

    /// The part whose next key is the smallest.
    async fn smallest(&mut self) -> Result<Option<usize>, JobError> {
        for part in &mut self.parts {
            if part.page.is_empty() && part.next < part.marker {
                let page = self.bus.read(&self.place, part.partition, part.next, PAGE).await?;
                let events = page.events.into_iter().filter(|event| event.offset() < part.marker);
                part.page.extend(events);
                let is_whole = part.page.front().is_some_and(|first| first.offset() == part.next);
                part.next = part.page.back().map_or(part.marker, |last| last.offset() + 1);
                if !is_whole || page.damage.is_some() {
                    return Err(gone(&self.place));
                }
            }
        }
        let with_key = self.parts.iter().enumerate().filter_map(|(at, part)| Some((part.page.front()?.key(), at)));
        Ok(with_key.min().map(|(_, at)| at))
    }
}

/// The newest event of a key, as a snapshot has it; one for each partition where it was live.
pub(crate) async fn find(bus: &Bus, topic: &TopicName, of: &Snapshot, key: &str) -> Result<Option<KeyState>, JobError> {
    let place = snapshot_topic(topic)?;
    for (partition, part) in (0..).zip(&of.partitions) {
        let at = first_where(bus, &place, partition, (part.first, part.marker), |found| found >= key).await?;
        if at < part.marker {
            let event = one(bus, &place, partition, at).await?;
            if event.key() == Some(key) {
                return Ok(Some(original(&place, &event)?));
            }
        }
    }
    Ok(None)
}

/// Halves until it has the first offset whose key is so.
async fn first_where(
    bus: &Bus,
    place: &TopicName,
    partition: u32,
    (mut low, mut high): (Offset, Offset),
    is_so: impl Fn(&str) -> bool,
) -> Result<Offset, JobError> {
    while low < high {
        let middle = low + (high - low) / 2;
        let event = one(bus, place, partition, middle).await?;
        if event.key().is_some_and(&is_so) { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

async fn one(bus: &Bus, place: &TopicName, partition: u32, offset: Offset) -> Result<StoredEvent, JobError> {
    let page = bus.read(place, partition, offset, ONE).await?;
    page.events.into_iter().next().filter(|event| event.offset() == offset).ok_or_else(|| gone(place))
}

/// Retention was faster, or the disk is damaged.
fn gone(place: &TopicName) -> JobError {
    JobError::SnapshotGone { place: place.clone() }
}

fn original(place: &TopicName, event: &StoredEvent) -> Result<KeyState, JobError> {
    let text: Bytes = event.json().into_bytes();
    let Original { offset, stored_ts } = serde_json::from_slice(&text).map_err(|_| gone(place))?;
    let key = event.key().unwrap_or_default().to_owned();
    Ok(KeyState { key, partition: event.partition(), offset, stored_ts, event: Some(text.to_vec()) })
}
