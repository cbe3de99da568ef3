//! A fold: documents that are filled from the events of a topic, in order, each event once.
//!
//! ```text
//!   topic  0 … next │ new events ─▶ FoldInto::take ─▶ documents ─┐
//!                   └─────────────▶ marks ───────────────────────┴─▶ one commit
//! ```
//!
//! The marks say how far each partition is folded. They are committed with the documents that came out of it, so a crash leaves
//! neither a hole nor a double. Of two processes that fold the same at once, one commit is refused; that one forgets what it
//! remembered, reads the marks again and goes on.
//!
//! Promises: when [`Fold::catch_up`] returns, every event that was stored when it was called is in the documents, and what
//! retention removed until then is out of them. A reader that calls it first therefore reads exact answers, without a scan.

use std::ops::Range;

use prom_engine::{Bus, Error, StoredEvent, TopicOffsets, TopicPage, UnitOfWork};
use prom_store::{Bounds, DocumentWrite, Expect, ReadLimit};
use prom_types::{Offset, TopicName};
use serde::{Deserialize, Serialize};

use crate::JobError;
use crate::limits::{FOLD_STEP_EVENTS, FOLD_STEP_FORGETS, FOLD_TRIES, STEP_BYTES};
use crate::source::at;

const COLLECTION: &str = "folds";

/// What becomes of the events. Reads documents as it needs to, and adds writes to the step's work.
///
/// What it remembers between two calls was committed, or [`FoldInto::reset`] is called.
pub trait FoldInto: Send {
    /// Events of any partitions of the topic, in offset order within each.
    fn take(
        &mut self,
        bus: &Bus,
        events: &[StoredEvent],
        work: &mut UnitOfWork,
    ) -> impl Future<Output = Result<(), JobError>> + Send;

    /// Events that retention removed, and that were taken before.
    fn forget(
        &mut self,
        bus: &Bus,
        gone: &[GoneEvents],
        work: &mut UnitOfWork,
    ) -> impl Future<Output = Result<(), JobError>> + Send;

    /// Somebody else wrote the documents, or a commit failed: what was remembered of them no longer counts.
    fn reset(&mut self);
}

/// Offsets of one partition that are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneEvents {
    /// The partition.
    pub partition: u32,
    /// May contain offsets that never had an event.
    pub offsets: Range<Offset>,
}

/// The fold of one topic under one name.
pub struct Fold {
    bus: Bus,
    key: String,
    topic: TopicName,
    marks: FoldMarks,
    /// Of the document that holds the marks.
    revision: u64,
    /// A step began and did not end well, or its caller left in the middle: nothing that is remembered counts.
    is_torn: bool,
}

/// How far each partition is folded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FoldMarks {
    /// The first offset that was not taken.
    next: Vec<Offset>,
    /// The first offset that was not forgotten.
    start: Vec<Offset>,
}

impl Fold {
    /// Goes on where the fold of this name ended. The topic need not exist yet.
    pub async fn open(bus: &Bus, name: &str, topic: TopicName) -> Result<Self, JobError> {
        let key = format!("{name}/{topic}");
        let mut fold = Self { bus: bus.clone(), key, topic, marks: FoldMarks::default(), revision: 0, is_torn: false };
        fold.load().await?;
        Ok(fold)
    }

    /// The topic that is folded.
    pub fn topic(&self) -> &TopicName {
        &self.topic
    }

    /// Folds everything that is stored now. A caller that does not wait for the end loses nothing: the next call goes on.
    pub async fn catch_up(&mut self, into: &mut impl FoldInto) -> Result<(), JobError> {
        let bounds = self.bounds().await?;
        let mut refused = 0;
        loop {
            if self.is_torn {
                into.reset();
                self.load().await?;
                self.is_torn = false;
            }
            if !self.is_behind(&bounds) {
                return Ok(());
            }
            self.is_torn = true;
            match self.step(into).await {
                Ok(()) => (refused, self.is_torn) = (0, false),
                Err(JobError::Bus(Error::Conflict { .. })) if refused < FOLD_TRIES => refused += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// What is remembered of the documents does not count any more: somebody else wrote them.
    pub fn distrust(&mut self) {
        self.is_torn = true;
    }

    /// How many events are stored and not folded, as far as offsets tell.
    pub async fn behind(&self) -> Result<u64, JobError> {
        let bounds = self.bounds().await?;
        let left = |(partition, bounds): (usize, &Bounds)| {
            bounds.next.saturating_sub(at(&self.marks.next, partition).max(bounds.start))
        };
        Ok(bounds.iter().enumerate().map(left).sum())
    }

    /// Forgets how far the fold of this name is, in a unit that deletes what it made.
    pub fn removal(name: &str, topic: &TopicName) -> DocumentWrite {
        DocumentWrite::delete(COLLECTION, &format!("{name}/{topic}"))
    }

    /// Of a topic that was deleted, everything that was taken is gone.
    async fn bounds(&self) -> Result<Vec<Bounds>, JobError> {
        match self.bus.bounds(&self.topic).await {
            Ok(bounds) => Ok(bounds),
            Err(Error::UnknownTopic { .. }) => {
                Ok(self.marks.next.iter().map(|next| Bounds { start: *next, next: *next }).collect())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn is_behind(&self, bounds: &[Bounds]) -> bool {
        bounds.iter().enumerate().any(|(partition, bounds)| {
            at(&self.marks.next, partition) < bounds.next || at(&self.marks.start, partition) < bounds.start
        })
    }

    async fn step(&mut self, into: &mut impl FoldInto) -> Result<(), JobError> {
        let bounds = self.bounds().await?;
        let mut work = self.bus.unit_of_work();
        let gone = self.gone(&bounds);
        if !gone.is_empty() {
            into.forget(&self.bus, &gone, &mut work).await?;
        }
        let limit = ReadLimit { events: FOLD_STEP_EVENTS, bytes: STEP_BYTES };
        // A topic that was deleted and made again may have fewer partitions.
        let from = self.marks.next.iter().copied().take(bounds.len()).collect();
        let page = match self.bus.read_topic(&self.topic, TopicOffsets(from), limit).await {
            Err(Error::UnknownTopic { .. }) => {
                let next = TopicOffsets(self.marks.next.clone());
                TopicPage { events: Vec::new(), next, at_end: true, damage: Vec::new(), gaps: Vec::new() }
            }
            page => page?,
        };
        for damage in &page.damage {
            tracing::error!(topic = %self.topic, %damage, "an event cannot be read and is left out of {}", self.key);
        }
        if !page.events.is_empty() {
            into.take(&self.bus, &page.events, &mut work).await?;
        }
        let mut start: Vec<Offset> = bounds.iter().map(|bounds| bounds.start).collect();
        for gone in &gone {
            let taken = at(&self.marks.next, gone.partition as usize);
            if let Some(start) = start.get_mut(gone.partition as usize)
                && gone.offsets.end < taken.min(*start)
            {
                // The rest is left to the next step.
                *start = gone.offsets.end;
            }
        }
        let marks = FoldMarks { next: page.next.0, start };
        let text = serde_json::to_vec(&marks).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        work.write(DocumentWrite::put(COLLECTION, &self.key, text).expecting(Expect::Revision(self.revision)));
        work.commit().await?;
        (self.marks, self.revision) = (marks, self.revision + 1);
        Ok(())
    }

    /// What was taken and is gone, as much as fits into a step. An event that went before it was taken is no business of the fold.
    fn gone(&self, bounds: &[Bounds]) -> Vec<GoneEvents> {
        let gone = |partition: usize| {
            let taken = at(&self.marks.next, partition);
            let from = at(&self.marks.start, partition);
            let start = bounds.get(partition).map_or(taken, |bounds| bounds.start.min(taken));
            let offsets = from..start.min(from.saturating_add(FOLD_STEP_FORGETS));
            let partition = u32::try_from(partition).ok()?;
            (!offsets.is_empty()).then_some(GoneEvents { partition, offsets })
        };
        (0..self.marks.next.len()).filter_map(gone).collect()
    }

    async fn load(&mut self) -> Result<(), JobError> {
        let stored = self.bus.document(COLLECTION, &self.key).await?;
        self.revision = stored.as_ref().map_or(0, |stored| stored.revision);
        self.marks = match stored {
            Some(stored) => serde_json::from_slice(&stored.value)
                .map_err(|error| JobError::Progress { reason: error.to_string() })?,
            None => FoldMarks::default(),
        };
        Ok(())
    }
}
