//! How far a cutover is, as it is stored with each step.
//!
//! Which events of a step were in the target already is known only from the receipts of its commit. So a step stores its
//! counts without that, as a doubt, and the next step settles it. After a crash the doubt is settled by looking at the target:
//! what the step wrote is behind the end that the target had before.

use std::collections::HashSet;

use prom_engine::{Bus, TopicOffsets};
use prom_store::ReadLimit;
use prom_types::{EpochMs, EventId, Offset, Receipt, TopicName};
use serde::{Deserialize, Serialize};

use super::CutoverPlan;
use crate::limits::{STEP_BYTES, STEP_EVENTS};
use crate::{JobError, Snapshot};

/// How far it is. This is also what is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutoverProgress {
    /// The topic whose history it is.
    pub topic: String,
    /// The version that events are brought to.
    pub version: u32,
    /// Where the next step reads, in each partition.
    pub next: Vec<u64>,
    /// Events read.
    pub read: u64,
    /// Events stored in the target.
    pub written: u64,
    /// Events that the target had already, by their id.
    pub already: u64,
    /// Events that were left out: they cannot be brought to the version, or have no key for a collection.
    pub skipped: u64,
    /// Those among the skipped that have no key.
    pub without_key: u64,
    /// Events that exist and cannot be read.
    pub unreadable: u64,
    /// Events left to read, as far as offsets tell.
    pub left: u64,
    /// Everything that was there when this run began is over.
    pub done: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) doubt: Option<Doubt>,
    /// Of a snapshot: what is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<SnapshotCopy>,
    /// Of a snapshot: the newest complete one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<MadeSnapshot>,
}

/// A snapshot that is brought to a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotCopy {
    pub id: EventId,
    pub began_ts: EpochMs,
    /// The snapshot of the topic as it is stored.
    pub source: Snapshot,
    /// Where its events begin in the target.
    pub first: Vec<Offset>,
    /// How many it has there so far.
    pub counts: Vec<u64>,
    /// All keys before this one are over.
    pub from_key: String,
}

/// A snapshot that was brought to a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeSnapshot {
    /// The snapshot that it was made of.
    pub source: EventId,
    /// How many keys that one has.
    pub keys: u64,
    pub snapshot: Snapshot,
}

/// A step whose receipts were not counted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Doubt {
    /// Events that it gave to the target.
    pub given: u64,
    /// Where it began to read.
    pub from: Vec<u64>,
    /// The ends of the target's partitions before it.
    pub target_end: Vec<u64>,
}

impl CutoverProgress {
    /// Nothing is done yet.
    pub(super) fn begun(plan: &CutoverPlan) -> Self {
        Self { topic: plan.topic.to_string(), version: plan.version, ..Self::default() }
    }

    /// Whether every event that was read is accounted for, and every key of a snapshot was read.
    pub fn adds_up(&self) -> bool {
        let has_all_keys = self.made.as_ref().is_none_or(|made| made.keys == self.read);
        has_all_keys && self.doubt.is_none() && self.read == self.written + self.already + self.skipped
    }

    /// The snapshot that was made, where that was asked for.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.made.as_ref().map(|made| &made.snapshot)
    }

    /// The receipts of the last step came.
    pub(super) fn settle(&mut self, receipts: &[Receipt]) {
        let already = receipts.iter().filter(|receipt| receipt.duplicate).count() as u64;
        self.already += already;
        self.written += receipts.len() as u64 - already;
        self.doubt = None;
    }

    /// The last step was committed, and its receipts were lost.
    pub(super) async fn settle_by_looking(
        &mut self,
        bus: &Bus,
        topic: &TopicName,
        target: &TopicName,
    ) -> Result<(), JobError> {
        let Some(Doubt { given, from, target_end }) = self.doubt.take() else {
            return Ok(());
        };
        let mut ids = ids_between(bus, topic, from, &self.next).await?;
        let (mut at, mut written) = (TopicOffsets(target_end), 0);
        while !ids.is_empty() {
            let page = bus.read_topic(target, at, ReadLimit { events: STEP_EVENTS, bytes: STEP_BYTES }).await?;
            written += page.events.iter().filter(|event| ids.remove(&event.id())).count() as u64;
            at = page.next;
            if page.at_end {
                break;
            }
        }
        self.written += written.min(given);
        self.already += given.saturating_sub(written);
        Ok(())
    }
}

/// A step reads at most so many events that their ids fit into memory.
async fn ids_between(
    bus: &Bus,
    topic: &TopicName,
    mut from: Vec<u64>,
    to: &[u64],
) -> Result<HashSet<EventId>, JobError> {
    let mut ids = HashSet::new();
    from.resize(to.len(), 0);
    for (partition, (mut at, to)) in (0..).zip(from.into_iter().zip(to.iter().copied())) {
        while at < to {
            let page = bus.read(topic, partition, at, ReadLimit { events: STEP_EVENTS, bytes: STEP_BYTES }).await?;
            ids.extend(page.events.iter().filter(|event| event.offset() < to).map(|event| event.id()));
            if page.next <= at {
                break;
            }
            at = page.next;
        }
    }
    Ok(ids)
}
