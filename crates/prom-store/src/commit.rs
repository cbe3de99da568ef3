//! A commit: everything that becomes durable together, or not at all.

use smallvec::SmallVec;

use prom_types::{EpochMs, Expectation, Offset};

use crate::{CursorChange, CursorName, DocumentWrite, EncodedEvent, LogName, LogOptions};

/// Events of any logs, cursor changes, documents: all or nothing.
///
/// Refused as a whole when one precondition fails: an older epoch ([`CursorChange`]), a document
/// that is not as expected, an event whose [`AppendTerms`] do not hold, a place that is taken, an event without a key on a
/// compacted log, an event for a log that has ended.
#[derive(Debug, Default)]
pub struct Commit {
    pub appends: SmallVec<[Append; 1]>,
    pub cursors: Vec<(CursorName, CursorChange)>,
    pub documents: Vec<DocumentWrite>,
    /// Logs created or changed by this commit. A log that is only appended to is not listed.
    pub logs: Vec<(LogName, LogOptions)>,
    /// Logs that end with this commit, after its appends. Their events are gone, with their ids and the latest of each
    /// key, and they are no longer listed. Later appends are refused until a commit names the log in `logs` again: it then
    /// begins anew, behind the last offset that it ever had. No offset is used twice, so nothing that is still known of
    /// the old events can be taken for a new one.
    ///
    /// ```text
    ///   0 ──────── 41 │ 42 ───▶
    ///   gone          └ begins anew; new cursors begin here too
    /// ```
    pub ends: Vec<LogName>,
    /// Logs whose first event of this commit gets this offset, each log once; the offsets before it stay empty. Refused
    /// where that offset is taken. For events that keep the places they had elsewhere.
    pub places: Vec<(LogName, Offset)>,
}

/// One event for one log.
#[derive(Debug, Clone)]
pub struct Append {
    pub log: LogName,
    pub event: EncodedEvent,
    pub dedupe: Dedupe,
    /// Almost none has any, so that costs one pointer.
    pub terms: Option<Box<AppendTerms>>,
}

/// What an append asks for beyond being stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppendTerms {
    /// Judged against the log as it was before the commit. Not judged for an id that is there already, or that came
    /// earlier in the commit.
    pub expect: Option<Expectation>,
    /// When it was stored elsewhere. It counts as far as it is neither before the last event of the log nor to come.
    pub stored_ts: Option<EpochMs>,
}

/// How hard to look for an earlier event of the same id in the same log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dedupe {
    /// The hub just made the id: there is none.
    Fresh,
    /// Within the dedupe window ([`prom_types::limits::DEDUPE_WINDOW_MS`], by `stored_ts`).
    Window,
    /// As `Window`, and also among retained events that were appended with `Exact`, in all partitions of the topic: a
    /// topic may have got more of them since.
    Exact,
}

impl Commit {
    pub fn append(log: LogName, event: EncodedEvent, dedupe: Dedupe) -> Self {
        let mut commit = Self::default();
        commit.appends.push(Append { log, event, dedupe, terms: None });
        commit
    }

    pub fn document(write: DocumentWrite) -> Self {
        Self { documents: vec![write], ..Self::default() }
    }

    pub fn cursor(name: CursorName, change: CursorChange) -> Self {
        Self { cursors: vec![(name, change)], ..Self::default() }
    }

    /// Whether anything in it is judged by [`TermsJudge`](crate::TermsJudge).
    pub fn has_terms(&self) -> bool {
        !self.places.is_empty() || self.appends.iter().any(|append| append.terms.is_some())
    }

    /// The offset that the first event of this log is to get.
    pub fn place_of(&self, log: &LogName) -> Option<Offset> {
        self.places.iter().find(|(name, _)| name == log).map(|(_, place)| *place)
    }

    /// The options that it gives to this log.
    pub fn options_of(&self, log: &LogName) -> Option<LogOptions> {
        self.logs.iter().rev().find(|(name, _)| name == log).map(|(_, options)| *options)
    }

    pub fn is_empty(&self) -> bool {
        let Self { appends, cursors, documents, logs, ends, places } = self;
        let names_no_log = logs.is_empty() && ends.is_empty() && places.is_empty();
        appends.is_empty() && cursors.is_empty() && documents.is_empty() && names_no_log
    }
}

/// The result of a commit: one entry per append, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    pub stored: SmallVec<[Stored; 1]>,
}

/// The offset at which an event was stored, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAt {
    pub offset: Offset,
    pub stored_ts: EpochMs,
}

/// The answer to one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub offset: Offset,
    pub stored_ts: EpochMs,
    /// The id was stored before, at this offset.
    pub duplicate: bool,
    /// The partition of that offset, where an exact id was found in another one of the topic.
    pub elsewhere: Option<u32>,
}

impl From<StoredAt> for Stored {
    fn from(StoredAt { offset, stored_ts }: StoredAt) -> Self {
        Self { offset, stored_ts, duplicate: false, elsewhere: None }
    }
}
