//! Proof by data: what a candidate would do to the events that are there.

use prom_engine::{Bus, RegistrationVerdict, SchemaCandidate, SchemaTrial, StoredEvent, TopicOffsets};
use prom_store::ReadLimit;
use prom_types::EventId;
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::{FAILURES_TOLD, STEP_BYTES, STEP_EVENTS};

/// A proof under way. It reads, and changes nothing.
pub struct Prove {
    bus: Bus,
    topic: String,
    trial: SchemaTrial,
    next: TopicOffsets,
    progress: ProveProgress,
}

/// How far it is, and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveProgress {
    /// Events looked at.
    pub scanned: u64,
    /// Events there are, as far as that is known.
    pub of: u64,
    /// Events that could not be brought to the candidate.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<ProveFailure>,
    /// Everything was looked at.
    pub done: bool,
}

/// An event that would break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveFailure {
    /// Its id.
    pub id: EventId,
    /// Its partition.
    pub partition: u32,
    /// Its offset.
    pub offset: u64,
    /// Why, with the place in the payload.
    pub reason: String,
}

impl Prove {
    /// Prepares a proof. The verdict says whether the candidate is compatible by its schema alone.
    pub async fn start(
        bus: &Bus,
        topic: &str,
        candidate: &SchemaCandidate,
    ) -> Result<(Self, RegistrationVerdict), JobError> {
        let (trial, verdict) = bus.try_schema(topic, candidate).await?;
        let of = bus.bounds(topic).await?.iter().map(|bounds| bounds.next.saturating_sub(bounds.start)).sum();
        let progress = ProveProgress { of, ..ProveProgress::default() };
        let (bus, topic) = (bus.clone(), topic.to_owned());
        Ok((Self { bus, topic, trial, next: TopicOffsets::default(), progress }, verdict))
    }

    /// The number that the candidate would get.
    pub fn version(&self) -> u32 {
        self.trial.version()
    }

    /// Looks at some more events.
    pub async fn step(&mut self) -> Result<&ProveProgress, JobError> {
        let limit = ReadLimit { events: STEP_EVENTS, bytes: STEP_BYTES };
        let page = self.bus.read_topic(&self.topic, self.next.clone(), limit).await?;
        self.next = page.next;
        let places: Vec<(EventId, u32, u64)> = page.events.iter().map(place).collect();
        self.progress.scanned += places.len() as u64;
        let tried = self.bus.try_events(&self.trial, page.events).await;
        for ((id, partition, offset), tried) in places.into_iter().zip(tried) {
            let Err(reason) = tried else { continue };
            self.progress.failed += 1;
            if self.progress.failures.len() < FAILURES_TOLD {
                self.progress.failures.push(ProveFailure { id, partition, offset, reason });
            }
        }
        // What is published meanwhile is judged as it comes.
        self.progress.done = page.at_end || self.progress.scanned >= self.progress.of;
        Ok(&self.progress)
    }
}

fn place(event: &StoredEvent) -> (EventId, u32, u64) {
    (event.id(), event.partition(), event.offset())
}
