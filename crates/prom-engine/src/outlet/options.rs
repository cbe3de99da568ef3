//! What a subscriber asks for, for itself.

use std::time::Duration;

use prom_types::EpochMs;

use crate::limits::{ACK_TIMEOUT, BATCH_SIZE, MAX_IN_FLIGHT};

/// Everything that belongs to the subscriber rather than to the group.
#[derive(Debug, Clone)]
pub(crate) struct SubscriberOptions {
    pub batch_size: usize,
    pub max_in_flight: usize,
    pub ack_timeout: Duration,
    /// A name for people, and for partitions to find their owner again.
    pub member: Option<String>,
    /// Whose token it came with, for people.
    pub subject: Option<String>,
    /// Where it comes from, for people.
    pub address: Option<String>,
    /// When it subscribed.
    pub since_ms: EpochMs,
    /// What it says about itself: JSON text, shown to people.
    pub meta: Option<String>,
    /// Its share of the partitions in relation to others.
    pub weight: u32,
    /// Partitions that go to it first.
    pub pins: Vec<u32>,
    /// How long it may go unheard before its partitions go to others; `None`: it cannot fall silent.
    pub ttl: Option<Duration>,
    pub assignments: TellAssignments,
    pub form: EventForm,
}

impl Default for SubscriberOptions {
    fn default() -> Self {
        Self {
            batch_size: BATCH_SIZE,
            max_in_flight: MAX_IN_FLIGHT,
            ack_timeout: ACK_TIMEOUT,
            member: None,
            subject: None,
            address: None,
            since_ms: 0,
            meta: None,
            weight: 1,
            pins: Vec::new(),
            ttl: None,
            assignments: TellAssignments::No,
            form: EventForm::Stored,
        }
    }
}

/// The form in which a subscriber wants its events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EventForm {
    /// As they are stored.
    #[default]
    Stored,
    /// As the latest version of their topic's schema has them.
    Normalized,
}

/// Whether a subscriber is told which partitions come and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TellAssignments {
    #[default]
    No,
    Yes,
}
