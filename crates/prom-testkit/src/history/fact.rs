//! One line of a history, as JSON, and the history as a whole.
//!
//! An incomplete last line was cut by the death of its writer and counts as never written.

use prom_store::{CursorName, LogName};
use prom_types::{EventId, Offset};
use serde::{Deserialize, Serialize};

use super::HistoryError;
use super::read::read;

/// Something a child did or was promised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Written before publishing. A publisher's sequences grow.
    Sent { publisher: u64, sequence: u64, id: EventId },
    /// Written after the receipt.
    Stored { id: EventId, log: LogName, offset: Offset },
    /// Written before acking.
    Settling { cursor: CursorName, offset: Offset },
    /// Written after the ack was answered.
    Acked { cursor: CursorName, offset: Offset },
    /// Written after a nack was answered: this many attempts have failed.
    Failed { cursor: CursorName, offset: Offset, attempts: u32 },
}

/// All facts, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History(pub Vec<Fact>);

impl Fact {
    /// With the end of its line.
    pub fn to_line(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

impl History {
    /// Reads what a child wrote. Only whole lines count.
    pub fn parse(text: &str) -> Result<Self, HistoryError> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        read(whole).map(Self)
    }
}
