//! Dead letters: what is counted and found of them, and what is done with them.
//!
//! ```text
//!   dlq.orders ─▶ book (counts, index, marks) ─▶ list, groups of errors
//!                   │
//!                   └─▶ jobs: replay, purge ─▶ step: events, marks and progress in one commit
//! ```
//!
//! Promises: answers count every letter that was stored when they were asked for, by an index and not a scan. What runs is
//! bounded by what a step holds, whatever the number of letters.

mod block;
mod book;
mod desk;
mod filter;
mod fingerprint;
mod job;
mod letter;
mod list;
mod parked;
mod read;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prom_engine::{Bus, TaskName, TopicOffsets};
use prom_types::{EventId, TopicName};

pub use self::block::ReplayOutcome;
pub use self::book::{LetterErrors, LetterTotals};
use self::desk::LetterDesk;
pub use self::filter::{LetterFilter, LetterStanding};
use self::job::JobRunner;
pub use self::job::{LetterJob, LetterJobState, LetterOrder, LetterTrial, LetterWork, TriedLetter};
pub use self::letter::{EDITED_HEADER, FoundLetter, LETTER_HEADER, LetterReplay, REPLAYS_HEADER};
pub(crate) use self::letter::{letters_of, read_letter};
pub use self::list::LetterPage;
use crate::limits::{BOOKS_KEPT, BOOKS_KEPT_EVERY};
use crate::{JobError, Keeper, KeptWork};

/// The dead letters of a bus. Cloning costs a reference count.
#[derive(Clone)]
pub struct LetterOffice {
    shared: Arc<LettersShared>,
}

struct LettersShared {
    bus: Bus,
    /// One for each topic whose letters were asked for. The lock of a desk makes others wait for the same work.
    desks: Mutex<HashMap<TopicName, Arc<tokio::sync::Mutex<Option<LetterDesk>>>>>,
    runner: JobRunner,
}

/// The kinds of errors of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterSummary {
    /// The topic.
    pub topic: TopicName,
    /// All letters.
    pub totals: LetterTotals,
    /// By kind of error, the most letters first.
    pub errors: Vec<LetterErrors>,
}

/// A desk whose turn it is ours.
pub(crate) type DeskTurn = tokio::sync::OwnedMappedMutexGuard<Option<LetterDesk>, LetterDesk>;

impl LetterOffice {
    /// The letters of this bus. Jobs that are under way go on, as long as it is open and somebody has this.
    pub fn start(bus: Bus) -> Self {
        let shared = Arc::new(LettersShared { bus, desks: Mutex::default(), runner: JobRunner::new() });
        job::look_for_jobs(&shared);
        Self { shared }
    }

    /// Keeps the books up to date in the background, so that nobody who asks has to wait for many letters to be counted.
    pub fn kept_by(&self, keeper: &Keeper) {
        let _woken_by_nobody =
            keeper.keep(TaskName::only("letters"), BOOKS_KEPT_EVERY, BookKeeping { office: self.clone() });
    }

    /// The counts of a topic's letters by kind of error, exact as of now.
    pub async fn summary(&self, topic: &TopicName) -> Result<LetterSummary, JobError> {
        let mut desk = self.desk(topic).await?;
        desk.catch_up().await?;
        let mut errors: Vec<LetterErrors> = desk.book.errors().cloned().collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then(b.last_ts.cmp(&a.last_ts)));
        Ok(LetterSummary { topic: topic.clone(), totals: desk.book.totals().clone(), errors })
    }

    /// Letters of a topic, newest first. A page has at most `limit`, and may have fewer although there are more.
    pub async fn page(
        &self,
        topic: &TopicName,
        filter: &LetterFilter,
        before: Option<TopicOffsets>,
        limit: usize,
    ) -> Result<LetterPage, JobError> {
        self.desk(topic).await?.catch_up().await?;
        list::page(&self.shared.bus, topic, filter, before, limit).await
    }

    /// The letters with these ids, as far as there are any.
    pub async fn places_of(&self, topic: &TopicName, ids: &[EventId]) -> Result<Vec<(u32, u64)>, JobError> {
        let letters = letter::letters_of(topic)?;
        let mut places = Vec::new();
        for id in ids {
            match self.shared.bus.find_event(&letters, *id).await {
                Err(prom_engine::Error::UnknownTopic { .. }) => break,
                found => places.extend(found?),
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// Topics that have letters, by name.
    pub async fn topics(&self) -> Result<Vec<TopicName>, JobError> {
        let topics = self.shared.bus.topics().await?;
        Ok(topics.iter().filter_map(|topic| topic.settings.name.letters_of()).collect())
    }

    /// The desk of a topic, as soon as it is free.
    pub(crate) async fn desk(&self, topic: &TopicName) -> Result<DeskTurn, JobError> {
        let desk = {
            let mut desks = self.shared.desks.lock();
            if desks.len() >= BOOKS_KEPT && !desks.contains_key(topic) {
                // Those in use stay: somebody else has them too.
                desks.retain(|_, desk| Arc::strong_count(desk) > 1);
            }
            desks.entry(topic.clone()).or_default().clone()
        };
        let mut turn = desk.lock_owned().await;
        if turn.is_none() {
            *turn = Some(LetterDesk::open(&self.shared.bus, topic.clone()).await?);
        }
        let opened = tokio::sync::OwnedMutexGuard::try_map(turn, Option::as_mut);
        opened.map_err(|_| JobError::Stopped { topic: topic.clone() })
    }
}

/// Brings the book of every topic up to date.
struct BookKeeping {
    office: LetterOffice,
}

impl KeptWork for BookKeeping {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        for topic in self.office.topics().await? {
            if !bus.is_open() {
                break;
            }
            self.office.desk(&topic).await?.catch_up().await?;
        }
        Ok(())
    }
}
