//! What is still known of a topic's past: where its events begin, and what compaction removed. And what of it must stay.
//!
//! ```text
//!   offsets   born ······ start ────────── compacted.to ──────────── next
//!                 trimmed        the newest of     every event
//!                                each key, and
//!                                more
//! ```
//!
//! One document for each topic. Promises: a compaction is noted durably before it removes the first event, so a reader of
//! events and then this document knows whether what was read is whole. A hold that was stored before the bounds of a log were
//! read covers every compaction that may reach beyond those bounds.

use std::ops::ControlFlow;

use prom_store::{Bounds, DocumentWrite, Expect, Find, LogName, ReadLimit, Store};
use prom_types::{EpochMs, Offset, SnapshotSettings, TopicName};
use serde::{Deserialize, Serialize};

use crate::bus::Core;
use crate::limits::CONTENTION_TRIES;
use crate::{Bus, Error, UnitOfWork};

const COLLECTION: &str = "history";

/// What is noted of a topic's past.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopicHistory {
    /// How many topics of this name there were before.
    pub life: u64,
    /// Where each partition began; 0 where it is not mentioned. `None`: it is not known.
    pub born: Option<Vec<Offset>>,
    /// How far each partition was compacted.
    pub compacted: Vec<CompactedTo>,
    /// Before this in each partition events may be compacted; everywhere if `None`.
    pub compact_before: Option<Vec<Offset>>,
    /// From here on in each partition retention leaves everything.
    pub keep_from: Option<Vec<Offset>>,
}

/// How far a partition was compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedTo {
    /// The state at any offset from here on is whole.
    pub to: Offset,
    /// So is the state at any time from here on.
    pub ts: EpochMs,
}

/// A topic's past, and the document that says so.
#[derive(Debug, Clone, Default)]
pub struct KnownHistory {
    /// What it says.
    pub history: TopicHistory,
    /// Of the document.
    pub revision: u64,
}

impl TopicHistory {
    fn first() -> Self {
        Self { born: Some(Vec::new()), ..Self::default() }
    }

    /// Whether retention has removed nothing of a partition that begins there now.
    pub fn is_whole(&self, partition: u32, start: Offset) -> bool {
        let born = self.born.as_ref().map(|born| born.get(partition as usize).copied().unwrap_or(0));
        born.is_some_and(|born| start <= born)
    }

    /// How far a partition was compacted; `None`: it never was.
    pub fn compacted_to(&self, partition: u32) -> Option<CompactedTo> {
        self.compacted.get(partition as usize).copied().filter(|mark| mark.to > 0)
    }
}

impl Bus {
    /// What is known of a topic's past.
    pub async fn history(&self, topic: &TopicName) -> Result<KnownHistory, Error> {
        self.core().history(topic).await
    }

    /// Where the events of a topic end that were stored at or before `ts`, in each partition, as far as events are left that say so.
    pub async fn offsets_at(&self, topic: &str, ts: EpochMs) -> Result<Vec<Offset>, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let mut offsets = Vec::with_capacity(topic.logs().len());
        for log in topic.logs() {
            // Before the look: what is appended meanwhile is not taken for older.
            let next = self.store().bounds(log).await?.next;
            let found = match ts.checked_add(1) {
                Some(after) => self.store().find(log, Find::StoredAt(after)).await?,
                None => None,
            };
            offsets.push(found.unwrap_or(next).min(next));
        }
        Ok(offsets)
    }
}

impl Bus {
    /// The topics whose state is written down now and then, as far as they are known here.
    pub fn snapshot_settings(&self) -> Vec<(TopicName, SnapshotSettings)> {
        let topics = self.core().topics.all();
        topics.iter().filter_map(|topic| Some((topic.name().clone(), topic.settings.snapshot?))).collect()
    }

    /// A time by which everything before an offset was stored, as early as can be told.
    pub async fn stored_before(&self, topic: &str, partition: u32, before: Offset) -> Result<EpochMs, Error> {
        let log = self.log(topic, partition).await?;
        time_of(&**self.store(), &log, before).await
    }
}

impl UnitOfWork {
    /// Changes what is noted, if nobody else did since it was read.
    pub fn note_history(
        &mut self,
        topic: &TopicName,
        known: &KnownHistory,
        history: &TopicHistory,
    ) -> Result<(), Error> {
        self.write(document(topic, history, known.revision)?);
        Ok(())
    }
}

impl Core {
    pub async fn history(&self, topic: &TopicName) -> Result<KnownHistory, Error> {
        let Some(stored) = self.store.document(COLLECTION, topic).await? else {
            return Ok(KnownHistory { history: TopicHistory::first(), revision: 0 });
        };
        let history = serde_json::from_slice(&stored.value).map_err(|error| Error::Document {
            collection: COLLECTION,
            key: topic.to_string(),
            reason: error.to_string(),
        })?;
        Ok(KnownHistory { history, revision: stored.revision })
    }

    /// Notes something, again while others note something else.
    pub async fn change_history(
        self: &std::sync::Arc<Self>,
        topic: &TopicName,
        change: impl Fn(&mut TopicHistory) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        for _ in 0..CONTENTION_TRIES {
            let known = self.history(topic).await?;
            let mut history = known.history.clone();
            if change(&mut history).is_break() {
                return Ok(());
            }
            match self.write(document(topic, &history, known.revision)?).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("history of {topic}") })
    }

    /// A log is about to be compacted up to an offset.
    pub async fn note_compaction(self: &std::sync::Arc<Self>, log: &LogName, mark: CompactedTo) -> Result<(), Error> {
        let at = log.partition as usize;
        let note = |history: &mut TopicHistory| {
            if history.compacted.len() <= at {
                history.compacted.resize(at + 1, CompactedTo { to: 0, ts: 0 });
            }
            let before = history.compacted[at];
            history.compacted[at] = CompactedTo { to: before.to.max(mark.to), ts: before.ts.max(mark.ts) };
            ControlFlow::Continue(())
        };
        self.change_history(&log.topic, note).await
    }

    /// A topic was deleted with its events. One of its name begins where the logs ended.
    pub async fn begin_history_anew(
        self: &std::sync::Arc<Self>,
        topic: &TopicName,
        logs: &[LogName],
    ) -> Result<(), Error> {
        let mut born = Vec::with_capacity(logs.len());
        for log in logs {
            let Bounds { start, next } = self.store.bounds(log).await?;
            // Somebody publishes to it already: where it began is not known for certain.
            if start < next {
                return Ok(());
            }
            born.push(next);
        }
        let note = |history: &mut TopicHistory| {
            history.born = Some(born.clone());
            ControlFlow::Continue(())
        };
        self.change_history(topic, note).await
    }

    /// What a deletion writes of the past of the topic: that there is none.
    pub async fn forgotten_history(&self, topic: &TopicName) -> Result<DocumentWrite, Error> {
        let known = self.history(topic).await?;
        let next = TopicHistory { life: known.history.life + 1, ..TopicHistory::default() };
        Ok(document(topic, &next, known.revision)?.expecting(Expect::Anything))
    }
}

/// The time from which on every event before an offset was stored: at it, or later.
pub(crate) async fn time_of(store: &dyn Store, log: &LogName, before: Offset) -> Result<EpochMs, Error> {
    let one = ReadLimit { events: 1, bytes: 1 };
    let read = store.read(log, before, one).await?;
    if let Some(first) = read.records.first() {
        return Ok(first.stored_ts());
    }
    let last = store.logs().await?.into_iter().find(|info| info.log == *log);
    Ok(last.map_or(0, |info| info.last_stored_ts))
}

fn document(topic: &TopicName, history: &TopicHistory, revision: u64) -> Result<DocumentWrite, Error> {
    let text = serde_json::to_vec(history).map_err(|error| Error::Document {
        collection: COLLECTION,
        key: topic.to_string(),
        reason: error.to_string(),
    })?;
    Ok(DocumentWrite::put(COLLECTION, topic, text).expecting(Expect::Revision(revision)))
}
