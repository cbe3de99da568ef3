//! The state of a topic as its latest version has it, one event for each live key, in `<topic>.snapshot.v<N>`.
//!
//! ```text
//!   topic ─▶ topic.snapshot ─▶ upcast, checked ─▶ topic.snapshot.v2   … first  a  b  …  z  marker │ the next one …
//! ```
//!
//! It is made of a snapshot of the topic, which is taken first unless nothing is new since the last one. It covers what that
//! one covers, is sorted like it, and ends with a marker in each partition. The newest complete one is exempt from retention.
//! Each run begins anew with the state of its time, unless the last one was cut off: then it goes on where that one ended.

use prom_engine::{Bus, Error, StoredEvent, UPCASTED_FROM, UnitOfWork};
use prom_types::{Headers, IdMaker, Json, NewEvent, TopicName};
use serde_json::json;

use super::book::CutoverBook;
use super::progress::{MadeSnapshot, SnapshotCopy};
use super::{CutoverPlan, CutoverProgress, NotTaken, UnfitEvent};
use crate::limits::{SNAPSHOT_ELSEWHERE_AFTER, START_TRIES, STEP_WRITTEN_BYTES, UPCAST_AT_ONCE};
use crate::newest::{KeyState, key_after};
use crate::snapshot::{SNAPSHOT_HEADER, SnapshotReader, make_place};
use crate::source::{JobSource, StepPace, at};
use crate::{JobError, Snapshot, SnapshotBuild, SnapshotPartition, SnapshotStep};

/// A cutover of the state under way.
pub(super) struct StateCutover {
    bus: Bus,
    plan: CutoverPlan,
    /// Where it goes.
    target: TopicName,
    unfit: UnfitEvent,
    progress: CutoverProgress,
    /// As it was at the beginning, or 0 where another snapshot was begun since.
    read_before: u64,
    book: CutoverBook,
    /// The snapshot of what is stored, as long as that is made.
    build: Option<SnapshotBuild>,
    pace: StepPace,
}

impl StateCutover {
    pub async fn begin(bus: &Bus, plan: CutoverPlan, target: TopicName, unfit: UnfitEvent) -> Result<Self, JobError> {
        // A topic that does not exist gets no target.
        let source = JobSource::open(bus, plan.topic.clone()).await?;
        let (book, mut progress) = CutoverBook::open(bus, &plan).await?;
        make_place(bus, &plan.topic, &target).await?;
        progress.left = source.left(&progress.next).await?;
        progress.done = false;
        let build = match progress.copy {
            Some(_) => None,
            None => Some(SnapshotBuild::start(bus, &plan.topic).await?),
        };
        let pace = StepPace::new(bus);
        let read_before = progress.read;
        let mut cutover = Self { bus: bus.clone(), plan, target, unfit, progress, read_before, book, build, pace };
        let mut work = bus.unit_of_work();
        cutover.plan.audit(&mut work, unfit, read_before)?;
        cutover.commit(work, cutover.progress.clone()).await?;
        Ok(cutover)
    }

    pub fn progress(&self) -> &CutoverProgress {
        &self.progress
    }

    pub fn read_before(&self) -> u64 {
        self.read_before
    }

    pub async fn step(&mut self) -> Result<&CutoverProgress, JobError> {
        match (&mut self.build, self.progress.copy.clone()) {
            (Some(build), _) => match build.step().await? {
                SnapshotStep::Written(keys) => self.progress.left = keys,
                SnapshotStep::Elsewhere(keys) => {
                    self.progress.left = keys;
                    tokio::time::sleep(SNAPSHOT_ELSEWHERE_AFTER).await;
                }
                SnapshotStep::Done(source) => {
                    build.give_back().await;
                    self.build = None;
                    self.take_source(source).await?;
                }
            },
            (None, Some(copy)) => match self.copy_some(copy).await {
                // Retention removed it, after a newer one was made.
                Err(JobError::SnapshotGone { .. }) => self.begin_anew().await?,
                copied => copied?,
            },
            (None, None) => self.build = Some(SnapshotBuild::start(&self.bus, &self.plan.topic).await?),
        }
        Ok(&self.progress)
    }

    /// Begins to bring a snapshot to the version. One that was brought there whole is not brought there again.
    async fn take_source(&mut self, source: Snapshot) -> Result<(), JobError> {
        let is_made = self.progress.made.as_ref().is_some_and(|made| made.source == source.id);
        let mut after = self.progress.clone();
        after.next = source.partitions.iter().map(|part| part.covered).collect();
        if is_made && after.skipped == 0 {
            after.left = self.come_since(&after).await?;
            after.done = true;
            return self.commit(self.bus.unit_of_work(), after).await;
        }
        let ends = match self.bus.bounds(&self.target).await {
            Ok(bounds) => bounds,
            Err(error) => return Err(self.unless_deleted(error)),
        };
        if ends.len() < source.partitions.len() {
            make_place(&self.bus, &self.plan.topic, &self.target).await?;
        }
        let now = self.bus.clock().now_ms();
        let mut begun = CutoverProgress { next: after.next, left: source.count, ..CutoverProgress::begun(&self.plan) };
        begun.copy = Some(SnapshotCopy {
            id: IdMaker::new().make(now),
            began_ts: now,
            first: (0..source.partitions.len()).map(|part| ends.get(part).map_or(0, |ends| ends.next)).collect(),
            counts: vec![0; source.partitions.len()],
            from_key: String::new(),
            source,
        });
        self.read_before = 0;
        self.commit(self.bus.unit_of_work(), begun).await
    }

    async fn begin_anew(&mut self) -> Result<(), JobError> {
        self.build = Some(SnapshotBuild::start(&self.bus, &self.plan.topic).await?);
        self.commit(self.bus.unit_of_work(), CutoverProgress::begun(&self.plan)).await
    }

    /// Some keys, and at the end the marker.
    async fn copy_some(&mut self, mut copy: SnapshotCopy) -> Result<(), JobError> {
        self.pace.begin(&self.bus);
        let mut reader = SnapshotReader::open(&self.bus, &self.plan.topic, &copy.source, &copy.from_key).await?;
        let mut after = self.progress.clone();
        let mut work = self.bus.unit_of_work();
        let (mut bytes, mut taken) = (0, 0);
        'step: while taken < self.pace.events() {
            let (states, events) = read_some(&mut reader, &self.plan).await?;
            if states.is_empty() {
                return self.finish(work, after, copy).await;
            }
            let normalized = self.bus.normalize_in_background(events.clone()).await;
            for ((state, stored), normalized) in states.iter().zip(&events).zip(normalized) {
                if bytes >= STEP_WRITTEN_BYTES {
                    break 'step;
                }
                match (self.plan.of_version(normalized), self.unfit) {
                    (Ok(event), _) => {
                        bytes += self.add(&mut work, &copy, &event)?;
                        after.written += 1;
                        if let Some(count) = copy.counts.get_mut(state.partition as usize) {
                            *count += 1;
                        }
                    }
                    (Err(NotTaken::Failed(error)), _) => return Err(error),
                    (Err(NotTaken::Unfit(reason)), UnfitEvent::Stop) => return Err(self.plan.unfit(stored, reason)),
                    (Err(NotTaken::Unfit(_) | NotTaken::WithoutKey), _) => after.skipped += 1,
                }
                after.read += 1;
                taken += 1;
                copy.from_key = key_after(&state.key);
            }
        }
        after.left = copy.source.count.saturating_sub(after.read);
        after.copy = Some(copy);
        self.commit(work, after).await?;
        self.pace.stepped(&self.bus);
        Ok(())
    }

    /// An event of the snapshot. Returns its bytes.
    fn add(&self, work: &mut UnitOfWork, copy: &SnapshotCopy, event: &StoredEvent) -> Result<usize, JobError> {
        let mut text = Vec::new();
        event.write_json(&mut text);
        let bytes = text.len();
        // The hub has written it just now.
        let mut whole = NewEvent::new(self.target.clone(), Json::trusted(text.into()));
        whole.key = event.key().map(str::to_owned);
        whole.partition = Some(event.partition());
        whole.headers = header(copy)?;
        // Masks name places in what was published. Those who see only what they leave see nothing of what was moved.
        if let Some(from) = event.headers().get(UPCASTED_FROM) {
            whole.headers.insert(UPCASTED_FROM, from)?;
        }
        work.publish_snapshot(&whole).map_err(|error| self.unless_deleted(error))?;
        Ok(bytes)
    }

    /// The markers, and what they free.
    async fn finish(&mut self, work: UnitOfWork, after: CutoverProgress, copy: SnapshotCopy) -> Result<(), JobError> {
        // What was read since the last step goes first: the markers may have to be tried again.
        let mut read = CutoverProgress { copy: Some(copy.clone()), ..after };
        read.left = 0;
        self.commit(work, read.clone()).await?;
        let snapshot = snapshot_of(&copy, read.written, self.bus.clock().now_ms());
        let mut done = CutoverProgress { copy: None, done: true, ..read };
        done.left = self.come_since(&done).await?;
        done.made = Some(MadeSnapshot { source: copy.source.id, keys: copy.source.count, snapshot: snapshot.clone() });
        for _ in 0..START_TRIES {
            let mut work = self.bus.unit_of_work();
            self.add_markers(&mut work, &copy, &snapshot, done.skipped)?;
            let place = self.bus.history(&self.target).await?;
            let mut kept = place.history.clone();
            kept.keep_from = Some(copy.first.clone());
            work.note_history(&self.target, &place, &kept)?;
            match self.commit(work, done.clone()).await {
                Err(JobError::Bus(Error::Conflict { .. })) => {}
                finished => return finished,
            }
        }
        Err(Error::Contended { what: format!("history of {}", self.target) }.into())
    }

    fn add_markers(
        &self,
        work: &mut UnitOfWork,
        copy: &SnapshotCopy,
        snapshot: &Snapshot,
        skipped: u64,
    ) -> Result<(), JobError> {
        for (partition, part) in (0..).zip(&snapshot.partitions) {
            let marker = json!({
                "snapshot": copy.id.to_string(), "topic": self.plan.topic.as_str(), "version": self.plan.version,
                "partition": partition, "count": at(&copy.counts, partition as usize), "skipped": skipped,
                "covered_offset": part.covered, "covered_ts": part.covered_ts, "whole": snapshot.whole,
            });
            let mut event = NewEvent::new(self.target.clone(), marker);
            event.partition = Some(partition);
            event.headers = header(copy)?;
            work.publish_snapshot(&event).map_err(|error| self.unless_deleted(error))?;
        }
        Ok(())
    }

    /// Events that came since what is covered.
    async fn come_since(&self, progress: &CutoverProgress) -> Result<u64, JobError> {
        Ok(JobSource::open(&self.bus, self.plan.topic.clone()).await?.left(&progress.next).await?)
    }

    fn unless_deleted(&self, error: Error) -> JobError {
        match error {
            Error::UnknownTopic { .. } => {
                JobError::Deleted { topic: self.plan.topic.clone(), target: self.target.to_string() }
            }
            error => error.into(),
        }
    }

    async fn commit(&mut self, mut work: UnitOfWork, after: CutoverProgress) -> Result<(), JobError> {
        self.book.add_to(&mut work, &after)?;
        self.book.commit(&self.bus, &self.plan, work).await?;
        self.progress = after;
        Ok(())
    }
}

/// The next keys of a snapshot, with their events.
async fn read_some(
    reader: &mut SnapshotReader,
    plan: &CutoverPlan,
) -> Result<(Vec<KeyState>, Vec<StoredEvent>), JobError> {
    let (mut states, mut events) = (Vec::new(), Vec::new());
    while states.len() < UPCAST_AT_ONCE
        && let Some(state) = reader.next().await?
    {
        let text = state.event.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        let event = text.and_then(StoredEvent::from_text).ok_or_else(|| JobError::Unreadable {
            topic: plan.topic.clone(),
            reason: format!("what the snapshot has of key {:?} is no event", state.key),
        })?;
        states.push(state);
        events.push(event);
    }
    Ok((states, events))
}

fn snapshot_of(copy: &SnapshotCopy, count: u64, now: i64) -> Snapshot {
    let part = |(partition, source): (usize, &SnapshotPartition)| SnapshotPartition {
        first: at(&copy.first, partition),
        marker: at(&copy.first, partition) + at(&copy.counts, partition),
        ..*source
    };
    Snapshot {
        id: copy.id,
        began_ts: copy.began_ts,
        ended_ts: now,
        count,
        whole: copy.source.whole,
        partitions: copy.source.partitions.iter().enumerate().map(part).collect(),
    }
}

fn header(copy: &SnapshotCopy) -> Result<Headers, JobError> {
    let mut headers = Headers::default();
    headers.insert(SNAPSHOT_HEADER, copy.id.to_string())?;
    Ok(headers)
}
