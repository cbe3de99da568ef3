//! Which letters: the flags that `ls`, `replay` and `purge` share.

use clap::Args;
use prom_types::{EpochMs, EventId, GroupName, TopicName};

use crate::command::names;
use crate::moment;

#[derive(Debug, Clone, Args)]
pub struct LetterChoice {
    /// The topic of the originals
    #[arg(value_parser = names::topic)]
    pub topic: TopicName,
    /// Only letters of this group
    #[arg(long, value_name = "GROUP", value_parser = names::group)]
    pub group: Option<GroupName>,
    /// Only letters whose event has this key
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Only letters with this text in their error
    #[arg(long, value_name = "TEXT")]
    pub err: Option<String>,
    /// Only letters of this kind of error, as `prom dlq groups` shows it
    #[arg(long, value_name = "FINGERPRINT")]
    pub fingerprint: Option<String>,
    /// Only letters whose original this jq program takes, such as '.payload.customer == 4711'; where the topic declares an index
    /// that answers it, nothing else is read
    #[arg(long = "where", value_name = "PROGRAM")]
    pub jq: Option<String>,
    /// Only letters written at or after this time
    #[arg(long = "from", value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    pub from_ts: Option<EpochMs>,
    /// Only letters written before this time
    #[arg(long = "to", value_name = "TIME", value_parser = moment::parse, allow_hyphen_values = true)]
    pub to_ts: Option<EpochMs>,
}

impl LetterChoice {
    /// Whether it names all letters of the topic.
    pub fn is_all(&self) -> bool {
        self.group.is_none()
            && self.key.is_none()
            && self.err.is_none()
            && self.fingerprint.is_none()
            && self.jq.is_none()
            && self.from_ts.is_none()
            && self.to_ts.is_none()
    }
}

/// Letters that are named one by one.
#[derive(Debug, Clone, Args)]
pub struct NamedLetters {
    /// Only the letter with this id; may be given several times
    #[arg(long = "id", value_name = "ID", value_parser = letter_id)]
    pub ids: Vec<EventId>,
}

pub fn letter_id(text: &str) -> Result<EventId, String> {
    EventId::parse(text).map_err(|_| "the id of a letter is a UUID; `prom dlq ls TOPIC` shows them".to_owned())
}
