//! Proof by data: what a candidate would do to the events that are there.

use prom_engine::{Bus, NotNormalized, RegistrationVerdict, SchemaCandidate, SchemaTrial, StoredEvent};
use prom_types::{EventId, TopicName};
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::FAILURES_TOLD;
use crate::source::{JobSource, unreadable};

/// A proof under way. It reads, and changes nothing.
pub struct Prove {
    source: JobSource,
    trial: SchemaTrial,
    next: Vec<u64>,
    progress: ProveProgress,
}

/// How far it is, and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveProgress {
    /// Events looked at.
    pub scanned: u64,
    /// Events left to look at, as far as offsets tell.
    pub left: u64,
    /// Events that could not be brought to the candidate.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<ProveFailure>,
    /// Events that exist and cannot be read, so that nothing is known of them.
    pub unreadable: u64,
    /// Everything that was there at the beginning was looked at.
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
        let source = JobSource::open(bus, TopicName::parse(topic)?).await?;
        let (trial, verdict) = bus.try_schema(topic, candidate).await?;
        let left = source.left(&[]).await?;
        let progress = ProveProgress { left, ..ProveProgress::default() };
        Ok((Self { source, trial, next: Vec::new(), progress }, verdict))
    }

    /// The number that the candidate would get.
    pub fn version(&self) -> u32 {
        self.trial.version()
    }

    /// How far it is.
    pub fn progress(&self) -> &ProveProgress {
        &self.progress
    }

    /// Looks at some more events.
    pub async fn step(&mut self) -> Result<&ProveProgress, JobError> {
        let page = self.source.read(&self.next).await?;
        let places: Vec<(EventId, u32, u64)> = page.events.iter().map(place).collect();
        let tried = self.source.bus.try_events(&self.trial, page.events).await;
        for ((id, partition, offset), tried) in places.iter().copied().zip(tried) {
            let reason = match tried {
                Ok(()) => continue,
                Err(NotNormalized::Unfit(reason)) => reason,
                Err(NotNormalized::Stopped) => return Err(JobError::Stopped { topic: self.source.topic.clone() }),
            };
            self.progress.failed += 1;
            if self.progress.failures.len() < FAILURES_TOLD {
                self.progress.failures.push(ProveFailure { id, partition, offset, reason });
            }
        }
        self.next = page.next.0;
        self.progress.scanned += places.len() as u64;
        self.progress.unreadable += unreadable(&page.damage);
        self.progress.left = self.source.left(&self.next).await?;
        self.progress.done = self.source.is_done(&self.next);
        self.source.stepped();
        Ok(&self.progress)
    }
}

fn place(event: &StoredEvent) -> (EventId, u32, u64) {
    (event.id(), event.partition(), event.offset())
}
