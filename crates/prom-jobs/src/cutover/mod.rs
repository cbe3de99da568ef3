//! Cutover: a topic's history, every event as the latest version has it, in another topic or as one document for each key.
//!
//! ```text
//!   heartbeat.received 0 … n ─▶ upcast, checked ─┬▶ heartbeat.received.v2      the same id, key, headers and time
//!                                                ├▶ or documents               the latest event of each key
//!                                                └▶ how far it is              in one commit
//! ```
//!
//! Each step stores its events and the progress together, so a crash at any moment leaves neither a hole nor a double, and
//! the next run goes on where the last one ended. Events keep their order within a partition. A run ends where the topic
//! ended when it began; run it once more to take what came after. Of two at once the one that began last goes on.

mod plan;
mod progress;

use std::collections::BTreeMap;

use prom_engine::{Bus, Error, Normalized, NotNormalized, StoredEvent, UnitOfWork, VERSION_HEADER};
use prom_store::{DocumentWrite, Expect};
use prom_types::{Invalid, NewEvent, TopicName, limits};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::plan::TargetWas;
pub use self::plan::{CollectionName, CutoverPlace, CutoverPlan, CutoverTarget};
pub use self::progress::CutoverProgress;
use self::progress::Doubt;
use crate::JobError;
use crate::limits::{START_TRIES, STEP_WRITTEN_BYTES, UPCAST_AT_ONCE};
use crate::source::{JobSource, at, unreadable};

const COLLECTION: &str = "cutovers";

/// What becomes of events that cannot be brought to the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnfitEvent {
    /// The cutover stops there and says which one it is.
    Stop,
    /// They are counted and left out.
    Skip,
}

/// A cutover under way.
pub struct Cutover {
    source: JobSource,
    plan: CutoverPlan,
    unfit: UnfitEvent,
    progress: CutoverProgress,
    /// Of the document that holds the progress.
    revision: u64,
}

/// What one step stores.
struct StepWork {
    work: UnitOfWork,
    /// By key; `None` deletes.
    documents: BTreeMap<String, Option<Vec<u8>>>,
    bytes: usize,
}

/// Why an event was not taken over.
enum NotTaken {
    Unfit(String),
    WithoutKey,
    Failed(JobError),
}

impl Cutover {
    /// Begins a cutover, or goes on with one. The audit trail tells who did. One that is still under way, such as that of a
    /// client that has just left, may end a step meanwhile: then this one looks again.
    pub async fn start(bus: &Bus, plan: CutoverPlan, unfit: UnfitEvent) -> Result<Self, JobError> {
        for _ in 0..START_TRIES {
            match Self::begin(bus, plan.clone(), unfit).await {
                Err(JobError::Running { .. }) => {}
                begun => return begun,
            }
        }
        Self::begin(bus, plan, unfit).await
    }

    async fn begin(bus: &Bus, plan: CutoverPlan, unfit: UnfitEvent) -> Result<Self, JobError> {
        let source = JobSource::open(bus, plan.topic.clone()).await?;
        let stored = bus.document(COLLECTION, &plan.key()).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let mut progress = match stored {
            Some(stored) => serde_json::from_slice(&stored.value)
                .map_err(|error| JobError::Progress { reason: error.to_string() })?,
            None => begun(&plan),
        };
        check_same(&plan, &progress)?;
        if let CutoverPlace::Topic(target) = &plan.place {
            if plan.make_target(bus, target).await? == TargetWas::Missing {
                progress = begun(&plan);
            }
            progress.settle_by_looking(bus, &plan.topic, target).await?;
        }
        progress.left = source.left(&progress.next).await?;
        progress.done = false;
        let mut cutover = Self { source, plan, unfit, progress, revision };
        let mut work = bus.unit_of_work();
        let CutoverPlan { topic, version, place } = &cutover.plan;
        let details = json!({ "topic": topic.as_str(), "to": place.to_string(), "version": version,
            "unfit": unfit, "read_before": cutover.progress.read });
        work.audit("cutover", details)?;
        cutover.store_progress(&mut work, &cutover.progress)?;
        cutover.commit(work).await?;
        Ok(cutover)
    }

    /// What it does.
    pub fn plan(&self) -> &CutoverPlan {
        &self.plan
    }

    /// How far it is.
    pub fn progress(&self) -> &CutoverProgress {
        &self.progress
    }

    /// Takes some more events over, together with the progress.
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
        let mut step = StepWork { work: self.source.bus.unit_of_work(), documents: BTreeMap::new(), bytes: 0 };
        for piece in page.events.chunks(UPCAST_AT_ONCE) {
            let normalized = self.source.bus.normalize(piece.to_vec()).await;
            if let Some(left) = self.take_all(&mut step, piece, normalized, &mut after)? {
                cut(&mut after, &from, left);
                break;
            }
        }
        let work = self.work_of(step);
        after.left = self.source.left(&after.next).await?;
        after.done = self.source.is_done(&after.next);
        if let CutoverPlace::Topic(_) = self.plan.place {
            after.doubt = Some(Doubt { given: work.len() as u64, from, target_end });
        }
        self.finish_step(work, after).await?;
        self.source.stepped();
        Ok(&self.progress)
    }

    /// As many as fit into a step. Returns the first that does not.
    fn take_all<'e>(
        &self,
        step: &mut StepWork,
        stored: &'e [StoredEvent],
        normalized: Vec<Normalized>,
        after: &mut CutoverProgress,
    ) -> Result<Option<&'e StoredEvent>, JobError> {
        for (stored, normalized) in stored.iter().zip(normalized) {
            if step.bytes >= STEP_WRITTEN_BYTES {
                return Ok(Some(stored));
            }
            after.read += 1;
            match (self.take(step, normalized), self.unfit) {
                (Ok(()), _) => after.written += u64::from(matches!(self.plan.place, CutoverPlace::Collection(_))),
                (Err(NotTaken::WithoutKey), _) => {
                    after.skipped += 1;
                    after.without_key += 1;
                }
                (Err(NotTaken::Unfit(_)), UnfitEvent::Skip) => after.skipped += 1,
                (Err(NotTaken::Unfit(reason)), UnfitEvent::Stop) => return Err(self.unfit(stored, reason)),
                (Err(NotTaken::Failed(error)), _) => return Err(error),
            }
        }
        Ok(None)
    }

    fn work_of(&self, step: StepWork) -> UnitOfWork {
        let StepWork { mut work, documents, .. } = step;
        if let CutoverPlace::Collection(name) = &self.plan.place {
            let collection = name.in_store();
            for (key, value) in documents {
                work.write(match value {
                    Some(value) => DocumentWrite::put(&collection, &key, value),
                    None => DocumentWrite::delete(&collection, &key),
                });
            }
        }
        work
    }

    fn take(&self, step: &mut StepWork, normalized: Normalized) -> Result<(), NotTaken> {
        let event = normalized.map_err(|why| match why {
            NotNormalized::Stopped => NotTaken::Failed(JobError::Stopped { topic: self.plan.topic.clone() }),
            NotNormalized::Unfit(reason) => NotTaken::Unfit(reason),
        })?;
        self.check_version(&event).map_err(NotTaken::Failed)?;
        match &self.plan.place {
            CutoverPlace::Topic(target) => {
                let moved = moved(&event, target).map_err(|error| NotTaken::Unfit(error.to_string()))?;
                step.work.publish(&moved).map_err(not_taken)?;
            }
            CutoverPlace::Collection(_) => {
                let key = event.key().ok_or(NotTaken::WithoutKey)?.to_owned();
                let whole = (!event.is_tombstone()).then(|| {
                    let mut text = Vec::new();
                    event.write_json(&mut text);
                    text
                });
                step.documents.insert(key, whole);
            }
        }
        step.bytes += event.record().len();
        Ok(())
    }

    /// Another version may be registered at any moment; its events do not belong into this target.
    fn check_version(&self, event: &StoredEvent) -> Result<(), JobError> {
        if event.is_tombstone() {
            return Ok(());
        }
        let headers = event.headers();
        let stamped = headers.get(VERSION_HEADER);
        // An event with as many headers as there may be is not stamped.
        if stamped == Some(self.plan.version.to_string().as_str()) || headers.len() >= limits::HEADERS {
            return Ok(());
        }
        Err(self.other_version(stamped.unwrap_or("none")))
    }

    fn other_version(&self, latest: &str) -> JobError {
        other_version(&self.plan, self.plan.version, latest)
    }

    fn unfit(&self, stored: &StoredEvent, reason: String) -> JobError {
        JobError::Unfit {
            topic: self.plan.topic.clone(),
            id: stored.id().to_string(),
            partition: stored.partition(),
            offset: stored.offset(),
            version: self.plan.version,
            reason,
        }
    }

    async fn target_end(&self) -> Result<Vec<u64>, JobError> {
        match &self.plan.place {
            CutoverPlace::Topic(target) => {
                Ok(self.source.bus.bounds(target).await?.iter().map(|bounds| bounds.next).collect())
            }
            CutoverPlace::Collection(_) => Ok(Vec::new()),
        }
    }

    /// The last step also stores what its receipts said.
    async fn finish_step(&mut self, mut work: UnitOfWork, after: CutoverProgress) -> Result<(), JobError> {
        self.store_progress(&mut work, &after)?;
        let receipts = self.commit(work).await?;
        self.progress = after;
        if self.progress.doubt.is_some() {
            self.progress.settle(&receipts);
            if self.progress.done {
                let mut work = self.source.bus.unit_of_work();
                self.store_progress(&mut work, &self.progress)?;
                self.commit(work).await?;
            }
        }
        Ok(())
    }

    fn store_progress(&self, work: &mut UnitOfWork, progress: &CutoverProgress) -> Result<(), JobError> {
        let text = serde_json::to_vec(progress).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        let document = DocumentWrite::put(COLLECTION, &self.plan.key(), text);
        work.write(document.expecting(Expect::Revision(self.revision)));
        Ok(())
    }

    async fn commit(&mut self, work: UnitOfWork) -> Result<Vec<prom_types::Receipt>, JobError> {
        match work.commit().await {
            Ok(receipts) => {
                self.revision += 1;
                Ok(receipts)
            }
            Err(Error::Conflict { .. }) => {
                Err(JobError::Running { topic: self.plan.topic.clone(), target: self.plan.place.to_string() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn begun(plan: &CutoverPlan) -> CutoverProgress {
    CutoverProgress { topic: plan.topic.to_string(), version: plan.version, ..CutoverProgress::default() }
}

/// Two versions, or two topics, are not mixed in one target.
fn check_same(plan: &CutoverPlan, progress: &CutoverProgress) -> Result<(), JobError> {
    if progress.topic != plan.topic.as_str() {
        let reason = format!("it holds the events of {}", progress.topic);
        return Err(JobError::Target { topic: plan.topic.clone(), target: plan.place.to_string(), reason });
    }
    if progress.version != plan.version {
        return Err(other_version(plan, progress.version, &plan.version.to_string()));
    }
    Ok(())
}

fn other_version(plan: &CutoverPlan, running: u32, latest: &str) -> JobError {
    let (topic, target) = (plan.topic.clone(), plan.place.to_string());
    JobError::OtherVersion { topic, target, running, latest: latest.to_owned() }
}

/// The step ends before this event, and the next one begins with it.
fn cut(after: &mut CutoverProgress, from: &[u64], first_left: &StoredEvent) {
    let partition = first_left.partition() as usize;
    for (later, next) in after.next.iter_mut().enumerate().skip(partition) {
        *next = if later == partition { first_left.offset() } else { at(from, later) };
    }
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
