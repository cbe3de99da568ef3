//! The future of a commit. One concrete type for every store, so that a publish costs no boxed future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::{CommitError, Committed};

/// Ready when the commit is durable or refused.
#[must_use = "a commit is durable only once this is ready"]
pub struct PendingCommit(State);

enum State {
    Known(Option<Result<Committed, CommitError>>),
    Waiting(oneshot::Receiver<Result<Committed, CommitError>>),
}

/// The store's end: answers one commit.
pub struct Reply(oneshot::Sender<Result<Committed, CommitError>>);

impl PendingCommit {
    pub fn new() -> (Reply, Self) {
        let (sender, receiver) = oneshot::channel();
        (Reply(sender), Self(State::Waiting(receiver)))
    }

    pub fn known(result: Result<Committed, CommitError>) -> Self {
        Self(State::Known(Some(result)))
    }
}

impl Reply {
    /// The caller may have stopped waiting; the commit stands all the same.
    pub fn send(self, result: Result<Committed, CommitError>) {
        let _nobody_waits = self.0.send(result);
    }
}

impl Future for PendingCommit {
    type Output = Result<Committed, CommitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Known(result) => Poll::Ready(result.take().unwrap_or(Err(CommitError::Closed))),
            State::Waiting(receiver) => Pin::new(receiver)
                .poll(context)
                .map(|answer| answer.unwrap_or(Err(CommitError::Closed))),
        }
    }
}
