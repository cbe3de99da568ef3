//! The frames that came in one read, on their way to their answers.
//!
//! Publishes share one commit and acks one message per dispatcher; each frame keeps its place.

use bytes::Bytes;
use futures::future::BoxFuture;
use prom_engine::{CommittingUnit, Ticket, UnitOfWork};
use prom_protocol::Corr;
use prom_protocol::frame::Which;
use prom_protocol::frame::auth::Welcome;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::ok::BatchReceipt;
use prom_types::{Durability, EventId, Receipt};
use smallvec::SmallVec;
use tokio::sync::oneshot;

use crate::trace::TracedPublish;

/// More are not gathered before they are handed over: the first should not wait for the last.
pub const MOST: usize = 512;

#[derive(Default)]
pub struct Burst {
    pub work: Option<UnitOfWork>,
    /// What was gathered before something that is handed over by itself, and how many receipts it gives.
    earlier: Vec<(usize, CommittingUnit)>,
    /// To be acked, in the order of their slots.
    pub acks: Vec<Ticket>,
    pub slots: Vec<FrameSlot>,
    /// Publishes that are traced.
    pub traced: Vec<TracedPublish>,
}

/// One frame, in its order.
pub struct FrameSlot {
    pub corr: Option<Corr>,
    pub what: AwaitedAnswer,
}

/// What a frame waits for.
pub enum AwaitedAnswer {
    /// The next receipt.
    Publish,
    Batch(Vec<BurstItem>),
    /// The next `count` acks.
    Ack {
        count: usize,
        form: AckForm,
    },
    Ready(FrameReply),
    Later(BoxFuture<'static, FrameReply>),
}

/// One event of a batch.
pub enum BurstItem {
    /// The next receipt; the id where the publisher gave one.
    Publish {
        given: Option<EventId>,
    },
    Refused(Problem),
}

/// How a frame named what it acks, and so how its answer names what was not there.
pub enum AckForm {
    One,
    Many { missing: Which, named: SmallVec<[Name; 1]> },
}

/// One of many, as the frame named it.
#[derive(Clone, Copy)]
pub enum Name {
    Id(EventId),
    Offset(u64),
}

/// An answer that is known.
pub enum FrameReply {
    Ok,
    /// Deliveries may begin after it.
    Subscribed {
        begin: oneshot::Sender<()>,
        /// What the subscriber asked for and does not get.
        notes: Vec<String>,
    },
    Welcome(Box<Welcome>),
    /// One event that was published by itself.
    Published(Box<Receipt>),
    /// Independent events that were published by themselves.
    Results {
        results: Vec<Result<BatchReceipt, Problem>>,
        durability: Durability,
    },
    /// An atomic batch: its receipts, and the ids that the publisher gave.
    Stored {
        receipts: Vec<Receipt>,
        given: Vec<Option<EventId>>,
        durability: Durability,
    },
    /// As another hub wrote it.
    Raw(Bytes),
    /// Done, all but these.
    Unknown(Which),
    Err(Problem),
}

/// A burst that was handed over.
pub struct Sent {
    pub earlier: Vec<(usize, CommittingUnit)>,
    pub gathered: Option<CommittingUnit>,
    pub acks: Option<BoxFuture<'static, Vec<Result<(), prom_engine::Error>>>>,
    pub slots: Vec<FrameSlot>,
    pub traced: Vec<TracedPublish>,
}

impl Burst {
    pub fn answer(&mut self, corr: Option<Corr>, what: AwaitedAnswer) {
        self.slots.push(FrameSlot { corr, what });
    }

    pub fn is_full(&self) -> bool {
        self.slots.len() >= MOST || self.work.as_ref().is_some_and(|work| work.len() >= MOST)
    }

    /// Hands over what was gathered: what comes next goes to the bus by itself and must not pass it.
    pub fn commit_gathered(&mut self) {
        if let Some(work) = self.work.take() {
            self.earlier.push((work.len(), work.commit_each()));
        }
    }

    /// Hands everything to the bus; what is left is to wait.
    pub fn send(&mut self) -> Option<Sent> {
        if self.slots.is_empty() {
            return None;
        }
        let acks = std::mem::take(&mut self.acks);
        Some(Sent {
            earlier: std::mem::take(&mut self.earlier),
            gathered: self.work.take().map(UnitOfWork::commit_each),
            acks: (!acks.is_empty()).then(|| Box::pin(prom_engine::ack_tickets(acks)) as _),
            slots: std::mem::take(&mut self.slots),
            traced: std::mem::take(&mut self.traced),
        })
    }
}
