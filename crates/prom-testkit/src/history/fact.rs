//! One line of a history, and the history as a whole.
//!
//! ```text
//!   sent <publisher> <sequence> <id>
//!   stored <id> <topic> <partition> <offset>
//!   settling <group> <topic> <partition> <offset>
//!   acked <group> <topic> <partition> <offset>
//!   failed <group> <topic> <partition> <offset> <attempts>
//! ```
//!
//! An incomplete last line was cut by the death of its writer and counts as never written.

use std::fmt;
use std::str::FromStr;

use prom_store::{CursorName, LogName};
use prom_types::{EventId, GroupName, Offset, TopicName};

/// Something a child did or was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Why a line is not a fact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {number} of the history is not a fact: {line:?}")]
pub struct HistoryError {
    pub number: usize,
    pub line: String,
}

/// All facts, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History(pub Vec<Fact>);

impl History {
    /// Reads what a child wrote. Only whole lines count.
    pub fn parse(text: &str) -> Result<Self, HistoryError> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let read = |(index, line): (usize, &str)| {
            line.parse().map_err(|NotAFact| HistoryError { number: index + 1, line: line.to_owned() })
        };
        let facts: Result<_, _> = whole.lines().enumerate().map(read).collect();
        facts.map(Self)
    }
}

/// A line that does not follow the format.
#[derive(Debug)]
pub struct NotAFact;

impl FromStr for Fact {
    type Err = NotAFact;

    fn from_str(line: &str) -> Result<Self, NotAFact> {
        let mut words = Words(line.split(' '));
        let fact = match words.word()? {
            "sent" => Self::Sent { publisher: words.number()?, sequence: words.number()?, id: words.id()? },
            "stored" => Self::Stored { id: words.id()?, log: words.log()?, offset: words.number()? },
            "settling" => Self::Settling { cursor: words.cursor()?, offset: words.number()? },
            "acked" => Self::Acked { cursor: words.cursor()?, offset: words.number()? },
            "failed" => Self::Failed { cursor: words.cursor()?, offset: words.number()?, attempts: words.number()? },
            _ => return Err(NotAFact),
        };
        match words.0.next() {
            None => Ok(fact),
            Some(_) => Err(NotAFact),
        }
    }
}

struct Words<'a>(std::str::Split<'a, char>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Result<&'a str, NotAFact> {
        self.0.next().ok_or(NotAFact)
    }

    fn number<N: FromStr>(&mut self) -> Result<N, NotAFact> {
        self.word()?.parse().map_err(|_| NotAFact)
    }

    fn id(&mut self) -> Result<EventId, NotAFact> {
        EventId::parse(self.word()?).map_err(|_| NotAFact)
    }

    fn log(&mut self) -> Result<LogName, NotAFact> {
        let topic = TopicName::parse(self.word()?).map_err(|_| NotAFact)?;
        Ok(LogName::new(topic, self.number()?))
    }

    fn cursor(&mut self) -> Result<CursorName, NotAFact> {
        let group = GroupName::parse(self.word()?).map_err(|_| NotAFact)?;
        Ok(CursorName::new(self.log()?, group))
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log_words = |log: &LogName| format!("{} {}", log.topic, log.partition);
        let cursor_words = |cursor: &CursorName| format!("{} {}", cursor.group, log_words(&cursor.log));
        match self {
            Self::Sent { publisher, sequence, id } => write!(f, "sent {publisher} {sequence} {id}"),
            Self::Stored { id, log, offset } => write!(f, "stored {id} {} {offset}", log_words(log)),
            Self::Settling { cursor, offset } => write!(f, "settling {} {offset}", cursor_words(cursor)),
            Self::Acked { cursor, offset } => write!(f, "acked {} {offset}", cursor_words(cursor)),
            Self::Failed { cursor, offset, attempts } => {
                write!(f, "failed {} {offset} {attempts}", cursor_words(cursor))
            }
        }
    }
}
