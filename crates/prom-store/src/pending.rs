//! The future of a commit. One concrete type for every store, so that a publish costs no boxed future.
//!
//! A store answers many commits at once. [`Answers`] first puts every answer in its place and wakes
//! afterwards: a caller with many commits under way finds all of them answered when it runs, instead
//! of being woken for each.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::{CommitError, Committed};

/// Ready when the commit is durable or refused.
#[must_use = "a commit is durable only once this is ready"]
pub struct PendingCommit(State);

enum State {
    Known(Option<Result<Committed, CommitError>>),
    Waiting(Arc<Mutex<Place>>),
}

/// Where answer and caller meet.
enum Place {
    Empty,
    Awaited(Waker),
    Answered(Result<Committed, CommitError>),
    Taken,
}

/// The store's end: answers one commit. Dropped without an answer it says `Closed`.
pub struct Reply(Option<Arc<Mutex<Place>>>);

/// Answers that are in place while their callers are still to be woken.
#[derive(Default)]
pub struct Answers {
    wakers: Vec<Waker>,
}

impl PendingCommit {
    pub fn new() -> (Reply, Self) {
        let place = Arc::new(Mutex::new(Place::Empty));
        (Reply(Some(place.clone())), Self(State::Waiting(place)))
    }

    pub fn known(result: Result<Committed, CommitError>) -> Self {
        Self(State::Known(Some(result)))
    }
}

impl Reply {
    /// Answers and wakes. The caller may have stopped waiting; the commit stands all the same.
    pub fn send(mut self, result: Result<Committed, CommitError>) {
        if let Some(waker) = self.place(result) {
            waker.wake();
        }
    }

    fn place(&mut self, result: Result<Committed, CommitError>) -> Option<Waker> {
        let place = self.0.take()?;
        match std::mem::replace(&mut *place.lock(), Place::Answered(result)) {
            Place::Awaited(waker) => Some(waker),
            _ => None,
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(waker) = self.place(Err(CommitError::Closed)) {
            waker.wake();
        }
    }
}

impl Answers {
    pub fn put(&mut self, mut reply: Reply, result: Result<Committed, CommitError>) {
        self.wakers.extend(reply.place(result));
    }

    /// Wakes everybody whose answer was put.
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
            State::Known(result) => return Poll::Ready(result.take().unwrap_or(Err(CommitError::Closed))),
            State::Waiting(place) => place,
        };
        let mut place = place.lock();
        match &mut *place {
            Place::Answered(_) => match std::mem::replace(&mut *place, Place::Taken) {
                Place::Answered(result) => Poll::Ready(result),
                _ => Poll::Ready(Err(CommitError::Closed)),
            },
            Place::Taken => Poll::Ready(Err(CommitError::Closed)),
            Place::Awaited(waker) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            Place::Empty => {
                *place = Place::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_whoever_waits() {
        let (reply, pending) = PendingCommit::new();
        let waiting = tokio::spawn(pending);
        tokio::task::yield_now().await;
        reply.send(Ok(Committed::default()));
        assert_eq!(waiting.await.unwrap(), Ok(Committed::default()));
    }

    #[tokio::test]
    async fn answers_put_together_reach_everybody_once_woken() {
        let (replies, pendings): (Vec<_>, Vec<_>) = (0..100).map(|_| PendingCommit::new()).unzip();
        let waiting: Vec<_> = pendings.into_iter().map(tokio::spawn).collect();
        tokio::task::yield_now().await;
        let mut answers = Answers::default();
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
