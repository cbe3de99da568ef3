//! Settling a delivery: what ACK, NACK and MODACK have in common.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use prom_types::{EventId, Offset, TopicName};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Error;
use crate::core::ClientCore;
use crate::feed::Feed;
use crate::mailbox::CommandReply;

/// The right to settle one event, for as long as the connection that brought it lives.
#[derive(Clone)]
pub(crate) struct DeliveryLease {
    pub feed: Arc<Feed>,
    /// The connection.
    pub epoch: u64,
    pub topic: TopicName,
    pub partition: u32,
    pub offset: Offset,
    pub id: EventId,
    /// The same event may come again under a new lease; this tells them apart.
    pub came_at: Instant,
}

/// One verdict on one event, or on several of one log.
pub(crate) struct PendingSettlement {
    /// Of the first event.
    pub lease: DeliveryLease,
    /// The other events of the same log, by the same connection.
    more: Vec<(Offset, EventId)>,
    pub verdict: SettleVerdict,
    pub sharing: FrameSharing,
    watcher: Watcher,
}

/// Who waits for the answer.
enum Watcher {
    None,
    One(CommandReply),
    /// One future for events that may travel in several frames.
    SharedAnswer(Arc<SharedAnswer>),
}

/// Answered when all its events are.
struct SharedAnswer(Mutex<SharedAnswerState>);

struct SharedAnswerState {
    events_left: usize,
    /// The first thing that went wrong.
    failure: Option<Error>,
    reply: Option<CommandReply>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettleVerdict {
    Ack,
    Nack {
        reason: String,
        delay: Option<Duration>,
    },
    Modack {
        extend: Duration,
    },
    /// Not begun: no attempt is counted.
    GiveBack,
}

/// Whether it may share a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameSharing {
    Allowed,
    /// A frame with others was refused as a whole: this one gets an answer of its own.
    Alone,
}

/// Ready when the hub has answered.
#[must_use = "only the answer says that it is settled"]
pub struct Settling(SettlingState);

enum SettlingState {
    Lost(Option<Error>),
    Sent(oneshot::Receiver<Result<(), Error>>),
}

impl DeliveryLease {
    pub fn lost(&self, reason: &str) -> Error {
        Error::LeaseLost { topic: self.topic.clone(), offset: self.offset, reason: reason.to_owned() }
    }

    /// Sent at once; the future only waits for the answer.
    pub fn settle(&self, core: &ClientCore, verdict: SettleVerdict) -> Settling {
        if self.epoch != core.epoch() {
            return Settling(SettlingState::Lost(Some(self.lost("the connection that brought it has ended"))));
        }
        if !matches!(verdict, SettleVerdict::Modack { .. }) {
            self.feed.settled(1);
        }
        let (reply, answer) = oneshot::channel();
        core.mailbox.settle(PendingSettlement {
            watcher: Watcher::One(reply),
            ..PendingSettlement::unwatched(self.clone(), verdict)
        });
        Settling(SettlingState::Sent(answer))
    }
}

impl Settling {
    /// Settles events of any logs, each run of one log given by its first lease and what follows.
    pub(crate) fn many(
        core: &ClientCore,
        verdict: &SettleVerdict,
        runs: Vec<(DeliveryLease, Vec<(Offset, EventId)>)>,
    ) -> Self {
        let events_left = runs.iter().map(|(_, more)| 1 + more.len()).sum();
        if let Some((first, _)) = runs.first() {
            first.feed.settled(events_left);
        }
        let (reply, answer) = oneshot::channel();
        let shared =
            Arc::new(SharedAnswer(Mutex::new(SharedAnswerState { events_left, failure: None, reply: Some(reply) })));
        let settlement = |(lease, more): (DeliveryLease, _)| PendingSettlement {
            more,
            watcher: Watcher::SharedAnswer(shared.clone()),
            ..PendingSettlement::unwatched(lease, verdict.clone())
        };
        let mut settlements: Vec<PendingSettlement> = runs.into_iter().map(settlement).collect();
        core.mailbox.settle_all(&mut settlements);
        Self(SettlingState::Sent(answer))
    }
}

impl PendingSettlement {
    /// Nothing waits for the answer.
    pub fn unwatched(lease: DeliveryLease, verdict: SettleVerdict) -> Self {
        Self { lease, more: Vec::new(), verdict, sharing: FrameSharing::Allowed, watcher: Watcher::None }
    }

    /// How many events it settles.
    pub fn len(&self) -> usize {
        1 + self.more.len()
    }

    pub fn offsets(&self) -> impl Iterator<Item = Offset> {
        std::iter::once(self.lease.offset).chain(self.more.iter().map(|(offset, _)| *offset))
    }

    /// Settlements of one event each, which together answer as this one.
    pub fn singly(mut self, sharing: FrameSharing) -> impl Iterator<Item = Self> {
        let more = std::mem::take(&mut self.more);
        let (lease, verdict) = (self.lease.clone(), self.verdict.clone());
        let shared = match &self.watcher {
            Watcher::SharedAnswer(shared) => Some(shared.clone()),
            // These settle one event only, so there is no other.
            Watcher::None | Watcher::One(_) => None,
        };
        let others = more.into_iter().map(move |(offset, id)| Self {
            lease: DeliveryLease { offset, id, ..lease.clone() },
            more: Vec::new(),
            verdict: verdict.clone(),
            sharing,
            watcher: shared.clone().map_or(Watcher::None, Watcher::SharedAnswer),
        });
        std::iter::once(Self { sharing, ..self }).chain(others)
    }

    pub fn answer(self, result: Result<(), Error>) {
        let events = self.len();
        match self.watcher {
            Watcher::None => {}
            Watcher::One(reply) => {
                let _caller_may_be_gone = reply.send(result);
            }
            Watcher::SharedAnswer(shared) => shared.answer(events, result),
        }
    }

    pub fn answer_lost(self, reason: &str) {
        let lost = self.lease.lost(reason);
        self.answer(Err(lost));
    }

    /// Settled, but for this offset.
    pub fn answer_lost_at(self, offset: Offset, reason: &str) {
        let lost = DeliveryLease { offset, ..self.lease.clone() }.lost(reason);
        self.answer(Err(lost));
    }
}

impl SharedAnswer {
    fn answer(&self, events: usize, result: Result<(), Error>) {
        let mut state = self.0.lock();
        state.events_left = state.events_left.saturating_sub(events);
        if let Err(error) = result {
            state.failure.get_or_insert(error);
        }
        if state.events_left > 0 {
            return;
        }
        let (reply, failure) = (state.reply.take(), state.failure.take());
        drop(state);
        if let Some(reply) = reply {
            let _caller_may_be_gone = reply.send(failure.map_or(Ok(()), Err));
        }
    }
}

impl Future for Settling {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            SettlingState::Lost(error) => {
                Poll::Ready(Err(error.take().unwrap_or_else(|| Error::closed("polled twice"))))
            }
            SettlingState::Sent(answer) => Pin::new(answer)
                .poll(context)
                .map(|answer| answer.unwrap_or_else(|_| Err(Error::closed("the connection's task has ended")))),
        }
    }
}
