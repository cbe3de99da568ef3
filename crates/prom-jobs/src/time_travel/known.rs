//! What can still be answered of a topic's past.
//!
//! A time has an answer if every partition has: no compaction reached beyond it, and nothing is missing between a snapshot
//! before it, or the very beginning, and it.

use prom_engine::{Bus, TopicHistory};
use prom_store::Bounds;
use prom_types::{EpochMs, Offset, TopicName};

use crate::JobError;
use crate::snapshot::{Snapshot, complete};

/// A topic's bounds, history and snapshots.
pub(super) struct KnownPast {
    topic: TopicName,
    history: TopicHistory,
    bounds: Vec<Bounds>,
    snapshots: Vec<Snapshot>,
}

/// What the state at a time is made of.
pub(super) struct PastView<'a> {
    pub ts: EpochMs,
    /// The state before the events.
    pub base: Option<&'a Snapshot>,
    /// Where the events begin.
    pub from: Vec<Offset>,
}

impl KnownPast {
    pub async fn load(bus: &Bus, topic: &TopicName) -> Result<Self, JobError> {
        // The bounds come last: what was trimmed before they were read is seen.
        let history = bus.history(topic).await?.history;
        let snapshots = complete(bus, topic, history.life).await?;
        let bounds = bus.bounds(topic).await?;
        Ok(Self { topic: topic.clone(), history, bounds, snapshots })
    }

    pub fn life(&self) -> u64 {
        self.history.life
    }

    /// What the state at a time is made of, or why there is nothing left to make it of.
    pub fn view(&self, ts: EpochMs) -> Result<PastView<'_>, JobError> {
        let gone = || JobError::HistoryGone { topic: self.topic.clone(), ts, earliest: self.earliest() };
        if ts < self.compacted_ts() {
            return Err(gone());
        }
        let base = self.snapshots.iter().rev().find(|base| self.is_base(base) && ts >= self.begins(base));
        if base.is_none() && !self.is_whole() {
            return Err(gone());
        }
        let from = |(partition, bounds): (usize, &Bounds)| match base {
            Some(base) => base.covered(partition).max(bounds.start),
            None => bounds.start,
        };
        Ok(PastView { ts, base, from: self.bounds.iter().enumerate().map(from).collect() })
    }

    /// Of a topic with one partition: what is left of it. A key that is found there is found for certain.
    pub fn view_of_rest(&self, ts: EpochMs) -> Option<PastView<'_>> {
        match &self.bounds[..] {
            [bounds] if ts >= self.compacted_ts() => Some(PastView { ts, base: None, from: vec![bounds.start] }),
            _ => None,
        }
    }

    /// Whether what was read when `then` was known is all still there, or was read before it went.
    pub fn still_allows(&self, then: &Self, ts: EpochMs) -> bool {
        let has_kept = |(now, then): (&Bounds, &Bounds)| now.start == then.start;
        let is_compacted_no_further = self.compacted_ts() <= ts && self.history.compacted == then.history.compacted;
        self.history.life == then.history.life
            && is_compacted_no_further
            && self.bounds.iter().zip(&then.bounds).all(has_kept)
    }

    /// The first time that has an answer.
    fn earliest(&self) -> Option<EpochMs> {
        let compacted = self.compacted_ts();
        if self.is_whole() {
            return Some(compacted);
        }
        let bases = self.snapshots.iter().filter(|base| self.is_base(base));
        bases.map(|base| self.begins(base).max(compacted)).min()
    }

    fn compacted_ts(&self) -> EpochMs {
        (0..self.bounds.len() as u32)
            .filter_map(|at| self.history.compacted_to(at))
            .map(|mark| mark.ts)
            .max()
            .unwrap_or(EpochMs::MIN)
    }

    /// Nothing was ever removed but by compaction.
    fn is_whole(&self) -> bool {
        (0..).zip(&self.bounds).all(|(partition, bounds)| self.history.is_whole(partition, bounds.start))
    }

    /// Whether every event since is still there.
    fn is_base(&self, snapshot: &Snapshot) -> bool {
        let covers = |(partition, bounds): (u32, &Bounds)| {
            let covered = snapshot.covered(partition as usize);
            let is_added = snapshot.partitions.len() <= partition as usize;
            let begins = bounds.start <= covered || is_added && self.history.is_whole(partition, bounds.start);
            begins && self.history.compacted_to(partition).is_none_or(|mark| mark.to <= covered)
        };
        snapshot.whole && (0..).zip(&self.bounds).all(covers)
    }

    /// From this time on the state is the snapshot and what came after it.
    fn begins(&self, snapshot: &Snapshot) -> EpochMs {
        snapshot.partitions.iter().map(|part| part.covered_ts).max().unwrap_or(EpochMs::MIN)
    }
}
