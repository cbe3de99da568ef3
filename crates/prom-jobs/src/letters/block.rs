//! Blocks: what is known of the letters without reading them, 256 offsets in one document.
//!
//! ```text
//!   letters/<topic>/<partition>/<block>   ─▶   for each letter: offset, error, group, key, time, id, times dead, mark
//! ```
//!
//! A block is small enough to be written again for each mark, and large enough that a million letters are four thousand
//! documents. Errors, groups and jobs are named once. Keys and ids are hashes: they rule letters out, and the letter itself
//! decides.

use std::collections::BTreeMap;

use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

/// Offsets of one block.
pub(crate) const BLOCK_OFFSETS: u64 = 256;

/// Which block: partition and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockAt {
    pub partition: u32,
    pub number: u64,
}

/// What is known of the letters of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LetterBlock {
    /// Fingerprints.
    errors: Vec<String>,
    groups: Vec<String>,
    /// Jobs that marked letters, with the subjects that began them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    jobs: Vec<(String, Option<String>)>,
    letters: BTreeMap<Offset, LetterEntry>,
}

/// One letter. Written as a short list, as there are many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LetterEntry(u16, u16, EpochMs, u32, u32, u16, Option<LetterMark>);

/// What became of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LetterMark {
    /// Which of the block's jobs.
    #[serde(rename = "j")]
    job: u16,
    #[serde(rename = "o")]
    pub outcome: ReplayOutcome,
    #[serde(rename = "a")]
    pub at: EpochMs,
    /// Where the event is now, as soon as that is known.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(u32, Offset)>,
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// The job has counted the outcome.
    #[serde(rename = "c", default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
}

/// How it went on with an event that was handed out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReplayOutcome {
    /// The group has not settled it yet.
    #[serde(rename = "w")]
    Waiting,
    /// The group has settled it.
    #[serde(rename = "a")]
    Acked,
    /// It is among the dead letters once more.
    #[serde(rename = "d")]
    DeadAgain,
}

/// Who marks letters, and when.
#[derive(Clone, Copy)]
pub(crate) struct NewMark<'a> {
    pub job: &'a str,
    pub by: Option<&'a str>,
    pub at: EpochMs,
    /// The payload is not that of the original.
    pub edited: bool,
}

/// A letter as it comes into a block.
pub(crate) struct NewLetterEntry<'a> {
    pub offset: Offset,
    pub id: EventId,
    pub fingerprint: &'a str,
    pub group: &'a str,
    pub key: Option<&'a str>,
    pub stored_ts: EpochMs,
    /// How often the event died, this time included.
    pub deaths: u16,
}

impl BlockAt {
    pub fn of(partition: u32, offset: Offset) -> Self {
        Self { partition, number: offset / BLOCK_OFFSETS }
    }

    pub fn first_offset(self) -> Offset {
        self.number * BLOCK_OFFSETS
    }

    pub fn end(self) -> Offset {
        (self.number + 1) * BLOCK_OFFSETS
    }

    /// Within the documents of the topic, in order.
    pub fn key(self, topic: &str) -> String {
        format!("{topic}/{:04}/{:016}", self.partition, self.number)
    }
}

impl LetterBlock {
    pub fn add(&mut self, letter: &NewLetterEntry<'_>) {
        let error = index_of(&mut self.errors, letter.fingerprint);
        let group = index_of(&mut self.groups, letter.group);
        let (key, id) = (letter.key.map_or(0, hash_of_key), hash_of_id(letter.id));
        self.letters.insert(letter.offset, LetterEntry(error, group, letter.stored_ts, key, id, letter.deaths, None));
    }

    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub fn get(&self, offset: Offset) -> Option<&LetterEntry> {
        self.letters.get(&offset)
    }

    pub fn remove(&mut self, offset: Offset) -> Option<LetterEntry> {
        self.letters.remove(&offset)
    }

    pub fn letters(&self) -> impl DoubleEndedIterator<Item = (Offset, &LetterEntry)> {
        self.letters.iter().map(|(offset, letter)| (*offset, letter))
    }

    pub fn fingerprint(&self, letter: &LetterEntry) -> &str {
        self.errors.get(usize::from(letter.0)).map_or("", String::as_str)
    }

    pub fn group(&self, letter: &LetterEntry) -> &str {
        self.groups.get(usize::from(letter.1)).map_or("", String::as_str)
    }

    /// The job that marked the letter, and who began it.
    pub fn job(&self, mark: &LetterMark) -> Option<&(String, Option<String>)> {
        self.jobs.get(usize::from(mark.job))
    }

    /// Says what became of a letter. Nothing is said twice.
    pub fn mark(&mut self, offset: Offset, new: &NewMark<'_>) {
        let NewMark { job, by, at, edited } = *new;
        let known = self.jobs.iter().position(|(known, _)| known == job);
        let number = known.unwrap_or_else(|| {
            self.jobs.push((job.to_owned(), by.map(str::to_owned)));
            self.jobs.len() - 1
        });
        if let Some(letter) = self.letters.get_mut(&offset) {
            let job = u16::try_from(number).unwrap_or(u16::MAX);
            letter.6 =
                Some(LetterMark { job, outcome: ReplayOutcome::Waiting, at, place: None, edited, counted: false });
        }
    }

    /// The mark of a letter, to be changed.
    pub fn mark_of(&mut self, offset: Offset) -> Option<&mut LetterMark> {
        self.letters.get_mut(&offset)?.6.as_mut()
    }

    /// Letters that this job marked.
    pub fn marked_by<'b>(&'b self, job: &'b str) -> impl Iterator<Item = (Offset, &'b LetterEntry, LetterMark)> {
        self.letters().filter_map(move |(offset, letter)| {
            let mark = letter.6?;
            (self.job(&mark)?.0 == job).then_some((offset, letter, mark))
        })
    }
}

impl LetterEntry {
    pub fn stored_ts(&self) -> EpochMs {
        self.2
    }

    /// Whether its event may have this key.
    pub fn may_have_key(&self, hash: u32) -> bool {
        self.3 == hash
    }

    pub fn may_have_id(&self, id: EventId) -> bool {
        self.4 == hash_of_id(id)
    }

    pub fn deaths(&self) -> u16 {
        self.5
    }

    pub fn mark(&self) -> Option<LetterMark> {
        self.6
    }
}

/// Never that of a letter without a key.
pub(crate) fn hash_of_key(key: &str) -> u32 {
    let hash = EventId::derived(key);
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}

fn hash_of_id(id: EventId) -> u32 {
    // The beginning of an id is the time, its end is random.
    let [.., a, b, c, d] = *id.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn index_of(names: &mut Vec<String>, name: &str) -> u16 {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    // A block has fewer letters than that.
    u16::try_from(at).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_back_and_takes_few_bytes() {
        let mut block = LetterBlock::default();
        for offset in 0..BLOCK_OFFSETS {
            let id = EventId::derived(&offset.to_string());
            let letter = NewLetterEntry {
                offset,
                id,
                fingerprint: "0123456789abcdef",
                group: "billing",
                key: Some("k"),
                stored_ts: 1_700_000_000_000,
                deaths: 1,
            };
            block.add(&letter);
            block.mark(offset, &NewMark { job: "job", by: Some("operator"), at: 1_700_000_000_001, edited: false });
            assert!(block.get(offset).is_some_and(|letter| letter.may_have_id(id) && letter.mark().is_some()));
        }
        let text = serde_json::to_string(&block).unwrap();
        assert!(text.len() < 28_000, "{}", text.len());
        assert_eq!(serde_json::from_str::<LetterBlock>(&text).unwrap(), block);
    }
}
