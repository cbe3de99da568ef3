//! An open store under check, and helpers for the checks.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use prom_types::{EpochMs, EventId, Expectation, GroupName, Invalid, Json, NewEvent, Offset, TopicName};

use super::{Harness, TestClock};
use crate::{
    Append, AppendTerms, Commit, CommitError, Committed, CursorName, Dedupe, EncodedEvent, HeadWatch, LogName,
    LogOptions, ReadLimit, Record, Store, Stored,
};

/// A check fails by an assertion or by an unexpected error.
pub type CheckResult = Result<(), Unexpected>;
pub type Unexpected = Box<dyn Error + Send + Sync>;

/// Longer than any store takes to wake a reader on a busy machine.
pub(super) const WAKE_DEADLINE: Duration = Duration::from_secs(20);

pub(super) const MINUTE: Duration = Duration::from_secs(60);

pub(super) struct StoreScene<'a> {
    harness: &'a dyn Harness,
    pub store: Arc<dyn Store>,
}

/// An event before it is appended.
#[derive(Clone)]
pub(super) struct EventDraft {
    name: String,
    key: Option<String>,
    payload: Option<Json>,
    dedupe: Dedupe,
    terms: AppendTerms,
}

impl<'a> StoreScene<'a> {
    pub async fn open(harness: &'a dyn Harness) -> Result<Self, Unexpected> {
        let store = harness.open().await?;
        Ok(Self { harness, store })
    }

    pub async fn open_usual(harness: &'a dyn Harness) -> Result<Self, Unexpected> {
        let store = harness.open_usual().await?;
        Ok(Self { harness, store })
    }

    pub async fn reopen(self) -> Result<Self, Unexpected> {
        let store = self.harness.reopen(self.store).await?;
        Ok(Self { store, ..self })
    }

    pub fn clock(&self) -> &TestClock {
        self.harness.clock()
    }

    pub async fn append(&self, log: &LogName, draft: EventDraft) -> Result<Stored, Unexpected> {
        let stored = self.append_all(log, [draft]).await?;
        stored.first().copied().ok_or_else(|| "an append without an answer".into())
    }

    pub async fn append_all(
        &self,
        log: &LogName,
        drafts: impl IntoIterator<Item = EventDraft>,
    ) -> Result<Vec<Stored>, Unexpected> {
        let mut commit = Commit::default();
        for draft in drafts {
            commit.appends.push(draft.for_log(log)?);
        }
        Ok(self.commit(commit).await?.stored.into_vec())
    }

    pub async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.store.commit(commit).await
    }

    pub async fn turn_compaction_on(&self, log: &LogName) -> CheckResult {
        self.set(log, LogOptions { compacted: true, versions: false }).await
    }

    pub async fn set(&self, log: &LogName, options: LogOptions) -> CheckResult {
        let logs = vec![(log.clone(), options)];
        self.commit(Commit { logs, ..Commit::default() }).await?;
        Ok(())
    }

    /// Appends until compaction may touch everything that is in the log now.
    pub async fn seal(&self, log: &LogName) -> CheckResult {
        let padding = Json::from_value(&"·".repeat(120))?;
        for n in 0..self.harness.events_until_sealed() {
            let filler = EventDraft::unnamed().key(&format!("filler-{n}")).payload(padding.clone());
            self.append(log, filler).await?;
        }
        Ok(())
    }

    pub async fn read_all(&self, log: &LogName) -> Result<Vec<Record>, Unexpected> {
        let mut records = Vec::new();
        let mut from = 0;
        loop {
            let batch = self.store.read(log, from, ReadLimit::default()).await?;
            assert!(batch.damage.is_none(), "damage in a healthy store: {:?}", batch.damage);
            records.extend(batch.records);
            if batch.next >= batch.bounds.next {
                return Ok(records);
            }
            assert!(batch.next > from, "a read that makes no progress");
            from = batch.next;
        }
    }

    pub async fn offsets(&self, log: &LogName) -> Result<Vec<Offset>, Unexpected> {
        Ok(self.read_all(log).await?.iter().map(Record::offset).collect())
    }

    /// The offsets of a key's events.
    pub async fn offsets_of(&self, log: &LogName, key: &str) -> Result<Vec<Offset>, Unexpected> {
        let records = self.read_all(log).await?;
        let of_key = records.iter().filter(|record| record.key() == Some(key));
        Ok(of_key.map(Record::offset).collect())
    }
}

impl EventDraft {
    /// The name determines the id.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), key: None, payload: None, dedupe: Dedupe::Window, terms: AppendTerms::default() }
    }

    /// An event that is a duplicate of no other.
    pub fn unnamed() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self::named(&format!("unnamed {}", MADE.fetch_add(1, Ordering::Relaxed)))
    }

    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub fn payload(mut self, payload: Json) -> Self {
        self.payload = Some(payload);
        self
    }

    pub fn tombstone(self) -> Self {
        self.payload(Json::NULL)
    }

    pub fn dedupe(mut self, dedupe: Dedupe) -> Self {
        self.dedupe = dedupe;
        self
    }

    pub fn expect(mut self, expected: Expectation) -> Self {
        self.terms.expect = Some(expected);
        self
    }

    pub fn stored_ts(mut self, stored_ts: EpochMs) -> Self {
        self.terms.stored_ts = Some(stored_ts);
        self
    }

    pub fn id(&self) -> EventId {
        EventId::derived(&self.name)
    }

    pub fn for_log(self, log: &LogName) -> Result<Append, Invalid> {
        let id = self.id();
        let payload = match self.payload {
            Some(payload) => payload,
            None => Json::from_value(&self.name)?,
        };
        let mut event = NewEvent::new(log.topic.clone(), payload);
        event.key = self.key;
        event.exact = self.dedupe == Dedupe::Exact;
        let terms = (self.terms != AppendTerms::default()).then(|| Box::new(self.terms));
        Ok(Append { log: log.clone(), event: EncodedEvent::encode(&event, id, 0)?, dedupe: self.dedupe, terms })
    }
}

pub(super) fn unnamed(count: usize) -> impl Iterator<Item = EventDraft> {
    std::iter::repeat_with(EventDraft::unnamed).take(count)
}

pub(super) fn log(topic: &str) -> Result<LogName, Invalid> {
    partition(topic, 0)
}

pub(super) fn partition(topic: &str, partition: u32) -> Result<LogName, Invalid> {
    Ok(LogName::new(TopicName::parse(topic)?, partition))
}

pub(super) fn cursor(log: &LogName, group: &str) -> Result<CursorName, Invalid> {
    Ok(CursorName::new(log.clone(), GroupName::parse(group)?))
}

/// Waits until the bounds have moved.
pub(super) async fn woken(watch: &mut HeadWatch) -> CheckResult {
    match tokio::time::timeout(WAKE_DEADLINE, watch.changed()).await {
        Ok(changed) => Ok(changed?),
        Err(_) => Err("the watch was not woken".into()),
    }
}
