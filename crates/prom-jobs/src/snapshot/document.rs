//! What is stored about snapshots: one document for each complete one, and how far the one under way is.

use prom_engine::{Bus, Error, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::{EpochMs, EventId, Offset, TopicName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::place::snapshot_topic;
use crate::JobError;
use crate::source::at;

const COMPLETE: &str = "snapshots";
const RUNS: &str = "snapshot_runs";
const PAGE: usize = 256;

/// A complete snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its id, which its events and markers carry.
    pub id: EventId,
    /// When it began.
    pub began_ts: EpochMs,
    /// When it was complete.
    pub ended_ts: EpochMs,
    /// Live keys.
    pub count: u64,
    /// Everything that was ever published up to the covered offsets went into it. Otherwise retention was faster.
    pub whole: bool,
    /// What it is in each partition.
    pub partitions: Vec<SnapshotPartition>,
}

/// A snapshot in one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotPartition {
    /// The first offset of the topic that it does not cover.
    pub covered: Offset,
    /// Every event that it covers was stored at this time or before.
    pub covered_ts: EpochMs,
    /// Its first event in the topic of the snapshots.
    pub first: Offset,
    /// Its marker there, behind its events.
    pub marker: Offset,
}

/// The snapshot of a topic that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotRun {
    pub id: EventId,
    pub life: u64,
    pub began_ts: EpochMs,
    /// It goes on from this one.
    pub base: Option<Snapshot>,
    /// The events that are read: from here,
    pub from: Vec<Offset>,
    /// up to here.
    pub covered: Vec<Offset>,
    pub covered_ts: Vec<EpochMs>,
    /// Where its events begin.
    pub first: Vec<Offset>,
    pub counts: Vec<u64>,
    /// All keys before this one are written.
    pub from_key: String,
    pub whole: bool,
}

/// The one document about it, which is never deleted: its revision only grows, and refuses a writer that is late.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SnapshotRuns {
    pub running: Option<SnapshotRun>,
}

#[derive(Debug, Clone)]
pub(super) struct KnownRuns {
    pub runs: SnapshotRuns,
    pub revision: u64,
}

impl Snapshot {
    /// The first offsets that it does not cover. Partitions that were added since are not covered at all.
    pub fn covered(&self, partition: usize) -> Offset {
        self.partitions.get(partition).map_or(0, |part| part.covered)
    }
}

pub(super) async fn runs(bus: &Bus, topic: &TopicName) -> Result<KnownRuns, JobError> {
    Ok(match bus.document(RUNS, topic).await? {
        Some(stored) => KnownRuns { runs: read(&stored.value)?, revision: stored.revision },
        None => KnownRuns { runs: SnapshotRuns::default(), revision: 0 },
    })
}

pub(super) fn write_run(
    work: &mut UnitOfWork,
    topic: &TopicName,
    revision: u64,
    running: Option<&SnapshotRun>,
) -> Result<(), JobError> {
    let runs = SnapshotRuns { running: running.cloned() };
    work.write(DocumentWrite::put(RUNS, topic, text(&runs)?).expecting(Expect::Revision(revision)));
    Ok(())
}

pub(super) fn write_complete(
    work: &mut UnitOfWork,
    topic: &TopicName,
    life: u64,
    snapshot: &Snapshot,
) -> Result<(), JobError> {
    work.write(DocumentWrite::put(COMPLETE, &key(topic, life, &snapshot.id), text(snapshot)?));
    Ok(())
}

/// Those of a topic that can be read, oldest first.
pub(crate) async fn complete(bus: &Bus, topic: &TopicName, life: u64) -> Result<Vec<Snapshot>, JobError> {
    let starts = match bus.bounds(&snapshot_topic(topic)?).await {
        Ok(bounds) => bounds.iter().map(|bounds| bounds.start).collect::<Vec<_>>(),
        Err(Error::UnknownTopic { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for (_, snapshot) in stored(bus, topic).await?.into_iter().filter(|(key, _)| key.starts_with(&prefix(topic, life)))
    {
        let is_there = |(partition, part): (usize, &SnapshotPartition)| part.first >= at(&starts, partition);
        if snapshot.partitions.iter().enumerate().all(is_there) {
            found.push(snapshot);
        }
    }
    Ok(found)
}

/// Deletes the documents of snapshots that cannot be read any more.
pub(super) async fn forget_gone(bus: &Bus, topic: &TopicName, life: u64) -> Result<(), JobError> {
    let there = complete(bus, topic, life).await?;
    let mut work = bus.unit_of_work();
    let mut gone = 0;
    for (key, snapshot) in stored(bus, topic).await? {
        if !key.starts_with(&prefix(topic, life)) || !there.iter().any(|one| one.id == snapshot.id) {
            work.write(DocumentWrite::delete(COMPLETE, &key));
            gone += 1;
        }
    }
    if gone > 0 {
        work.commit().await?;
    }
    Ok(())
}

/// Topics that have a snapshot under way, or had one.
pub(super) async fn topics_with_runs(bus: &Bus) -> Result<Vec<(TopicName, bool)>, JobError> {
    let mut topics = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = bus.documents(RUNS, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(topics) };
        after = Some(last.key.clone());
        for document in page {
            let runs: SnapshotRuns = read(&document.value)?;
            topics.push((TopicName::parse(&document.key)?, runs.running.is_some()));
        }
    }
}

async fn stored(bus: &Bus, topic: &TopicName) -> Result<Vec<(String, Snapshot)>, JobError> {
    let prefix = format!("{topic}/");
    let mut found = Vec::new();
    let mut after = prefix.clone();
    loop {
        let page = bus.documents(COMPLETE, Some(&after), PAGE).await?;
        let many = page.len();
        for document in page {
            if !document.key.starts_with(&prefix) {
                return Ok(found);
            }
            after.clone_from(&document.key);
            let snapshot = read(&document.value)?;
            found.push((document.key, snapshot));
        }
        if many < PAGE {
            return Ok(found);
        }
    }
}

fn prefix(topic: &TopicName, life: u64) -> String {
    format!("{topic}/{life:016x}/")
}

fn key(topic: &TopicName, life: u64, id: &EventId) -> String {
    format!("{}{id}", prefix(topic, life))
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JobError> {
    serde_json::from_slice(text).map_err(|error| JobError::Progress { reason: error.to_string() })
}

fn text(value: &impl Serialize) -> Result<Vec<u8>, JobError> {
    serde_json::to_vec(value).map_err(|error| JobError::Progress { reason: error.to_string() })
}
