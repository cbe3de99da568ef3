//! A publish from the moment it was handed over until its answer.

use std::time::Duration;

use prom_protocol::frame::err::MaybeStored;
use prom_types::{NewEvent, Receipt};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Error;
use crate::room::Place;

/// Events that travel together, and who waits for them.
#[derive(Debug)]
pub(crate) struct Pending {
    pub what: What,
    /// Given up when this has passed.
    pub deadline: Instant,
    /// The order in which it was handed over.
    pub number: u64,
    /// It left at least once: it may be stored.
    pub was_sent: bool,
    place: Option<Place>,
}

#[derive(Debug)]
pub(crate) enum What {
    One {
        event: Box<NewEvent>,
        reply: Option<oneshot::Sender<Result<Receipt, Error>>>,
    },
    /// All or nothing.
    Many {
        events: Vec<NewEvent>,
        reply: Option<oneshot::Sender<Result<Vec<Receipt>, Error>>>,
    },
}

impl Pending {
    pub fn new(what: What, deadline: Instant, place: Option<Place>) -> Self {
        Self { what, deadline, number: 0, was_sent: false, place }
    }

    pub fn take_place(&mut self, place: Option<Place>) {
        self.place = place;
    }

    pub fn events(&self) -> &[NewEvent] {
        match &self.what {
            What::One { event, .. } => std::slice::from_ref(&**event),
            What::Many { events, .. } => events,
        }
    }

    pub fn is_atomic(&self) -> bool {
        matches!(self.what, What::Many { .. })
    }

    /// Answered already: it only keeps the place of an answer that is still to come.
    pub fn is_over(&self) -> bool {
        match &self.what {
            What::One { reply, .. } => reply.is_none(),
            What::Many { reply, .. } => reply.is_none(),
        }
    }

    /// Receipts in the order of the events.
    pub fn succeed(self, receipts: impl IntoIterator<Item = Receipt>) {
        let mut receipts = receipts.into_iter();
        match self.what {
            What::One { reply: Some(reply), .. } => {
                if let Some(receipt) = receipts.next() {
                    let _nobody_waits = reply.send(Ok(receipt));
                }
            }
            What::Many { reply: Some(reply), .. } => {
                let _nobody_waits = reply.send(Ok(receipts.collect()));
            }
            _ => {}
        }
    }

    pub fn fail(&mut self, error: Error) {
        self.place = None;
        self.what.fail(error);
    }

    /// The time is over, or nobody is left to try. `give_up_after` is the time it was given.
    pub fn give_up(&mut self, give_up_after: Duration, reason: &str) {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let after = give_up_after.saturating_sub(left);
        let stored = if self.was_sent { MaybeStored::Unknown } else { MaybeStored::No };
        self.fail(Error::GaveUp { after, stored, reason: reason.to_owned() });
    }
}

impl What {
    pub fn fail(&mut self, error: Error) {
        match self {
            Self::One { reply, .. } => {
                if let Some(reply) = reply.take() {
                    let _nobody_waits = reply.send(Err(error));
                }
            }
            Self::Many { reply, .. } => {
                if let Some(reply) = reply.take() {
                    let _nobody_waits = reply.send(Err(error));
                }
            }
        }
    }
}
