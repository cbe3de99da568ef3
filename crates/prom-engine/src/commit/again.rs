//! Committing a unit again, by what a topic turned out to be.

use std::sync::Arc;

use prom_store::{CommitError, CursorChange, CursorName, DocumentWrite, Outcome};
use prom_types::{NewEvent, TopicName};
use tokio::task::JoinHandle;

use super::pending::{Durable, NotCommitted, PendingUnit};
use super::{Atomicity, UnitOfWork, Unjudged};
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
    /// The schemas of its topic are asked for first.
    Unjudged(NewEvent),
    /// They have judged it.
    Judged(NewEvent),
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
        Some(Box::new(self.kept(atomicity)))
    }

    /// Some of its events are judged first, on threads that may be kept busy.
    pub(super) fn judged_first(mut self, atomicity: Atomicity) -> PendingUnit {
        let again = Box::new(self.kept(atomicity));
        let (core, durability) = (self.core, again.core.store.durability());
        PendingUnit::again(core.topics.runtime().spawn(async move { again.judge_and_run().await }), durability)
    }

    fn kept(&mut self, atomicity: Atomicity) -> Again {
        let mut drafts = std::mem::take(&mut self.drafts).into_iter().peekable();
        let mut unjudged = std::mem::take(&mut self.unjudged).into_iter().peekable();
        let mut events = Vec::with_capacity(self.commit.appends.len() + unjudged.len());
        let kept = |Unjudged { event, is_copy, .. }| Kept { event: KeptEvent::Unjudged(event), is_copy };
        for (at, append) in self.commit.appends.iter().enumerate() {
            while let Some(before) = unjudged.next_if(|unjudged| unjudged.place <= at) {
                events.push(kept(before));
            }
            let event = match drafts.next_if(|(index, _)| *index == at) {
                Some((_, draft)) => Some(KeptEvent::Draft(draft)),
                None => self.appended.admitted(at, append).map(KeptEvent::Admitted),
            };
            events.extend(event.map(|event| Kept { event, is_copy: self.appended.is_copy(at) }));
        }
        events.extend(unjudged.map(kept));
        Again {
            core: self.core.clone(),
            maker: self.maker.clone(),
            events,
            cursors: self.commit.cursors.clone(),
            documents: self.commit.documents.clone(),
            atomicity,
        }
    }
}

impl Again {
    /// The task goes on if its handle is dropped.
    pub fn start(self: Box<Self>, refusal: CommitError) -> JoinHandle<Result<Durable, NotCommitted>> {
        let runtime = self.core.topics.runtime().clone();
        runtime.spawn(async move { self.run(refusal).await })
    }

    /// Judges what was not judged yet, and commits all of it.
    async fn judge_and_run(mut self: Box<Self>) -> Result<Durable, NotCommitted> {
        for at in 0..self.events.len() {
            if let KeptEvent::Unjudged(event) = &self.events[at].event {
                let (core, maker) = (self.core.clone(), self.maker.clone());
                let judged = core.judge(event.clone()).await.map_err(|error| self.of_all(error))?;
                // Its topic may have been made elsewhere; then it is known now.
                core.slot_of(&judged, maker.as_ref()).await.map_err(|error| self.of_all(error))?;
                self.events[at].event = KeptEvent::Judged(judged);
            }
        }
        match self.try_once().await? {
            Ok(durable) => Ok(durable),
            Err(refusal) => self.run(refusal).await,
        }
    }

    /// Learns what the topic is really like, admits the events again and commits them; repeats this while
    /// others keep changing it.
    async fn run(&self, mut refusal: CommitError) -> Result<Durable, NotCommitted> {
        let core = &self.core;
        for _ in 0..CONTENTION_TRIES {
            if core.topics.learn_from(&*core.store, &refusal).await? == topic::RefusedFor::Otherwise {
                break;
            }
            match self.try_once().await? {
                Ok(durable) => return Ok(durable),
                Err(error) => refusal = error,
            }
        }
        Err(refusal.into())
    }

    /// Admits the events and commits them; or what the store refused them for.
    async fn try_once(&self) -> Result<Result<Durable, CommitError>, NotCommitted> {
        let core = &self.core;
        let work = self.unit().map_err(|error| self.of_all(error))?;
        let UnitOfWork { commit, appended, .. } = work;
        match core.topics.commit(&*core.store, commit, appended.topics()).await {
            Ok(committed) => {
                appended.tell_topics(&committed.stored);
                Ok(Ok(Durable { appended, committed, durability: core.store.durability() }))
            }
            Err(refusal) => Ok(Err(appended.by_event(refusal))),
        }
    }

    fn unit(&self) -> Result<UnitOfWork, Error> {
        let mut work = UnitOfWork { maker: self.maker.clone(), ..self.core.unit_of_work() };
        work.commit.cursors.clone_from(&self.cursors);
        work.commit.documents.clone_from(&self.documents);
        for kept in &self.events {
            match &kept.event {
                KeptEvent::Admitted(admitted) => work.add_admitted(admitted.clone()),
                KeptEvent::Draft(draft) => work.publish_again(&draft.event, draft.publisher)?,
                KeptEvent::Unjudged(event) | KeptEvent::Judged(event) => {
                    work.publish_judged(self.core.slot_for_publish(&event.topic)?, event)?;
                }
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
