//! The book of a topic's dead letters: what is counted and known of them, kept in step with `dlq.<topic>`.
//!
//! ```text
//!   dlq.orders ─▶ fold ─┬▶ letter_errors/orders/<fingerprint>   count, first and last seen, groups, a sample
//!   retention  ─▶       ├▶ letters/orders/<partition>/<block>   each letter in a few bytes, with its mark
//!   replay     ─▶       └▶ letter_books/orders                  totals; its revision is the lock of all of these
//! ```
//!
//! One who writes any of these documents writes the totals in the same commit, expecting them as they were read. So of two
//! writers, here or at two hubs, one is refused and reads everything again; what a book remembers is therefore right as long as
//! its commits succeed.
//!
//! Promises: a letter is counted once, and only as long as it is retained and not purged. A letter is marked in the commit that
//! hands its event out, and is not handed out again.

use std::collections::{BTreeMap, BTreeSet};

use prom_engine::{Bus, StoredEvent, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::{EpochMs, Offset, TopicName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::block::{BLOCK_OFFSETS, BlockAt, LetterBlock, LetterEntry, NewLetterEntry, NewMark, ReplayOutcome};
use super::fingerprint::ErrorPattern;
use super::letter::LetterText;
use crate::limits::{BLOCKS_KEPT, ERRORS_TOLD_APART, GROUPS_TOLD_APART};
use crate::{FoldInto, GoneEvents, JobError};

const BOOKS: &str = "letter_books";
const ERRORS: &str = "letter_errors";
const BLOCKS: &str = "letters";
/// The fingerprint of letters whose errors are too many to be told apart.
pub(crate) const OTHER_ERRORS: &str = "other";
/// The fingerprint of what lies among the letters and is none.
const NO_LETTER: &str = "not a letter";

/// Letters of one kind of error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterErrors {
    /// The hash of the pattern; `other` for the rest.
    pub fingerprint: String,
    /// The error without numbers, ids and quoted parts.
    pub pattern: String,
    /// Letters that are retained.
    pub count: u64,
    /// Those among them whose events were handed out again.
    pub replayed: u64,
    /// When the first of them was written, retained or not, since there are such letters.
    pub first_ts: EpochMs,
    /// When the last of them was written.
    pub last_ts: EpochMs,
    /// Retained letters by group.
    pub groups: BTreeMap<String, u64>,
    /// Those of groups that are too many to be counted apart.
    #[serde(default)]
    pub other_groups: u64,
    /// Partition and offset of the last letter.
    pub sample: (u32, Offset),
}

/// All letters of a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterTotals {
    /// Letters that are retained.
    pub count: u64,
    /// Those among them whose events were handed out again.
    pub replayed: u64,
    /// Letters that were purged, and are not counted otherwise.
    pub purged: u64,
}

/// What is known of a topic's letters, and what of it has changed since the last commit.
pub(crate) struct LetterBook {
    topic: TopicName,
    /// Nothing below counts before it was read.
    is_read: bool,
    totals: LetterTotals,
    /// Of the document of the totals.
    revision: u64,
    errors: BTreeMap<String, LetterErrors>,
    blocks: BTreeMap<BlockAt, LetterBlock>,
    changed_errors: BTreeSet<String>,
    changed_blocks: BTreeSet<BlockAt>,
}

impl LetterBook {
    pub fn new(topic: TopicName) -> Self {
        Self {
            topic,
            is_read: false,
            totals: LetterTotals::default(),
            revision: 0,
            errors: BTreeMap::new(),
            blocks: BTreeMap::new(),
            changed_errors: BTreeSet::new(),
            changed_blocks: BTreeSet::new(),
        }
    }

    pub fn totals(&self) -> &LetterTotals {
        &self.totals
    }

    pub fn errors(&self) -> impl Iterator<Item = &LetterErrors> {
        self.errors.values()
    }

    /// Reads what is stored, unless it is known.
    pub async fn read(&mut self, bus: &Bus) -> Result<(), JobError> {
        if self.is_read {
            return Ok(());
        }
        self.forget_all();
        let stored = bus.document(BOOKS, &self.topic).await?;
        self.revision = stored.as_ref().map_or(0, |stored| stored.revision);
        self.totals = stored.map(|stored| parse(&stored.value)).transpose()?.unwrap_or_default();
        let prefix = format!("{}/", self.topic);
        let found = bus.documents(ERRORS, Some(&prefix), ERRORS_TOLD_APART + 1).await?;
        for document in found.into_iter().take_while(|document| document.key.starts_with(&prefix)) {
            let errors: LetterErrors = parse(&document.value)?;
            self.errors.insert(errors.fingerprint.clone(), errors);
        }
        self.is_read = true;
        Ok(())
    }

    /// Whether nobody else has written since it was read.
    pub async fn is_current(&self, bus: &Bus) -> Result<bool, JobError> {
        let stored = bus.document(BOOKS, &self.topic).await?;
        Ok(self.is_read && stored.map_or(0, |stored| stored.revision) == self.revision)
    }

    /// Nothing that is remembered counts any more.
    pub fn forget_all(&mut self) {
        *self = Self::new(self.topic.clone());
    }

    /// A block as it is now; empty where there are no letters.
    pub async fn block(&mut self, bus: &Bus, at: BlockAt) -> Result<&mut LetterBlock, JobError> {
        if !self.blocks.contains_key(&at) {
            let room = |blocks: &BTreeMap<_, _>| blocks.len() >= BLOCKS_KEPT;
            while room(&self.blocks) {
                let unchanged = self.blocks.keys().find(|known| !self.changed_blocks.contains(known)).copied();
                let Some(unchanged) = unchanged else { break };
                self.blocks.remove(&unchanged);
            }
            self.blocks.insert(at, read_block(bus, &self.topic, at).await?);
        }
        Ok(self.blocks.entry(at).or_default())
    }

    /// As [`LetterBook::block`], to be changed.
    pub async fn block_to_change(&mut self, bus: &Bus, at: BlockAt) -> Result<&mut LetterBlock, JobError> {
        self.changed_blocks.insert(at);
        self.block(bus, at).await
    }

    /// Counts a letter and writes it into its block.
    async fn add(&mut self, bus: &Bus, letter: &StoredEvent) -> Result<(), JobError> {
        let payload = letter.json();
        let text = LetterText::read(&payload).ok();
        let head = text.as_ref().and_then(LetterText::head);
        let died_again = head.as_ref().and_then(|head| head.came_from());
        let (group, err) = text.as_ref().map_or(("", NO_LETTER), |text| (&*text.group, &*text.err));
        let deaths = head.map_or(0, |head| head.replays()).max(text.as_ref().map_or(0, |text| text.given_back));
        let pattern = ErrorPattern::of(err);
        let fingerprint = self.count(letter, group, pattern);
        let entry = NewLetterEntry {
            offset: letter.offset(),
            id: letter.id(),
            fingerprint: &fingerprint,
            group,
            key: letter.key(),
            stored_ts: letter.stored_ts(),
            deaths: deaths.saturating_add(1),
        };
        self.block_to_change(bus, BlockAt::of(letter.partition(), letter.offset())).await?.add(&entry);
        if let Some((id, partition, offset)) = died_again {
            self.note_died_again(bus, BlockAt::of(partition, offset), offset, (id, group)).await?;
        }
        Ok(())
    }

    /// The event of a letter that was handed out is a letter once more, of the same group.
    async fn note_died_again(
        &mut self,
        bus: &Bus,
        at: BlockAt,
        offset: Offset,
        (id, group): (prom_types::EventId, &str),
    ) -> Result<(), JobError> {
        let block = self.block(bus, at).await?;
        let is_it =
            |letter: &LetterEntry| letter.may_have_id(id) && block.group(letter) == group && letter.mark().is_some();
        if block.get(offset).is_some_and(is_it)
            && let Some(mark) = self.block_to_change(bus, at).await?.mark_of(offset)
        {
            mark.outcome = ReplayOutcome::DeadAgain;
        }
        Ok(())
    }

    /// Returns the fingerprint that it is counted under.
    fn count(&mut self, letter: &StoredEvent, group: &str, pattern: ErrorPattern) -> String {
        let is_known = self.errors.contains_key(&pattern.fingerprint) || self.errors.len() < ERRORS_TOLD_APART;
        let ErrorPattern { fingerprint, pattern } = if is_known {
            pattern
        } else {
            ErrorPattern { fingerprint: OTHER_ERRORS.to_owned(), pattern: "other errors".to_owned() }
        };
        let ts = letter.stored_ts();
        let place = (letter.partition(), letter.offset());
        let errors = self.errors.entry(fingerprint.clone()).or_insert_with(|| LetterErrors {
            fingerprint: fingerprint.clone(),
            pattern,
            count: 0,
            replayed: 0,
            first_ts: ts,
            last_ts: ts,
            groups: BTreeMap::new(),
            other_groups: 0,
            sample: place,
        });
        errors.count += 1;
        if ts >= errors.last_ts {
            (errors.last_ts, errors.sample) = (ts, place);
        }
        // A group's letters are all counted in one place, so that each can be taken out where it was counted.
        let is_apart =
            errors.groups.contains_key(group) || (errors.other_groups == 0 && errors.groups.len() < GROUPS_TOLD_APART);
        match is_apart {
            true => *errors.groups.entry(group.to_owned()).or_default() += 1,
            false => errors.other_groups += 1,
        }
        self.changed_errors.insert(fingerprint.clone());
        self.totals.count += 1;
        fingerprint
    }

    /// Takes a letter out of its block and out of the counts.
    pub async fn remove(&mut self, bus: &Bus, at: BlockAt, offset: Offset) -> Result<bool, JobError> {
        let block = self.block_to_change(bus, at).await?;
        let Some(letter) = block.remove(offset) else {
            return Ok(false);
        };
        let (fingerprint, group) = (block.fingerprint(&letter).to_owned(), block.group(&letter).to_owned());
        let replayed = u64::from(letter.mark().is_some());
        self.totals.count = self.totals.count.saturating_sub(1);
        self.totals.replayed = self.totals.replayed.saturating_sub(replayed);
        if let Some(errors) = self.errors.get_mut(&fingerprint) {
            errors.count = errors.count.saturating_sub(1);
            errors.replayed = errors.replayed.saturating_sub(replayed);
            match errors.groups.get_mut(&group) {
                Some(1) => drop(errors.groups.remove(&group)),
                Some(count) => *count -= 1,
                None => errors.other_groups = errors.other_groups.saturating_sub(1),
            }
            if errors.count == 0 {
                self.errors.remove(&fingerprint);
            }
        }
        self.changed_errors.insert(fingerprint);
        Ok(true)
    }

    /// A letter that people removed.
    pub async fn purge(&mut self, bus: &Bus, at: BlockAt, offset: Offset) -> Result<(), JobError> {
        if self.remove(bus, at, offset).await? {
            self.totals.purged += 1;
        }
        Ok(())
    }

    /// A letter's event is handed out again.
    pub async fn mark(&mut self, bus: &Bus, at: BlockAt, offset: Offset, mark: &NewMark<'_>) -> Result<(), JobError> {
        let block = self.block_to_change(bus, at).await?;
        let Some(letter) = block.get(offset) else {
            return Ok(());
        };
        let fingerprint = block.fingerprint(letter).to_owned();
        block.mark(offset, mark);
        self.totals.replayed += 1;
        if let Some(errors) = self.errors.get_mut(&fingerprint) {
            errors.replayed += 1;
        }
        self.changed_errors.insert(fingerprint);
        Ok(())
    }

    /// Adds what has changed to the work. It is stored if nobody else has written meanwhile.
    pub fn write_into(&mut self, work: &mut UnitOfWork) -> Result<(), JobError> {
        for fingerprint in std::mem::take(&mut self.changed_errors) {
            let key = format!("{}/{fingerprint}", self.topic);
            work.write(match self.errors.get(&fingerprint) {
                Some(errors) => DocumentWrite::put(ERRORS, &key, text(errors)?),
                None => DocumentWrite::delete(ERRORS, &key),
            });
        }
        for at in std::mem::take(&mut self.changed_blocks) {
            let key = at.key(&self.topic);
            work.write(match self.blocks.get(&at).filter(|block| !block.is_empty()) {
                Some(block) => DocumentWrite::put(BLOCKS, &key, text(block)?),
                None => DocumentWrite::delete(BLOCKS, &key),
            });
        }
        let totals = DocumentWrite::put(BOOKS, &self.topic, text(&self.totals)?);
        work.write(totals.expecting(Expect::Revision(self.revision)));
        self.revision += 1;
        Ok(())
    }
}

impl FoldInto for LetterBook {
    async fn take(&mut self, bus: &Bus, events: &[StoredEvent], work: &mut UnitOfWork) -> Result<(), JobError> {
        self.read(bus).await?;
        for letter in events {
            self.add(bus, letter).await?;
        }
        self.write_into(work)
    }

    async fn forget(&mut self, bus: &Bus, gone: &[GoneEvents], work: &mut UnitOfWork) -> Result<(), JobError> {
        self.read(bus).await?;
        for gone in gone {
            let mut offset = gone.offsets.start;
            while offset < gone.offsets.end {
                let at = BlockAt::of(gone.partition, offset);
                let left: Vec<Offset> = self.block(bus, at).await?.letters().map(|(offset, _)| offset).collect();
                for offset in left.into_iter().filter(|offset| gone.offsets.contains(offset)) {
                    self.remove(bus, at, offset).await?;
                }
                offset = at.first_offset() + BLOCK_OFFSETS;
            }
        }
        self.write_into(work)
    }

    fn reset(&mut self) {
        self.forget_all();
    }
}

/// A block as it is stored.
pub(super) async fn read_block(bus: &Bus, topic: &TopicName, at: BlockAt) -> Result<LetterBlock, JobError> {
    let stored = bus.document(BLOCKS, &at.key(topic)).await?;
    Ok(stored.map(|stored| parse(&stored.value)).transpose()?.unwrap_or_default())
}

pub(super) fn parse<T: DeserializeOwned>(value: &[u8]) -> Result<T, JobError> {
    serde_json::from_slice(value).map_err(|error| JobError::Progress { reason: error.to_string() })
}

pub(super) fn text(value: &impl Serialize) -> Result<Vec<u8>, JobError> {
    serde_json::to_vec(value).map_err(|error| JobError::Progress { reason: error.to_string() })
}
