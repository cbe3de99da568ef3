//! The errors of a store. Each variant says what the caller can do.

use std::fmt;
use std::path::PathBuf;

use prom_types::{Expectation, Offset};

use crate::{CursorName, LogName};

/// Why a commit failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Another dispatcher took the cursor over. Stop dispatching it.
    #[error("cursor {cursor} is at epoch {current}, not {given}: another dispatcher took it over")]
    Fenced { cursor: CursorName, given: u64, current: u64 },
    /// Read the document again and decide again.
    #[error("document {collection}/{key} is at revision {current}, another one was expected")]
    Conflict { collection: String, key: String, current: u64 },
    /// Give the event a key: compaction keeps the latest event of each.
    #[error("{log} is compacted and takes no event without a key")]
    KeyRequired { log: LogName },
    /// Read again and decide again. Nothing was stored. `index` is the append, counted from 0.
    #[error("{log} is not as expected: {expected} was expected, it is {actual} (nothing was stored)")]
    Unmet { log: LogName, index: usize, expected: Expectation, actual: Expectation },
    /// Turn `versions` on for the topic first. Nothing was stored.
    #[error(
        "{log} does not keep the newest offset of each key; set versions = true for its topic (nothing was stored)"
    )]
    NoVersions { log: LogName },
    /// Try again in a moment. Nothing was stored.
    #[error(
        "the newest offsets of the keys in {log} are still being gathered; try again in a moment (nothing was stored)"
    )]
    VersionsUnknown { log: LogName },
    /// Its topic was deleted. Make the topic again, then append. Nothing was stored.
    #[error("{log} was deleted with its topic; make the topic again first (nothing was stored)")]
    Ended { log: LogName },
    /// Free some space; cursors and reads still work. Nothing was stored.
    #[error("no room for new events: {reason}")]
    Full { reason: String },
    /// Too many commits wait. Wait for answers before sending more. Nothing was stored.
    #[error("too many commits wait; wait for answers before sending more")]
    Overloaded,
    /// The storage failed. `outcome` says whether the commit may be stored anyway.
    #[error("the commit failed: {reason} ({outcome})")]
    Failed { reason: String, outcome: Outcome },
    #[error("the store is closed")]
    Closed,
}

/// What is known about a failed commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It will never be seen.
    NotStored,
    /// It may appear after a restart. Publishing again with the same id is safe.
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotStored => "nothing was stored",
            Self::Unknown => "it may have been stored; send it again with the same id",
        })
    }
}

/// Why a read, an opening or a maintenance call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process uses the directory. Stop it, or use another directory.
    #[error("{path} is in use by {holder}; stop it or choose another directory", path = .path.display())]
    InUse { path: PathBuf, holder: String },
    /// Written by a newer version of this software, or not ours at all.
    #[error("{path} has format {found}, this version reads {supported}; use the version that wrote it", path = .path.display())]
    Format { path: PathBuf, found: String, supported: String },
    /// A part of the storage is gone, and going on would overwrite the rest. Restore it from a copy, or rebuild.
    #[error("{path} {reason}; restore it from a copy, or run `prom fsck --rebuild` to go on with what is left", path = .path.display())]
    Incomplete { path: PathBuf, reason: String },
    /// Acknowledged bytes have changed. The rest stays readable.
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error("{doing} {path}: {source}", path = .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The server behind the store refuses or cannot be reached. `fix` says what to do.
    #[error("{what}: {reason}; {fix}")]
    Server { what: &'static str, reason: String, fix: &'static str },
    #[error("{log} keeps no latest event per key; set versions = true for its topic, or compact it")]
    NotCompacted { log: LogName },
    #[error("documents: {reason}")]
    Documents { reason: String },
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("the store is closed")]
    Closed,
}

/// A position where the storage no longer holds what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damage in {file} at byte {position}: {reason}{}; the rest is readable, fsck lists all damage", offsets(.lost))]
pub struct Damage {
    pub file: PathBuf,
    pub position: u64,
    pub reason: String,
    /// Offsets that cannot be read, if known.
    pub lost: Option<std::ops::Range<Offset>>,
}

fn offsets(lost: &Option<std::ops::Range<Offset>>) -> String {
    match lost {
        Some(range) => format!(" (offsets {} to {})", range.start, range.end.saturating_sub(1)),
        None => String::new(),
    }
}
