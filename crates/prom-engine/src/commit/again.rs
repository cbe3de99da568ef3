//! Committing a unit again, by what a topic turned out to be.

use std::sync::Arc;

use prom_store::{CommitError, CursorChange, CursorName, DocumentWrite, Outcome};
use prom_types::{NewEvent, TopicName};
use tokio::task::JoinHandle;

use super::pending::{Durable, NotCommitted, PendingUnit};
use super::{Atomicity, UnitOfWork};
use crate::admit::{Admitted, PublishedBy};
use crate::bus::Core;
use crate::limits::CONTENTION_TRIES;
use crate::topic;
use crate::{Bus, Error};

/// An event whose topic is only proposed.
#[derive(Clone)]
pub(super) struct EventDraft {
    pub event: NewEvent,
    pub publisher: PublishedBy,
}

/// A unit that may have to be made again.
pub(super) struct Again {
    core: Arc<Core>,
    maker: Option<Arc<str>>,
    events: Vec<Kept>,
    cursors: Vec<(CursorName, CursorChange)>,
    documents: Vec<DocumentWrite>,
    atomicity: Atomicity,
}

struct Kept {
    event: KeptEvent,
    is_copy: bool,
}

enum KeptEvent {
    /// Its topic is certain.
    Admitted(Admitted),
    Draft(EventDraft),
}

/// An atomic batch with a topic that is not known here: the store is asked for it first.
pub(crate) fn after_a_look(bus: &Bus, events: &[NewEvent], unknown: &TopicName) -> PendingUnit {
    let core = bus.core();
    let draft = |event: &NewEvent| EventDraft { event: event.clone(), publisher: PublishedBy::Caller };
    let kept = |event| Kept { event: KeptEvent::Draft(draft(event)), is_copy: false };
    let again = Again {
        core: core.clone(),
        maker: bus.maker().cloned(),
        events: events.iter().map(kept).collect(),
        cursors: Vec::new(),
        documents: Vec::new(),
        atomicity: Atomicity::Whole,
    };
    PendingUnit::again(Box::new(again).start(topic::conflict(unknown, 0)), core.store.durability())
}

impl UnitOfWork {
    /// What to do should a proposed topic turn out to be another.
    pub(super) fn again(&mut self, atomicity: Atomicity) -> Option<Box<Again>> {
        if self.drafts.is_empty() {
            return None;
        }
        let mut drafts = std::mem::take(&mut self.drafts).into_iter().peekable();
        let kept = |(at, append)| {
            let event = match drafts.next_if(|(index, _)| *index == at) {
                Some((_, draft)) => KeptEvent::Draft(draft),
                None => KeptEvent::Admitted(self.appended.admitted(at, append)?),
            };
            Some(Kept { event, is_copy: self.appended.is_copy(at) })
        };
        Some(Box::new(Again {
            core: self.core.clone(),
            maker: self.maker.clone(),
            events: self.commit.appends.iter().enumerate().filter_map(kept).collect(),
            cursors: self.commit.cursors.clone(),
            documents: self.commit.documents.clone(),
            atomicity,
        }))
    }
}

impl Again {
    /// The task goes on if its handle is dropped.
    pub fn start(self: Box<Self>, refusal: CommitError) -> JoinHandle<Result<Durable, NotCommitted>> {
        let runtime = self.core.topics.runtime().clone();
        runtime.spawn(async move { self.run(refusal).await })
    }

    /// Learns what the topic is really like, admits the events again and commits them; repeats this while
    /// others keep changing it.
    async fn run(&self, mut refusal: CommitError) -> Result<Durable, NotCommitted> {
        let core = &self.core;
        for _ in 0..CONTENTION_TRIES {
            if core.topics.learn_from(&*core.store, &refusal).await? == topic::RefusedFor::Otherwise {
                break;
            }
            let work = self.unit().map_err(|error| self.of_all(error))?;
            let UnitOfWork { commit, appended, .. } = work;
            match core.topics.commit(&*core.store, commit, appended.topics()).await {
                Ok(committed) => {
                    appended.tell_topics(&committed.stored);
                    return Ok(Durable { appended, committed, durability: core.store.durability() });
                }
                Err(error) => refusal = error,
            }
        }
        Err(refusal.into())
    }

    fn unit(&self) -> Result<UnitOfWork, Error> {
        let mut work = UnitOfWork { maker: self.maker.clone(), ..self.core.unit_of_work() };
        work.commit.cursors.clone_from(&self.cursors);
        work.commit.documents.clone_from(&self.documents);
        for kept in &self.events {
            match &kept.event {
                KeptEvent::Admitted(admitted) => work.add_admitted(admitted.clone()),
                KeptEvent::Draft(draft) => work.publish_again(&draft.event, draft.publisher)?,
            }
            if kept.is_copy {
                work.appended.last_is_copy();
            }
        }
        Ok(work)
    }

    /// What one event is refused for now is told to independent others as what it is to them: nothing was
    /// stored. Sent again, each is judged alone.
    fn of_all(&self, refusal: Error) -> Error {
        match self.atomicity {
            Atomicity::Whole => refusal,
            Atomicity::Each => Error::PublishFailed { reason: refusal.to_string(), stored: Outcome::NotStored },
        }
    }
}
