//! Settling a delivery: what ACK, NACK and MODACK have in common.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use prom_types::{EventId, Offset, TopicName};
use tokio::sync::oneshot;

use crate::Error;
use crate::core::Core;
use crate::feed::Feed;
use crate::mailbox::Reply;

/// The right to settle one event, for as long as the connection that brought it lives.
#[derive(Clone)]
pub(crate) struct Lease {
    pub feed: Arc<Feed>,
    /// The connection.
    pub epoch: u64,
    pub topic: TopicName,
    pub partition: u32,
    pub offset: Offset,
    pub id: EventId,
}

pub(crate) struct Settlement {
    pub lease: Lease,
    pub verdict: Verdict,
    pub company: Company,
    reply: Option<Reply>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ack,
    Nack { reason: String, delay: Option<Duration> },
    Modack { extend: Duration },
}

/// Whether it may share a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Welcome,
    /// A frame with others was refused as a whole: this one gets an answer of its own.
    Alone,
}

/// Ready when the hub has answered.
#[must_use = "only the answer says that it is settled"]
pub struct Settling(State);

enum State {
    Lost(Option<Error>),
    Sent(oneshot::Receiver<Result<(), Error>>),
}

impl Lease {
    pub fn lost(&self, reason: &str) -> Error {
        Error::LeaseLost { topic: self.topic.clone(), offset: self.offset, reason: reason.to_owned() }
    }

    /// Sent at once; the future only waits for the answer.
    pub fn settle(&self, core: &Core, verdict: Verdict) -> Settling {
        if self.epoch != core.epoch() {
            return Settling(State::Lost(Some(self.lost("the connection that brought it has ended"))));
        }
        let (reply, answer) = oneshot::channel();
        core.mailbox.settle(Settlement { reply: Some(reply), ..Settlement::unwatched(self.clone(), verdict) });
        Settling(State::Sent(answer))
    }
}

impl Settlement {
    /// Nobody waits for the answer.
    pub fn unwatched(lease: Lease, verdict: Verdict) -> Self {
        Self { lease, verdict, company: Company::Welcome, reply: None }
    }

    /// For an answer of its own.
    pub fn alone(self) -> Self {
        Self { company: Company::Alone, ..self }
    }

    pub fn answer(self, result: Result<(), Error>) {
        if let Some(reply) = self.reply {
            let _nobody_waits = reply.send(result);
        }
    }

    pub fn answer_lost(self, reason: &str) {
        let lost = self.lease.lost(reason);
        self.answer(Err(lost));
    }
}

impl Future for Settling {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Lost(error) => Poll::Ready(Err(error.take().unwrap_or_else(|| Error::closed("polled twice")))),
            State::Sent(answer) => Pin::new(answer)
                .poll(context)
                .map(|answer| answer.unwrap_or_else(|_| Err(Error::closed("the connection's task has ended")))),
        }
    }
}
