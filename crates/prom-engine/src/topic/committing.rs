//! A commit under way of which topics must hear, whether or not anybody waits for its answer: they
//! count what is stored, and one that was only proposed is made by it.
//!
//! ```text
//!   commit ──▶ Committing ──answer──▶ the topics hear ──▶ whoever waits
//!                   │ └──dropped──▶ a task waits instead ──▶ the topics hear
//!                   └──a topic is not as proposed──▶ a task admits the events anew and commits again
//! ```
//!
//! Such tasks are never more than the commits the store has under way, which it bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use prom_store::{Commit, CommitError, Committed, PendingCommit, Stored};
use prom_types::TopicName;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{COLLECTION, Refused, Topic};
use crate::Error;
use crate::bus::Core;
use crate::limits::CONTENTION_TRIES;

/// Ready with the answer, after the topics have heard of it.
#[must_use = "the events are durable only once this is ready"]
pub(crate) struct Committing<C: Concerned>(Stage<C>);

/// Topics that have events in a commit.
pub(crate) trait Concerned: Send + Unpin + 'static {
    /// The commit is durable; what became of each of its events, in their order.
    fn hear(&self, stored: &[Stored]);

    fn topics(&self) -> &[Arc<Topic>];

    /// The runtime of their bus; `None` if no topic is concerned.
    fn home(&self) -> Option<&Handle> {
        self.topics().first().map(|topic| topic.runtime())
    }
}

/// What to do about a refusal that says that a topic is not as it was proposed. The task goes on if its
/// handle is dropped.
pub(crate) type Again<C> = Box<dyn FnOnce(CommitError) -> JoinHandle<Result<(C, Committed), Error>> + Send>;

enum Stage<C> {
    UnderWay(UnderWay<C>),
    Again(JoinHandle<Result<(C, Committed), Error>>),
    Over,
}

struct UnderWay<C> {
    commit: PendingCommit,
    concerned: C,
    /// Only where a topic is proposed.
    again: Option<Again<C>>,
}

impl<C: Concerned> Committing<C> {
    pub fn new(commit: PendingCommit, concerned: C, again: Option<Again<C>>) -> Self {
        Self(Stage::UnderWay(UnderWay { commit, concerned, again }))
    }

    /// Nothing is committed before the store was asked for a topic that is not known here.
    pub fn after_a_look(topic: &TopicName, again: Again<C>) -> Self {
        let (collection, key) = (COLLECTION.to_owned(), topic.to_string());
        Self(Stage::Again(again(CommitError::Conflict { collection, key, current: 0 })))
    }
}

impl<C: Concerned> Future for Committing<C> {
    type Output = Result<(C, Committed), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context)
    }
}

impl<C: Concerned> Drop for Committing<C> {
    fn drop(&mut self) {
        let mut stage = std::mem::replace(&mut self.0, Stage::Over);
        let Stage::UnderWay(under_way) = &mut stage else {
            return;
        };
        let home = under_way.concerned.home().cloned();
        if stage.poll_commit(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        if let Some(runtime) = home {
            runtime.spawn(std::future::poll_fn(move |context| stage.poll_commit(context).map(drop)));
        }
    }
}

impl<C: Concerned> Stage<C> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(C, Committed), Error>> {
        if let Some(answer) = ready!(self.poll_commit(context)) {
            return Poll::Ready(answer);
        }
        let Self::Again(again) = self else {
            return Poll::Ready(Err(Error::Closed));
        };
        let answer = ready!(Pin::new(again).poll(context));
        *self = Self::Over;
        Poll::Ready(answer.unwrap_or(Err(Error::Closed)))
    }

    /// Ready with the answer to the commit itself; with `None` if there is none to wait for any more.
    fn poll_commit(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<(C, Committed), Error>>> {
        let Self::UnderWay(UnderWay { commit, .. }) = self else {
            return Poll::Ready(None);
        };
        let answer = ready!(Pin::new(commit).poll(context));
        let Self::UnderWay(UnderWay { concerned, again, .. }) = std::mem::replace(self, Self::Over) else {
            return Poll::Ready(None);
        };
        Poll::Ready(match (answer, again) {
            (Ok(committed), _) => {
                concerned.hear(&committed.stored);
                Some(Ok((concerned, committed)))
            }
            (Err(refusal), Some(again)) if is_about_a_topic(&refusal) => {
                *self = Self::Again(again(refusal));
                None
            }
            (Err(error), _) => Some(Err(Error::publish(error))),
        })
    }
}

fn is_about_a_topic(error: &CommitError) -> bool {
    matches!(error, CommitError::Conflict { collection, .. } if collection == COLLECTION)
}

/// Learns what the topic is really like, admits the events anew and commits them; again while others keep
/// changing it.
pub(crate) async fn try_again<C: Concerned>(
    core: &Core,
    mut refusal: CommitError,
    admit: impl Fn() -> Result<(Commit, C), Error> + Send,
) -> Result<(C, Committed), Error> {
    for _ in 0..CONTENTION_TRIES {
        if core.topics.learn_from(&*core.store, &refusal).await? == Refused::Otherwise {
            break;
        }
        let (commit, concerned) = admit()?;
        match core.topics.commit(&*core.store, commit, concerned.topics()).await {
            Ok(committed) => {
                concerned.hear(&committed.stored);
                return Ok((concerned, committed));
            }
            Err(error) => refusal = error,
        }
    }
    Err(Error::publish(refusal))
}
