//! The whole history of a topic, event by event, into another topic or into documents.
//!
//! Events keep their order within a partition. A run ends where the topic ended when it began; run it once more to take what
//! came after.

use prom_engine::{Bus, Error, JudgedEvent, Normalized, StoredEvent, UnitOfWork};
use prom_types::{Invalid, NewEvent, TopicName};

use super::book::CutoverBook;
use super::plan::TargetWas;
use super::progress::Doubt;
use super::{CutoverPlace, CutoverPlan, CutoverProgress, NotTaken, UnfitEvent};
use crate::limits::{STEP_WRITTEN_BYTES, UPCAST_AT_ONCE};
use crate::source::{JobSource, at, unreadable};
use crate::{Collection, CollectionForm, CollectionStep, JobError};

/// A cutover of events under way.
pub(super) struct HistoryCutover {
    source: JobSource,
    plan: CutoverPlan,
    unfit: UnfitEvent,
    progress: CutoverProgress,
    read_before: u64,
    book: CutoverBook,
    /// Where it fills one.
    collection: Option<Collection>,
}

/// What one step stores.
struct StepWork {
    work: UnitOfWork,
    documents: CollectionStep,
    bytes: usize,
}

/// An event in the form that the target takes.
enum Brought {
    /// With the bytes that it takes.
    Event(JudgedEvent, usize),
    /// By key; `None` deletes.
    Document(String, Option<Vec<u8>>),
}

impl HistoryCutover {
    pub async fn begin(bus: &Bus, plan: CutoverPlan, unfit: UnfitEvent) -> Result<Self, JobError> {
        let source = JobSource::open(bus, plan.topic.clone()).await?;
        let (book, mut progress) = CutoverBook::open(bus, &plan).await?;
        if let CutoverPlace::Topic(target) = &plan.place {
            if plan.make_target(bus, target).await? == TargetWas::Missing {
                progress = CutoverProgress::begun(&plan);
            }
            progress.settle_by_looking(bus, &plan.topic, target).await?;
        }
        progress.left = source.left(&progress.next).await?;
        progress.done = false;
        let mut work = bus.unit_of_work();
        let collection = match &plan.place {
            CutoverPlace::Collection(name) => {
                let (topic, form) = (&plan.topic, CollectionForm::Event);
                Some(Collection::declare(bus, &mut work, name, topic, form, &plan.fields).await?)
            }
            CutoverPlace::Topic(_) | CutoverPlace::Snapshot(_) => None,
        };
        let read_before = progress.read;
        let mut cutover = Self { source, plan, unfit, progress, read_before, book, collection };
        cutover.plan.audit(&mut work, unfit, read_before)?;
        cutover.book.add_to(&mut work, &cutover.progress)?;
        cutover.commit(work).await?;
        Ok(cutover)
    }

    pub fn progress(&self) -> &CutoverProgress {
        &self.progress
    }

    pub fn read_before(&self) -> u64 {
        self.read_before
    }

    pub async fn step(&mut self) -> Result<&CutoverProgress, JobError> {
        let from = self.progress.next.clone();
        let page = self.source.read(&from).await?;
        if let (Some(damage), UnfitEvent::Stop) = (page.damage.first(), self.unfit) {
            let reason = damage.to_string();
            return Err(JobError::Unreadable { topic: self.plan.topic.clone(), reason });
        }
        let mut after = self.progress.clone();
        after.unreadable += unreadable(&page.damage);
        after.next = page.next.0;
        let target_end = self.target_end().await?;
        let mut step =
            StepWork { work: self.source.bus.unit_of_work(), documents: CollectionStep::default(), bytes: 0 };
        for piece in page.events.chunks(UPCAST_AT_ONCE) {
            let normalized = self.source.bus.normalize_in_background(piece.to_vec()).await;
            let brought = self.brought(normalized).await?;
            if let Some(left) = self.take_all(&mut step, piece, brought, &mut after)? {
                cut(&mut after, &from, left);
                break;
            }
        }
        let (work, collection) = self.work_of(step).await?;
        after.left = self.source.left(&after.next).await?;
        after.done = self.source.is_done(&after.next);
        if let CutoverPlace::Topic(_) = self.plan.place {
            after.doubt = Some(Doubt { given: work.len() as u64, from, target_end });
        }
        self.finish_step(work, after).await?;
        self.collection = collection;
        self.source.stepped();
        Ok(&self.progress)
    }

    /// As many as fit into a step. Returns the first that does not.
    fn take_all<'e>(
        &self,
        step: &mut StepWork,
        stored: &'e [StoredEvent],
        brought: Vec<Result<Brought, NotTaken>>,
        after: &mut CutoverProgress,
    ) -> Result<Option<&'e StoredEvent>, JobError> {
        for (stored, brought) in stored.iter().zip(brought) {
            if step.bytes >= STEP_WRITTEN_BYTES {
                return Ok(Some(stored));
            }
            after.read += 1;
            match (brought.and_then(|brought| self.take(step, brought)), self.unfit) {
                (Ok(()), _) => after.written += u64::from(matches!(self.plan.place, CutoverPlace::Collection(_))),
                (Err(NotTaken::WithoutKey), _) => {
                    after.skipped += 1;
                    after.without_key += 1;
                }
                (Err(NotTaken::Unfit(_)), UnfitEvent::Skip) => after.skipped += 1,
                (Err(NotTaken::Unfit(reason)), UnfitEvent::Stop) => return Err(self.plan.unfit(stored, reason)),
                (Err(NotTaken::Failed(error)), _) => return Err(error),
            }
        }
        Ok(None)
    }

    /// What is to be committed, and the collection as it is then.
    async fn work_of(&self, step: StepWork) -> Result<(UnitOfWork, Option<Collection>), JobError> {
        let StepWork { mut work, documents, .. } = step;
        let collection = match &self.collection {
            Some(collection) => Some(documents.add_to(&self.source.bus, &mut work, collection).await?),
            None => None,
        };
        Ok((work, collection))
    }

    /// Events in the form that the target takes. Where the target has schemas, they have judged them.
    async fn brought(&self, normalized: Vec<Normalized>) -> Result<Vec<Result<Brought, NotTaken>>, JobError> {
        let CutoverPlace::Topic(target) = &self.plan.place else {
            return Ok(normalized.into_iter().map(|event| self.plan.of_version(event).and_then(document)).collect());
        };
        let mut brought = Vec::with_capacity(normalized.len());
        let mut unjudged = Vec::with_capacity(normalized.len());
        for event in normalized {
            let moved = self.plan.of_version(event).and_then(|event| {
                unjudged.push(moved(&event, target).map_err(|error| NotTaken::Unfit(error.to_string()))?);
                Ok(event.record().len())
            });
            brought.push(moved);
        }
        let mut judged = self.source.bus.judge_in_background(target, unjudged).await?.into_iter();
        let mut next = || judged.next().unwrap_or(Err(Error::Closed)).map_err(not_taken);
        let brought = brought.into_iter().map(|bytes| bytes.and_then(|bytes| Ok(Brought::Event(next()?, bytes))));
        Ok(brought.collect())
    }

    fn take(&self, step: &mut StepWork, brought: Brought) -> Result<(), NotTaken> {
        match brought {
            Brought::Event(event, bytes) => {
                step.work.publish_checked(&event).map_err(not_taken)?;
                step.bytes += bytes;
            }
            Brought::Document(key, whole) => {
                step.bytes += key.len() + whole.as_ref().map_or(0, Vec::len);
                match whole {
                    Some(document) => step.documents.put(key, document),
                    None => step.documents.delete(key),
                }
            }
        }
        Ok(())
    }

    async fn target_end(&self) -> Result<Vec<u64>, JobError> {
        match &self.plan.place {
            CutoverPlace::Topic(target) => match self.source.bus.bounds(target).await {
                Ok(bounds) => Ok(bounds.iter().map(|bounds| bounds.next).collect()),
                Err(Error::UnknownTopic { .. }) => {
                    Err(JobError::Deleted { topic: self.plan.topic.clone(), target: target.to_string() })
                }
                Err(error) => Err(error.into()),
            },
            CutoverPlace::Collection(_) | CutoverPlace::Snapshot(_) => Ok(Vec::new()),
        }
    }

    /// The last step also stores what its receipts said.
    async fn finish_step(&mut self, mut work: UnitOfWork, after: CutoverProgress) -> Result<(), JobError> {
        self.book.add_to(&mut work, &after)?;
        let receipts = self.commit(work).await?;
        self.progress = after;
        if self.progress.doubt.is_some() {
            self.progress.settle(&receipts);
            if self.progress.done {
                let mut work = self.source.bus.unit_of_work();
                self.book.add_to(&mut work, &self.progress)?;
                self.commit(work).await?;
            }
        }
        Ok(())
    }

    async fn commit(&mut self, work: UnitOfWork) -> Result<Vec<prom_types::Receipt>, JobError> {
        self.book.commit(&self.source.bus, &self.plan, work).await
    }
}

/// The step ends before this event, and the next one begins with it.
fn cut(after: &mut CutoverProgress, from: &[u64], first_left: &StoredEvent) {
    let partition = first_left.partition() as usize;
    for (later, next) in after.next.iter_mut().enumerate().skip(partition) {
        *next = if later == partition { first_left.offset() } else { at(from, later) };
    }
}

/// The event as a document of its key.
fn document(event: StoredEvent) -> Result<Brought, NotTaken> {
    let key = event.key().ok_or(NotTaken::WithoutKey)?.to_owned();
    let whole = (!event.is_tombstone()).then(|| {
        let mut text = Vec::new();
        event.write_json(&mut text);
        text
    });
    Ok(Brought::Document(key, whole))
}

/// The event in the target: all it has, but for its place.
fn moved(event: &StoredEvent, target: &TopicName) -> Result<NewEvent, Error> {
    let whole = event.to_event()?;
    Ok(NewEvent {
        id: Some(whole.id),
        exact: true,
        ts: Some(whole.ts),
        key: whole.key,
        headers: whole.headers,
        tags: whole.tags,
        caused_by: whole.caused_by,
        sid: whole.sid,
        partition: Some(whole.partition),
        ..NewEvent::new(target.clone(), whole.payload)
    })
}

/// What the target refuses about the event itself, and what is wrong beyond it.
fn not_taken(error: Error) -> NotTaken {
    match error {
        Error::Invalid(Invalid::TooLarge { .. })
        | Error::SchemaInvalid { .. }
        | Error::KeyRequired { .. }
        | Error::TopicKey { .. } => NotTaken::Unfit(error.to_string()),
        other => NotTaken::Failed(other.into()),
    }
}
