//! Which letters are meant: what the index can tell of a letter, and what only the letter itself tells.

use prom_types::{EpochMs, GroupName, Offset};

use super::block::{LetterBlock, LetterEntry, hash_of_key};
use super::letter::FoundLetter;

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
    /// Those that lie here, by partition and offset. Everything else is left out.
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
        self.places.as_ref().is_none_or(|places| places.contains(&(partition, offset)))
    }

    /// Whether the index alone decides.
    pub(crate) fn is_of_index(&self) -> bool {
        self.err.is_none() && self.key.is_none()
    }

    /// What only the letter tells.
    pub(crate) fn matches(&self, letter: &FoundLetter) -> bool {
        let has_err = |err: &String| letter.err.to_lowercase().contains(&err.to_lowercase());
        self.err.as_ref().is_none_or(has_err) && self.key.as_ref().is_none_or(|key| letter.key.as_ref() == Some(key))
    }
}
