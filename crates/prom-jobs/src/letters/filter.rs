//! Which letters are meant: what the index can tell of a letter, and what only the letter itself tells.

use std::collections::BTreeMap;

use prom_engine::{Bus, Program, StoredEvent};
use prom_types::{EpochMs, GroupName, Offset};

use super::block::{LetterBlock, LetterEntry, hash_of_key};
use super::letter::{FoundLetter, read_letter};
use crate::JobError;

/// Which letters. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct LetterFilter {
    /// Of this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Of this kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Whose error has this text in it, in any case of its letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub err: Option<String>,
    /// Whose event has this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Written at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_ts: Option<EpochMs>,
    /// Written before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_ts: Option<EpochMs>,
    /// What became of them.
    pub standing: LetterStanding,
    /// Whose event a program takes: its first output is neither `false` nor `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jq: Option<String>,
    /// Those that lie here, by partition and offset, in order. Everything else is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<(u32, Offset)>>,
}

/// Whether a letter's event was handed out again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterStanding {
    /// Either.
    #[default]
    All,
    /// It was not.
    Open,
    /// It was.
    Replayed,
}

impl LetterFilter {
    /// What the index can tell: `false` is certain.
    pub(crate) fn may_match(&self, block: &LetterBlock, letter: &LetterEntry) -> bool {
        let is_standing = match self.standing {
            LetterStanding::All => true,
            LetterStanding::Open => letter.mark().is_none(),
            LetterStanding::Replayed => letter.mark().is_some(),
        };
        is_standing
            && self.from_ts.is_none_or(|from| letter.stored_ts() >= from)
            && self.to_ts.is_none_or(|to| letter.stored_ts() < to)
            && self.group.as_ref().is_none_or(|group| block.group(letter) == group.as_str())
            && self.fingerprint.as_ref().is_none_or(|fingerprint| block.fingerprint(letter) == fingerprint)
            && self.key.as_ref().is_none_or(|key| letter.may_have_key(hash_of_key(key)))
    }

    /// Whether this place is among those that are meant.
    pub(crate) fn takes_place(&self, partition: u32, offset: Offset) -> bool {
        self.places.as_ref().is_none_or(|places| places.binary_search(&(partition, offset)).is_ok())
    }

    /// Whether the index alone decides.
    pub(crate) fn is_of_index(&self) -> bool {
        self.err.is_none() && self.key.is_none() && self.jq.is_none()
    }

    /// What only the letter tells.
    pub(crate) fn matches(&self, letter: &FoundLetter) -> bool {
        let has_err = |err: &String| letter.err.to_lowercase().contains(&err.to_lowercase());
        self.err.as_ref().is_none_or(has_err) && self.key.as_ref().is_none_or(|key| letter.key.as_ref() == Some(key))
    }
}

/// The program of a filter, compiled once.
#[derive(Clone)]
pub(crate) struct LetterProgram(Option<Program>);

impl LetterProgram {
    pub async fn of(bus: &Bus, filter: &LetterFilter) -> Result<Self, JobError> {
        Ok(Self(match &filter.jq {
            Some(text) => Some(bus.compile_program(text).await?),
            None => None,
        }))
    }

    /// Takes out the letters whose originals it does not take, or fails on.
    pub async fn sift(
        &self,
        bus: &Bus,
        letters: BTreeMap<(u32, Offset), StoredEvent>,
    ) -> Result<BTreeMap<(u32, Offset), StoredEvent>, JobError> {
        let Some(program) = self.0.clone() else { return Ok(letters) };
        let judge = move |(place, event): ((u32, Offset), StoredEvent)| {
            let letter = read_letter(&event)?;
            program.test(letter.original.as_bytes()).unwrap_or(false).then_some((place, event))
        };
        Ok(bus.in_turns(letters.into_iter().collect(), judge).await?.into_iter().flatten().collect())
    }
}
