//! A commit under way of which topics must hear, whether or not anybody waits for its answer: they
//! count what is stored, and one that was only proposed is made by it.
//!
//! ```text
//!   commit ──▶ Committing ──answer──▶ the topics hear ──▶ whoever waits
//!                   └──dropped──▶ a task waits instead ──▶ the topics hear
//! ```
//!
//! Such tasks are never more than the commits the store has under way, which it bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use prom_store::{CommitError, Committed, PendingCommit, Stored};
use tokio::runtime::Handle;

use super::Topic;

/// Ready with the answer, after the topics have heard of it.
#[must_use = "the events are durable only once this is ready"]
pub(crate) struct Committing<C: Concerned>(Option<UnderWay<C>>);

/// Topics that have events in a commit.
pub(crate) trait Concerned: Send + Unpin + 'static {
    /// The commit is durable; what became of each of its events, in their order.
    fn hear(&self, stored: &[Stored]);

    /// The runtime of their bus; `None` if no topic is concerned.
    fn home(&self) -> Option<&Handle>;
}

struct UnderWay<C> {
    commit: PendingCommit,
    concerned: C,
}

impl<C: Concerned> Committing<C> {
    pub fn new(commit: PendingCommit, concerned: C) -> Self {
        Self(Some(UnderWay { commit, concerned }))
    }
}

impl<C: Concerned> Future for Committing<C> {
    type Output = Result<(C, Committed), CommitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(under_way) = &mut self.0 else {
            return Poll::Ready(Err(CommitError::Closed));
        };
        let answer = ready!(under_way.poll(context));
        Poll::Ready(match (answer, self.0.take()) {
            (Ok(committed), Some(UnderWay { concerned, .. })) => Ok((concerned, committed)),
            (Err(error), _) => Err(error),
            (Ok(_), None) => Err(CommitError::Closed),
        })
    }
}

impl<C: Concerned> Drop for Committing<C> {
    fn drop(&mut self) {
        let Some(mut under_way) = self.0.take() else {
            return;
        };
        if under_way.poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        if let Some(runtime) = under_way.concerned.home().cloned() {
            runtime.spawn(std::future::poll_fn(move |context| under_way.poll(context).map(drop)));
        }
    }
}

impl<C: Concerned> UnderWay<C> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Committed, CommitError>> {
        let answer = ready!(Pin::new(&mut self.commit).poll(context));
        if let Ok(committed) = &answer {
            self.concerned.hear(&committed.stored);
        }
        Poll::Ready(answer)
    }
}

/// All events of the commit are of this topic.
impl Concerned for Arc<Topic> {
    fn hear(&self, stored: &[Stored]) {
        self.committed(stored);
    }

    fn home(&self) -> Option<&Handle> {
        Some(self.runtime())
    }
}
