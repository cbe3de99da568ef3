//! The topic that a job goes through: step by step, as far as it reached when the job began.
//!
//! Promises: every event that was there at the beginning is read, in offset order within its partition; a topic that is written
//! to meanwhile comes to an end all the same. Steps grow while they are quick and shrink while they are slow.

use std::time::Duration;

use prom_engine::{Bus, Error, ErrorKind, TopicOffsets, TopicPage};
use prom_store::{Bounds, Damage, ReadLimit};
use prom_types::TopicName;

use crate::JobError;
use crate::limits::{FIRST_STEP_EVENTS, LEAST_STEP_EVENTS, QUICK_STEP, SLOW_STEP, STEP_BYTES, STEP_EVENTS};

pub(crate) struct JobSource {
    pub bus: Bus,
    pub topic: TopicName,
    /// The ends of the partitions when the job began.
    until: Vec<u64>,
    pace: StepPace,
}

/// How much a step takes: more while steps are quick, less while they are slow.
pub(crate) struct StepPace {
    events: usize,
    began: Duration,
}

impl JobSource {
    pub async fn open(bus: &Bus, topic: TopicName) -> Result<Self, Error> {
        let until = bus.bounds(&topic).await?.iter().map(|bounds| bounds.next).collect();
        Ok(Self { bus: bus.clone(), topic, until, pace: StepPace::new(bus) })
    }

    /// The events of one step.
    pub async fn read(&mut self, from: &[u64]) -> Result<TopicPage, Error> {
        self.pace.begin(&self.bus);
        let limit = ReadLimit { events: self.pace.events(), bytes: STEP_BYTES };
        self.bus.read_topic(&self.topic, TopicOffsets(from.to_vec()), limit).await
    }

    /// The step is over.
    pub fn stepped(&mut self) {
        self.pace.stepped(&self.bus);
    }

    /// Nothing is left of what was there at the beginning.
    pub fn is_done(&self, next: &[u64]) -> bool {
        self.until.iter().enumerate().all(|(partition, until)| at(next, partition) >= *until)
    }

    /// What is left now, as far as offsets tell.
    pub async fn left(&self, next: &[u64]) -> Result<u64, Error> {
        let bounds = self.bus.bounds(&self.topic).await?;
        let left =
            |(partition, bounds): (usize, &Bounds)| bounds.next.saturating_sub(at(next, partition).max(bounds.start));
        Ok(bounds.iter().enumerate().map(left).sum())
    }
}

impl StepPace {
    pub fn new(bus: &Bus) -> Self {
        Self { events: FIRST_STEP_EVENTS, began: bus.clock().monotonic() }
    }

    /// Events of the step that begins.
    pub fn events(&self) -> usize {
        self.events
    }

    pub fn begin(&mut self, bus: &Bus) {
        self.began = bus.clock().monotonic();
    }

    pub fn stepped(&mut self, bus: &Bus) {
        let took = bus.clock().monotonic().saturating_sub(self.began);
        if took < QUICK_STEP {
            self.events = (self.events * 2).min(STEP_EVENTS);
        } else if took > SLOW_STEP {
            self.events = (self.events / 2).max(LEAST_STEP_EVENTS);
        }
    }
}

/// Partitions that are not mentioned begin at 0.
pub(crate) fn at(offsets: &[u64], partition: usize) -> u64 {
    offsets.get(partition).copied().unwrap_or(0)
}

/// Events that exist and cannot be read.
pub(crate) fn unreadable(damage: &[Damage]) -> u64 {
    damage.iter().map(|damage| damage.lost.as_ref().map_or(1, |lost| lost.end.saturating_sub(lost.start))).sum()
}

/// Why an event is refused, where that is its own fault; everything else is an error of the work.
pub(crate) fn about_the_event(refusal: Error) -> Result<String, JobError> {
    match refusal.kind() {
        ErrorKind::BadRequest => Ok(refusal.to_string()),
        _ => Err(refusal.into()),
    }
}
