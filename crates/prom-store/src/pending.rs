//! The future of a commit. One concrete type for every store, so that a publish costs no boxed future.
//!
//! A store answers many commits at once. [`CommitAnswers`] first stores every answer and wakes the callers afterwards: a
//! caller with many commits in progress finds all of them answered when it runs, instead of being woken for each.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::{CommitError, Committed};

/// Ready when the commit is durable or refused.
#[must_use = "a commit is durable only once this is ready"]
pub struct PendingCommit(PendingState);

enum PendingState {
    Known(Option<Result<Committed, CommitError>>),
    Waiting(Arc<Mutex<ReplySlot>>),
}

/// Where the answer and the caller meet.
enum ReplySlot {
    Empty,
    Awaited(Waker),
    Answered(Result<Committed, CommitError>),
    Taken,
}

/// The store's end: answers one commit. Dropping it without an answer answers `Closed`.
pub struct CommitReply(Option<Arc<Mutex<ReplySlot>>>);

/// Stored answers whose callers have not been woken yet.
#[derive(Default)]
pub struct CommitAnswers {
    wakers: Vec<Waker>,
}

impl PendingCommit {
    pub fn new() -> (CommitReply, Self) {
        let place = Arc::new(Mutex::new(ReplySlot::Empty));
        (CommitReply(Some(place.clone())), Self(PendingState::Waiting(place)))
    }

    pub fn known(result: Result<Committed, CommitError>) -> Self {
        Self(PendingState::Known(Some(result)))
    }
}

impl CommitReply {
    /// Answers and wakes. The caller may have stopped waiting; the commit counts anyway.
    pub fn send(mut self, result: Result<Committed, CommitError>) {
        if let Some(waker) = self.place(result) {
            waker.wake();
        }
    }

    fn place(&mut self, result: Result<Committed, CommitError>) -> Option<Waker> {
        let place = self.0.take()?;
        match std::mem::replace(&mut *place.lock(), ReplySlot::Answered(result)) {
            ReplySlot::Awaited(waker) => Some(waker),
            _ => None,
        }
    }
}

impl Drop for CommitReply {
    fn drop(&mut self) {
        if let Some(waker) = self.place(Err(CommitError::Closed)) {
            waker.wake();
        }
    }
}

impl CommitAnswers {
    pub fn put(&mut self, mut reply: CommitReply, result: Result<Committed, CommitError>) {
        self.wakers.extend(reply.place(result));
    }

    /// Wakes every caller whose answer was stored.
    pub fn wake(&mut self) {
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
    }
}

impl Future for PendingCommit {
    type Output = Result<Committed, CommitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = match &mut self.0 {
            PendingState::Known(result) => return Poll::Ready(result.take().unwrap_or(Err(CommitError::Closed))),
            PendingState::Waiting(place) => place,
        };
        let mut place = place.lock();
        match &mut *place {
            ReplySlot::Answered(_) => match std::mem::replace(&mut *place, ReplySlot::Taken) {
                ReplySlot::Answered(result) => Poll::Ready(result),
                _ => Poll::Ready(Err(CommitError::Closed)),
            },
            ReplySlot::Taken => Poll::Ready(Err(CommitError::Closed)),
            ReplySlot::Awaited(waker) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            ReplySlot::Empty => {
                *place = ReplySlot::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_its_caller() {
        let (reply, pending) = PendingCommit::new();
        let waiting = tokio::spawn(pending);
        tokio::task::yield_now().await;
        reply.send(Ok(Committed::default()));
        assert_eq!(waiting.await.unwrap(), Ok(Committed::default()));
    }

    #[tokio::test]
    async fn answers_stored_together_reach_all_callers_once_woken() {
        let (replies, pendings): (Vec<_>, Vec<_>) = (0..100).map(|_| PendingCommit::new()).unzip();
        let waiting: Vec<_> = pendings.into_iter().map(tokio::spawn).collect();
        tokio::task::yield_now().await;
        let mut answers = CommitAnswers::default();
        replies.into_iter().for_each(|reply| answers.put(reply, Ok(Committed::default())));
        answers.wake();
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap(), Ok(Committed::default()));
        }
    }

    #[tokio::test]
    async fn a_reply_that_is_dropped_says_closed() {
        let (reply, pending) = PendingCommit::new();
        drop(reply);
        assert_eq!(pending.await, Err(CommitError::Closed));
    }
}
