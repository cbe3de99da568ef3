//! A topic as it was: the newest event of one key, or of every live key, at a time; and what became of keys between two times.
//!
//! ```text
//!   nearest snapshot before ──▶ the events since, up to the first that was stored later ──▶ the state at that time
//! ```
//!
//! Promises: an answer is what going through every event that was ever published would give. Where retention or compaction
//! removed what that takes, there is none, but the earliest time that has one ([`JobError::HistoryGone`]). What is removed
//! while an answer is made is noticed: the answer is made again. Memory is bounded however many keys there are.

mod known;

use prom_engine::Bus;
use prom_types::{EpochMs, Offset, TopicName};

use self::known::{KnownPast, PastView};
use crate::key_index::IndexedLog;
use crate::limits::{TRAVEL_ROOM_BYTES, TRAVEL_TRIES};
use crate::newest::{KeyState, NewestByKey, ScanRoom};
use crate::snapshot::{SnapshotReader, find};
use crate::{JobError, source};

/// Reads a topic as it was.
#[derive(Clone)]
pub struct TimeTravel {
    bus: Bus,
    topic: TopicName,
}

/// Live keys at a time, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// One for each key.
    pub items: Vec<KeyState>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<String>,
}

/// What became of a key between two times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: String,
    /// The newest event at the first time; `None`: there was none, or the key was deleted.
    pub before: Option<KeyState>,
    /// At the second time.
    pub after: Option<KeyState>,
}

/// Keys that changed, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangePage {
    /// One for each key.
    pub items: Vec<KeyChange>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<String>,
}

impl TimeTravel {
    /// In a topic that exists.
    pub fn new(bus: &Bus, topic: TopicName) -> Self {
        Self { bus: bus.clone(), topic }
    }

    /// The event that was the newest of a key at a time; `None` if there was none or it was deleted.
    pub async fn key_at(&self, ts: EpochMs, key: &str) -> Result<Option<KeyState>, JobError> {
        for _ in 0..TRAVEL_TRIES {
            let past = KnownPast::load(&self.bus, &self.topic).await?;
            let until = self.bus.offsets_at(&self.topic, ts).await?;
            let answer = match past.view(ts) {
                Ok(view) => self.key_in(&past, &view, &until, key).await,
                Err(gone) => self.key_in_rest(&past, &until, key, gone).await,
            };
            if let Some(answer) = self.unless_moved(&past, ts, answer).await? {
                return Ok(answer.filter(|state| state.event.is_some()));
            }
        }
        Err(JobError::HistoryMoves { topic: self.topic.clone() })
    }

    /// Live keys at a time, from this key on.
    pub async fn keys_at(&self, ts: EpochMs, from_key: &str, limit: usize) -> Result<KeyPage, JobError> {
        for _ in 0..TRAVEL_TRIES {
            let past = KnownPast::load(&self.bus, &self.topic).await?;
            let view = past.view(ts)?;
            let answer = self.page_of(&view, from_key, limit).await;
            if let Some(page) = self.unless_moved(&past, ts, answer).await? {
                return Ok(page);
            }
        }
        Err(JobError::HistoryMoves { topic: self.topic.clone() })
    }

    /// Keys that were made, changed or deleted after `from` and not after `to`, from this key on.
    pub async fn changes(
        &self,
        from: EpochMs,
        to: EpochMs,
        from_key: &str,
        limit: usize,
    ) -> Result<ChangePage, JobError> {
        for _ in 0..TRAVEL_TRIES {
            let past = KnownPast::load(&self.bus, &self.topic).await?;
            let (before, after) = (past.view(from)?, past.view(to)?);
            let answer = self.changes_between(&past, &before, &after, from_key, limit).await;
            if let Some(page) = self.unless_moved(&past, from, answer).await? {
                return Ok(page);
            }
        }
        Err(JobError::HistoryMoves { topic: self.topic.clone() })
    }

    /// The answer, if nothing was removed that went into it. `None`: once more.
    async fn unless_moved<T>(
        &self,
        past: &KnownPast,
        ts: EpochMs,
        answer: Result<T, JobError>,
    ) -> Result<Option<T>, JobError> {
        match answer {
            Err(JobError::SnapshotGone { .. }) => Ok(None),
            Err(error) => Err(error),
            Ok(answer) => {
                let now = KnownPast::load(&self.bus, &self.topic).await?;
                Ok(now.still_allows(past, ts).then_some(answer))
            }
        }
    }

    /// Of a single partition that was not compacted since, what is left may be enough.
    async fn key_in_rest(
        &self,
        past: &KnownPast,
        until: &[Offset],
        key: &str,
        gone: JobError,
    ) -> Result<Option<KeyState>, JobError> {
        let JobError::HistoryGone { ts, .. } = gone else { return Err(gone) };
        let Some(rest) = past.view_of_rest(ts) else { return Err(gone) };
        match self.key_in(past, &rest, until, key).await? {
            Some(found) => Ok(Some(found)),
            None => Err(gone),
        }
    }

    async fn key_in(
        &self,
        past: &KnownPast,
        view: &PastView<'_>,
        until: &[Offset],
        key: &str,
    ) -> Result<Option<KeyState>, JobError> {
        let mut newest: Option<KeyState> = None;
        for (partition, until) in (0..).zip(until.iter().copied()) {
            let log = IndexedLog { bus: &self.bus, topic: &self.topic, life: past.life(), partition };
            let low = source::at(&view.from, partition as usize);
            if let Some(found) = log.newest_before(key, low, until).await?
                && newest.as_ref().is_none_or(|newest| found.is_newer(newest))
            {
                newest = Some(found);
            }
        }
        let is_settled = newest.is_some() && view.from.len() == 1;
        if let Some(base) = view.base.filter(|_| !is_settled)
            && let Some(found) = find(&self.bus, &self.topic, base, key).await?
            && newest.as_ref().is_none_or(|newest| found.is_newer(newest))
        {
            newest = Some(found);
        }
        Ok(newest)
    }

    async fn page_of(&self, view: &PastView<'_>, from_key: &str, limit: usize) -> Result<KeyPage, JobError> {
        let until = self.bus.offsets_at(&self.topic, view.ts).await?;
        let room = ScanRoom { keys: limit + 1, bytes: TRAVEL_ROOM_BYTES };
        let scan = NewestByKey::new(from_key.to_owned(), room);
        let scan = scan.scan(&self.bus, &self.topic, &view.from, &until).await?;
        let mut upto = scan.upto.clone();
        let mut since = scan.into_found();
        let mut page = KeyPage::default();
        let mut bytes = 0;
        let mut base = match view.base {
            Some(base) => Some(SnapshotReader::open(&self.bus, &self.topic, base, from_key).await?),
            None => None,
        };
        loop {
            let of_base = match &mut base {
                Some(base) => base.peek().await?.map(str::to_owned),
                None => None,
            };
            let of_scan = since.keys().next().cloned();
            let Some(key) = of_base.iter().chain(&of_scan).min().cloned() else { break };
            if upto.as_deref().is_some_and(|upto| *key >= *upto) {
                break;
            }
            if page.items.len() >= limit || bytes >= TRAVEL_ROOM_BYTES {
                upto = Some(key);
                break;
            }
            let mut state = since.remove(&key);
            if let Some(base) = base.as_mut().filter(|_| of_base.as_ref() == Some(&key)) {
                // A key may be live in several partitions of a snapshot only if it is in one of them.
                let older = base.next().await?;
                let is_newer = older.as_ref().zip(state.as_ref()).is_none_or(|(older, state)| older.is_newer(state));
                state = if is_newer { older } else { state };
            }
            if let Some(state) = state.filter(|state| state.event.is_some()) {
                bytes += state.event.as_ref().map_or(0, Vec::len);
                page.items.push(state);
            }
        }
        page.next = upto;
        Ok(page)
    }

    async fn changes_between(
        &self,
        past: &KnownPast,
        before: &PastView<'_>,
        after: &PastView<'_>,
        from_key: &str,
        limit: usize,
    ) -> Result<ChangePage, JobError> {
        let from: Vec<Offset> = self.bus.offsets_at(&self.topic, before.ts).await?;
        let until = self.bus.offsets_at(&self.topic, after.ts).await?;
        let room = ScanRoom { keys: limit, bytes: TRAVEL_ROOM_BYTES };
        let scan = NewestByKey::new(from_key.to_owned(), room);
        let scan = scan.scan(&self.bus, &self.topic, &from, &until).await?;
        let mut page = ChangePage { items: Vec::new(), next: scan.upto.clone() };
        let mut bytes = 0;
        for (key, newest) in scan.into_found() {
            if bytes >= 2 * TRAVEL_ROOM_BYTES {
                page.next = Some(key);
                break;
            }
            let was = self.key_in(past, before, &from, &key).await?.filter(|state| state.event.is_some());
            let is = was.as_ref().filter(|was| was.is_newer(&newest)).cloned();
            let is = is.unwrap_or(newest);
            let is = Some(is).filter(|state| state.event.is_some());
            let size =
                |state: &Option<KeyState>| state.as_ref().and_then(|state| state.event.as_ref()).map_or(0, Vec::len);
            bytes += size(&was) + size(&is);
            if was != is {
                page.items.push(KeyChange { key, before: was, after: is });
            }
        }
        Ok(page)
    }
}
