//! One unit of work: everything that becomes durable together, or not at all.
//!
//! ```text
//!   events ──▶ admitted ─┐
//!   cursor changes ──────┼─▶ UnitOfWork ──▶ one commit ──▶ the topics hear ──▶ receipts
//!   documents ───────────┘        ▲             │
//!                                 └─ again ◀────┘ a topic is not as it was proposed
//! ```
//!
//! Publishing, settling, dead letters, moved cursors, and the documents of topics, groups and owners all
//! go this way; no other part of the engine makes a commit.
//!
//! Promises: a unit is refused whole when one of its conditions fails (a cursor of another epoch, a
//! document that is not as expected), and stores nothing then. A topic that it proposed stays known to this
//! process, without a document, until an event of it is stored. A topic that is only proposed becomes
//! durable with its first events. Topics count what is stored, also if the caller does not wait for the
//! answer.

mod again;
mod appended;
mod pending;

use std::sync::Arc;

use prom_store::{
    AppendTerms, Commit, CommitError, CursorChange, CursorName, Dedupe, DocumentWrite, Encoder, LogName, PendingCommit,
};
use prom_types::{EpochMs, EventId, NewEvent, Offset, TopicName};

use self::again::EventDraft;
use self::appended::Appended;
use crate::admit::{Admitted, PublishedBy, TopicSlot, check_batch};
use crate::bus::Core;
use crate::dual_write::DualWriteCopy;
use crate::schema::{JudgedEvent, Judgement};
use crate::topic::Topic;
use crate::{Bus, Error};

pub(crate) use self::again::after_a_look;
pub use self::pending::CommittingUnit;
pub(crate) use self::pending::{Durable, NotCommitted, PendingUnit};

/// Events of any topics, cursor changes of any groups and documents, on their way into one commit.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), prom_engine::Error> {
/// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
/// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
/// use prom_store::{DocumentWrite, Expect};
/// use prom_types::{NewEvent, TopicName};
/// use serde_json::json;
///
/// let mut work = bus.unit_of_work();
/// work.publish(&NewEvent::new(TopicName::parse("orders.paid")?, json!({"id": 7})))?;
/// work.write(DocumentWrite::put("invoices", "7", "{}").expecting(Expect::Absent));
/// let receipts = work.commit().await?;
/// assert_eq!(receipts.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct UnitOfWork {
    core: Arc<Core>,
    /// Whom topics count to that it makes.
    maker: Option<Arc<str>>,
    encoder: Encoder,
    commit: Commit,
    appended: Appended,
    /// Events of topics that are only proposed, by their place among the appends.
    drafts: Vec<(usize, EventDraft)>,
    /// Events whose judgement takes long, or whose schemas are not in memory: they are judged when all is sent.
    unjudged: Vec<Unjudged>,
}

/// An event that is judged elsewhere first.
struct Unjudged {
    /// How many appends come before it.
    place: usize,
    event: NewEvent,
    is_copy: bool,
}

/// What the parts of a unit are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Atomicity {
    /// Stored whole or not at all.
    Whole,
    /// Events that are independent and were only handed over together.
    Each,
}

impl Bus {
    /// Begins a unit of work. Nothing is stored before it is committed.
    pub fn unit_of_work(&self) -> UnitOfWork {
        self.unit_of_work_for(self.maker())
    }

    /// As [`Bus::unit_of_work`] of a bus that acts for this subject.
    pub fn unit_of_work_for(&self, subject: Option<&Arc<str>>) -> UnitOfWork {
        self.core().unit_of_work_for(subject)
    }
}

impl Core {
    pub fn unit_of_work(self: &Arc<Self>) -> UnitOfWork {
        self.unit_of_work_for(None)
    }

    /// Topics that it makes count to `maker`.
    pub fn unit_of_work_for(self: &Arc<Self>, maker: Option<&Arc<str>>) -> UnitOfWork {
        UnitOfWork {
            core: self.clone(),
            maker: maker.cloned(),
            encoder: Encoder::default(),
            commit: Commit::default(),
            appended: Appended::default(),
            drafts: Vec::new(),
            unjudged: Vec::new(),
        }
    }

    /// A unit of one document.
    pub fn write(self: &Arc<Self>, document: DocumentWrite) -> PendingUnit {
        let mut work = self.unit_of_work();
        work.write(document);
        work.send()
    }
}

impl UnitOfWork {
    /// Adds an event. What is refused here leaves no trace. One whose judgement takes long is judged by the commit, which is
    /// refused then. What it expects is judged against the state before the unit.
    pub fn publish(&mut self, event: &NewEvent) -> Result<(), Error> {
        let slot = self.core.slot_for_publish(&event.topic)?;
        self.core.check(&slot, event, self.maker.as_ref())?;
        if self.core.is_judged_elsewhere(&slot, event) {
            let place = self.commit.appends.len();
            self.unjudged.push(Unjudged { place, event: event.clone(), is_copy: false });
            return Ok(());
        }
        self.publish_to(slot, event)
    }

    /// As [`UnitOfWork::publish_to`], for an event that its schemas have judged. It passed every check, but for its size.
    pub(crate) fn publish_judged(&mut self, slot: TopicSlot, event: &NewEvent) -> Result<(), Error> {
        self.core.check(&slot, event, self.maker.as_ref())?;
        let admitted = self.core.admit(slot, event, self.maker.as_ref(), &mut self.encoder, Judgement::Done)?;
        self.add_with_copy(admitted, event, PublishedBy::Judged)
    }

    /// Adds an event that was judged before.
    pub fn publish_checked(&mut self, event: &JudgedEvent) -> Result<(), Error> {
        let event = event.event();
        self.publish_judged(self.core.slot_for_publish(&event.topic)?, event)
    }

    /// Adds an event of a snapshot. Only topics that hold snapshots take them, of any size that follows from a checked event.
    pub fn publish_snapshot(&mut self, event: &NewEvent) -> Result<(), Error> {
        match self.core.topics.get(&event.topic) {
            Some(topic) if topic.settings.snapshot_of.is_some() => self.publish_own(event.topic.clone(), event),
            _ => Err(Error::UnknownTopic { topic: event.topic.clone() }),
        }
    }

    /// Adds another form of the event that was added last, for another topic. It has no receipt.
    pub fn publish_copy(&mut self, event: &NewEvent) -> Result<(), Error> {
        let unjudged = self.unjudged.len();
        self.publish(event)?;
        match self.unjudged.get_mut(unjudged) {
            Some(copy) => copy.is_copy = true,
            _ => self.appended.last_is_copy(),
        }
        Ok(())
    }

    /// Settles events of a group, or makes, moves or deletes its cursor.
    pub fn change_cursor(&mut self, cursor: CursorName, change: CursorChange) {
        self.commit.cursors.push((cursor, change));
    }

    /// Writes or deletes a document. Where it is not as expected, nothing of the unit is stored.
    pub fn write(&mut self, document: DocumentWrite) {
        self.commit.documents.push(document);
    }

    /// What the clock of the bus says.
    pub(crate) fn now_ms(&self) -> EpochMs {
        self.core.clock.now_ms()
    }

    /// An id that no event has.
    pub(crate) fn new_id(&self) -> EventId {
        self.core.ids.make(self.now_ms())
    }

    /// How many partitions a topic has, or would have.
    pub(crate) fn partitions_of(&self, topic: &TopicName) -> u32 {
        match self.core.topics.get(topic) {
            Some(topic) => topic.settings.partitions,
            None => self.core.settings_of_new(topic.clone()).partitions,
        }
    }

    /// In whose name it is done.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.maker.as_deref()
    }

    /// How many receipts there will be.
    pub fn len(&self) -> usize {
        self.appended.receipts() + self.unjudged.iter().filter(|event| !event.is_copy).count()
    }

    /// Whether no event was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores all of it or nothing. Under way before the future is polled; dropping it withdraws nothing.
    /// A unit has at most as many events, and at most as many bytes of them, as a batch.
    pub fn commit(self) -> CommittingUnit {
        let bytes: usize = self.commit.appends.iter().map(|append| append.event.len()).sum();
        let unjudged: usize = self.unjudged.iter().map(|unjudged| unjudged.event.payload.as_bytes().len()).sum();
        let events = self.commit.appends.len() + self.unjudged.len();
        if let Err(too_large) = check_batch(events, bytes + unjudged) {
            return PendingUnit::refused(too_large.into(), self.core.store.durability()).into();
        }
        self.send().into()
    }

    /// Stores events that are independent and were only gathered for one hand-over. A store that pays for
    /// several logs at one moment may then store a part of them; the error says so. With an expectation among them it is as
    /// [`UnitOfWork::commit`].
    pub fn commit_each(self) -> CommittingUnit {
        self.send_as(Atomicity::Each).into()
    }

    /// As [`UnitOfWork::commit`], with the refusal as the store gave it.
    pub(crate) fn send(self) -> PendingUnit {
        self.send_as(Atomicity::Whole)
    }

    /// The first event of this log gets this offset; the offsets before it stay empty.
    pub(crate) fn place(&mut self, log: LogName, offset: Offset) {
        self.commit.places.push((log, offset));
    }

    /// Adds an event that was stored elsewhere, and when that was. It has no copy, and its id is not looked for.
    pub(crate) fn publish_placed(
        &mut self,
        slot: TopicSlot,
        event: &NewEvent,
        judgement: Judgement,
        stored_ts: Option<EpochMs>,
    ) -> Result<(), Error> {
        let mut admitted = self.core.admit(slot, event, self.maker.as_ref(), &mut self.encoder, judgement)?;
        admitted.append.dedupe = Dedupe::Fresh;
        admitted.append.terms =
            stored_ts.map(|stored_ts| Box::new(AppendTerms { stored_ts: Some(stored_ts), expect: None }));
        self.add_admitted(Admitted { copy: None, ..admitted });
        Ok(())
    }

    /// Adds an event that passed every check.
    pub(crate) fn publish_to(&mut self, slot: TopicSlot, event: &NewEvent) -> Result<(), Error> {
        let admitted = self.core.admit(slot, event, self.maker.as_ref(), &mut self.encoder, Judgement::Due)?;
        self.add_with_copy(admitted, event, PublishedBy::Caller)
    }

    /// As [`UnitOfWork::publish_to`]; a lone event shares memory with other lone ones.
    pub(crate) fn publish_alone(&mut self, slot: TopicSlot, event: &NewEvent, lone: &mut Encoder) -> Result<(), Error> {
        let admitted = self.core.admit(slot, event, self.maker.as_ref(), lone, Judgement::Due)?;
        self.add_with_copy(admitted, event, PublishedBy::Caller)
    }

    /// Adds an event that the hub itself writes.
    pub(crate) fn publish_own(&mut self, topic: TopicName, event: &NewEvent) -> Result<(), Error> {
        let admitted = self.core.admit_own(topic, event, &mut self.encoder)?;
        self.add(admitted, event, PublishedBy::Hub);
        Ok(())
    }

    #[inline]
    fn add_with_copy(&mut self, mut admitted: Admitted, event: &NewEvent, by: PublishedBy) -> Result<(), Error> {
        match admitted.copy.take() {
            Some(copy) => self.add_both(admitted, *copy, event, by),
            None => {
                self.add(admitted, event, by);
                Ok(())
            }
        }
    }

    /// A copy that is refused takes the event with it: both or neither.
    #[cold]
    fn add_both(
        &mut self,
        admitted: Admitted,
        copy: DualWriteCopy,
        event: &NewEvent,
        by: PublishedBy,
    ) -> Result<(), Error> {
        let copied = self.core.admit_copy(&copy, self.maker.as_ref(), &mut self.encoder)?;
        // Should the topic turn out to be another, the event keeps the id and the time that its copy has.
        let event = NewEvent { id: Some(admitted.id), ts: copy.event.ts, dual_write: false, ..event.clone() };
        self.add(admitted, &event, by);
        self.add(copied, &copy.event, PublishedBy::Judged);
        self.appended.last_is_copy();
        Ok(())
    }

    /// Adds again what was added before. What goes to two topics was added twice, so this makes no copy.
    fn publish_again(&mut self, event: &NewEvent, by: PublishedBy) -> Result<(), Error> {
        if by == PublishedBy::Hub {
            return self.publish_own(event.topic.clone(), event);
        }
        let slot = self.core.slot_for_publish(&event.topic)?;
        self.core.check(&slot, event, self.maker.as_ref())?;
        let judgement = if by == PublishedBy::Judged { Judgement::Done } else { Judgement::Due };
        let admitted = self.core.admit(slot, event, self.maker.as_ref(), &mut self.encoder, judgement)?;
        self.add(admitted, event, by);
        Ok(())
    }

    fn add(&mut self, admitted: Admitted, event: &NewEvent, publisher: PublishedBy) {
        if !admitted.topic.is_stored() {
            let draft = EventDraft { event: event.clone(), publisher };
            self.drafts.push((self.commit.appends.len(), draft));
        }
        self.add_admitted(admitted);
    }

    fn add_admitted(&mut self, admitted: Admitted) {
        self.appended.add(admitted.topic, admitted.id, admitted.append.log.partition);
        self.commit.appends.push(admitted.append);
    }

    fn send_as(mut self, atomicity: Atomicity) -> PendingUnit {
        if !self.unjudged.is_empty() {
            return self.judged_first(atomicity);
        }
        let again = self.again(atomicity);
        let (core, topics) = (&self.core, self.appended.topics());
        let commit = match atomicity {
            Atomicity::Whole => core.topics.commit(&*core.store, self.commit, topics),
            Atomicity::Each if self.commit.is_empty() => PendingCommit::known(Ok(Default::default())),
            Atomicity::Each => core.topics.commit_each(&*core.store, self.commit, topics),
        };
        PendingUnit::new(commit, self.appended, again, core.store.durability())
    }

    /// For the registry, which holds its lock and adds the documents of topics itself. A refusal for one of
    /// them is its own to handle.
    pub(crate) fn send_by(
        mut self,
        complete: impl FnOnce(&mut Commit, &[Arc<Topic>]) -> Result<(), CommitError>,
    ) -> PendingUnit {
        let commit = match complete(&mut self.commit, self.appended.topics()) {
            Ok(()) => self.core.store.commit(self.commit),
            Err(refusal) => PendingCommit::known(Err(refusal)),
        };
        PendingUnit::new(commit, self.appended, None, self.core.store.durability())
    }
}
