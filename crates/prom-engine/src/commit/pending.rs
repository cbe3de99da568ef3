//! A unit under way. Topics hear what was stored, whether or not the caller waits for the answer.
//!
//! ```text
//!   commit ──▶ Pending ──answer──▶ the topics hear ──▶ the caller
//!                 │ └──dropped──▶ a task waits instead ──▶ the topics hear
//!                 └──a topic is not as proposed──▶ a task admits the events again and commits them
//! ```
//!
//! Such tasks are never more than the commits the store has under way, which it bounds.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use prom_store::{CommitError, Committed, Outcome, PendingCommit};
use prom_types::{Durability, Receipt};
use tokio::task::{JoinError, JoinHandle};

use super::again::Again;
use super::appended::Appended;
use crate::Error;
use crate::topic;

/// Ready with the receipts, in the order in which the events were added, when all is durable; or with the
/// reason why nothing is known to be. Dropping it withdraws nothing.
#[must_use = "nothing is durable before this is ready"]
pub struct CommittingUnit(PendingUnit);

/// As [`CommittingUnit`], with the answer as the store gave it.
#[must_use = "nothing is durable before this is ready"]
pub(crate) struct PendingUnit {
    stage: Stage,
    durability: Durability,
}

/// A unit that is durable.
pub(crate) struct Durable {
    pub(super) appended: Appended,
    pub(super) committed: Committed,
    pub(super) durability: Durability,
}

/// Why nothing is known to be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCommitted {
    #[error(transparent)]
    Refused(#[from] CommitError),
    /// An event does not fit what its topic turned out to be. Nothing was stored.
    #[error(transparent)]
    NotAdmitted(#[from] Error),
}

enum Stage {
    Refused(Error),
    UnderWay(UnderWay),
    Again(JoinHandle<Result<Durable, NotCommitted>>),
    Over,
}

struct UnderWay {
    commit: PendingCommit,
    appended: Appended,
    /// Only where a topic is proposed.
    again: Option<Box<Again>>,
}

impl PendingUnit {
    pub(super) fn new(
        commit: PendingCommit,
        appended: Appended,
        again: Option<Box<Again>>,
        durability: Durability,
    ) -> Self {
        Self { stage: Stage::UnderWay(UnderWay { commit, appended, again }), durability }
    }

    /// Nothing was handed to the store.
    pub fn refused(error: Error, durability: Durability) -> Self {
        Self { stage: Stage::Refused(error), durability }
    }

    pub fn again(task: JoinHandle<Result<Durable, NotCommitted>>, durability: Durability) -> Self {
        Self { stage: Stage::Again(task), durability }
    }
}

impl From<PendingUnit> for CommittingUnit {
    fn from(pending: PendingUnit) -> Self {
        Self(pending)
    }
}

impl Durable {
    pub fn receipts(self) -> impl Iterator<Item = Receipt> {
        self.appended.into_receipts(self.committed.stored, self.durability)
    }
}

impl NotCommitted {
    /// A document was not as expected: read it again and decide again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(CommitError::Conflict { .. }))
    }
}

impl Future for PendingUnit {
    type Output = Result<Durable, NotCommitted>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let durability = self.durability;
        self.stage.poll(context, durability)
    }
}

impl Future for CommittingUnit {
    type Output = Result<Vec<Receipt>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(answer.map(|durable| durable.receipts().collect()).map_err(Error::publish))
    }
}

impl Drop for PendingUnit {
    fn drop(&mut self) {
        let durability = self.durability;
        let mut stage = std::mem::replace(&mut self.stage, Stage::Over);
        let Stage::UnderWay(under_way) = &mut stage else {
            return;
        };
        let runtime = under_way.appended.runtime().cloned();
        if stage.poll_commit(&mut Context::from_waker(Waker::noop()), durability).is_ready() {
            return;
        }
        if let Some(runtime) = runtime {
            runtime.spawn(std::future::poll_fn(move |context| stage.poll_commit(context, durability).map(drop)));
        }
    }
}

/// The task that tries a commit again was stopped: with its runtime, or by a panic.
fn stopped(stopped: JoinError) -> Result<Durable, NotCommitted> {
    if stopped.is_panic() {
        Err(CommitError::Failed { reason: stopped.to_string(), outcome: Outcome::Unknown }.into())
    } else {
        Err(CommitError::Closed.into())
    }
}

impl Stage {
    fn poll(&mut self, context: &mut Context<'_>, durability: Durability) -> Poll<Result<Durable, NotCommitted>> {
        if let Some(answer) = ready!(self.poll_commit(context, durability)) {
            return Poll::Ready(answer);
        }
        let answer = match self {
            Self::Again(again) => ready!(Pin::new(again).poll(context)).unwrap_or_else(stopped),
            _ => match std::mem::replace(self, Self::Over) {
                Self::Refused(error) => Err(error.into()),
                _ => Err(CommitError::Closed.into()),
            },
        };
        *self = Self::Over;
        Poll::Ready(answer)
    }

    /// Ready with the answer to the commit itself; with `None` if there is none to wait for any more.
    fn poll_commit(
        &mut self,
        context: &mut Context<'_>,
        durability: Durability,
    ) -> Poll<Option<Result<Durable, NotCommitted>>> {
        let Self::UnderWay(UnderWay { commit, .. }) = self else {
            return Poll::Ready(None);
        };
        let answer = ready!(Pin::new(commit).poll(context));
        let Self::UnderWay(UnderWay { appended, again, .. }) = std::mem::replace(self, Self::Over) else {
            return Poll::Ready(None);
        };
        Poll::Ready(match (answer, again) {
            (Ok(committed), _) => {
                appended.tell_topics(&committed.stored);
                Some(Ok(Durable { appended, committed, durability }))
            }
            (Err(refusal), Some(again)) if topic::is_about_a_topic(&refusal) => {
                *self = Self::Again(again.start(refusal));
                None
            }
            (Err(refusal), _) => Some(Err(appended.by_event(refusal).into())),
        })
    }
}
