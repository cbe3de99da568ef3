//! The store traits, and the suite that checks every store against them.
//!
//! A store keeps three things: **logs** (the events of one partition of one topic, by offset), **cursors** (what a
//! group has settled in a log) and **documents** (everything else, in named collections). What must be durable
//! together is one [`Commit`].
//!
//! ```text
//!   Commit { appends, cursors, documents } ──▶ Store::commit ──▶ durable, all of it or nothing
//!                                                   │
//!                        readers are woken ◀────────┘
//! ```
//!
//! Backends: [`memory`] here, `prom-store-embedded`, `prom-store-mongo`. All pass the suite in `contract`, which is a
//! cargo feature so that production builds do not contain it.

pub mod commit;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod cursor;
pub mod document;
pub mod document_watch;
mod error;
pub mod keys_before;
pub mod lease;
mod lease_table;
pub mod log;
pub mod memory;
pub mod meter;
mod pending;
pub mod ranges;
pub mod record;
mod store;
mod terms;

pub use commit::{Append, AppendTerms, Commit, Committed, Dedupe, Stored, StoredAt};
pub use cursor::{CursorChange, CursorName, CursorState, Cursors, Failures};
pub use document::{Document, DocumentWrite, Documents, Expect, Standing};
pub use document_watch::{DocumentListeners, DocumentNews, DocumentWatch};
pub use error::{CommitError, Damage, Outcome, StoreError};
pub use keys_before::KeysBefore;
pub use lease::{Leases, StoreLease};
pub use lease_table::LeaseTable;
pub use log::{
    Announce, Bounds, CompactPlan, CompactReport, Find, HeadWatch, LogInfo, LogName, LogOptions, Logs, ReadBatch,
    ReadLimit,
};
pub use memory::MemoryStore;
pub use meter::{Counter, Gauge, Histogram, HistogramSnapshot, StoreMeters};
pub use pending::{CommitAnswers, CommitReply, PendingCommit};
pub use ranges::RangeSet;
pub use record::{EncodedEvent, Encoder, Record, RecordParts};
pub use store::Store;
pub use terms::{LogStanding, NewestOfKey, TermsJudge, placed_ts};

pub use prom_types::{Clock, SystemClock};
