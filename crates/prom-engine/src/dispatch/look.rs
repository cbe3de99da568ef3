//! One event: where it is in this dispatcher.

use prom_store::Failures;
use prom_types::Offset;

use super::unsettled::{EventLease, EventState};
use super::{Dispatcher, SubscriberId};

/// What a dispatcher knows of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLook {
    /// Where it is.
    pub at: EventAt,
    /// Its failed attempts, its returns, and the last reason.
    pub failures: Failures,
}

/// Where an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventAt {
    /// Nothing more is done with it.
    Settled,
    /// In the log or ready, to be handed out.
    Queued,
    /// A subscriber has it.
    InFlight(SubscriberId),
    /// It failed, and waits for its next attempt.
    Waiting,
    /// Its dead letter is about to be written.
    Dying,
}

impl Dispatcher {
    /// Where an event is now.
    pub fn look(&self, offset: Offset) -> EventLook {
        let at = match self.unsettled.get(offset).map(|event| event.state) {
            _ if self.progress.is_settled(offset) && !self.is_given(offset) => EventAt::Settled,
            Some(EventState::Leased(EventLease { subscriber, .. })) => EventAt::InFlight(subscriber),
            Some(EventState::Waiting { .. }) => EventAt::Waiting,
            Some(EventState::Dead(_)) => EventAt::Dying,
            Some(EventState::Due) | None => EventAt::Queued,
        };
        EventLook { at, failures: self.failures.get(&offset).cloned().unwrap_or_default() }
    }
}
