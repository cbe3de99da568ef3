//! What a drainer needs of a database, whichever it is.
//!
//! ```text
//!   buckets ─▶ claim ─▶ (publish) ─▶ settle ─▶ claim …        arrived: waits for news
//! ```
//!
//! The keys of an outbox are divided into [`super::limits::BUCKETS`] buckets by their hash. A drainer holds buckets by a lease
//! that the database's clock measures, and claims only rows of buckets that it holds: so one drainer at a time has the rows of
//! a key. Claiming is one query; nothing is written for it.
//!
//! Promises: a claim returns visible rows in the order (`ts`, `_id`). A settlement changes only rows that are still as they
//! were claimed: a drainer that slept does not undo what its successor marked.

use std::time::Duration;

use async_trait::async_trait;
use prom_jobs::{FlowRow, FlowRowQuery};
use prom_types::EpochMs;

use super::buckets::{BucketSet, ClaimedPart};
use super::error::SourceError;
use super::row::{OutboxRow, RowId};

/// An outbox in a database.
#[async_trait]
pub trait OutboxSource: Send + Sync {
    /// Renews what is taken and still free or ours, gives back the rest, and says who holds what then.
    async fn buckets(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError>;

    /// The next rows, in their order.
    async fn claim(&self, claim: &RowClaim<'_>) -> Result<Vec<OutboxRow>, SourceError>;

    /// Marks what was sent and what failed.
    async fn settle(&self, settlement: &Settlement<'_>) -> Result<(), SourceError>;

    /// Rows in error or waiting for another try, at most this many.
    async fn failing(&self, limit: usize) -> Result<Vec<FailingRow>, SourceError>;

    /// How many rows wait, and since when.
    async fn backlog(&self) -> Result<Backlog, SourceError>;

    /// Waits for a sign that rows came, at most this long.
    async fn arrived(&self, at_most: Duration) -> Result<(), SourceError>;

    /// Removes some of the rows that were sent before; says whether there may be more.
    async fn expire(&self, sent_before: EpochMs) -> Result<Expired, SourceError>;

    /// Rows for people, oldest first.
    async fn rows(&self, query: &FlowRowQuery) -> Result<Vec<FlowRow>, SourceError>;

    /// Requeues or drops rows in error; says how many.
    async fn change(&self, change: RowChange, query: &FlowRowQuery) -> Result<u64, SourceError>;
}

/// Which buckets a drainer wants.
pub struct BucketWish<'a> {
    pub holder: &'a str,
    pub lease: Duration,
    /// Renewed, or taken where they are free.
    pub take: BucketSet,
    /// Given back.
    pub give: BucketSet,
    pub presence: HubPresence,
}

/// Whether a hub counts when buckets are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubPresence {
    Here,
    Leaving,
}

/// Which rows a drainer wants.
pub struct RowClaim<'a> {
    pub buckets: BucketSet,
    /// Lanes that wait for an earlier row.
    pub held: &'a [String],
    /// Rows whose next try is later wait.
    pub now: EpochMs,
    pub rows: usize,
    pub look: Look,
}

/// Where a claim begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// With the oldest row.
    Afresh,
    /// Behind what was claimed, where the source knows that nothing came before it.
    Onward,
}

/// What became of claimed rows.
pub struct Settlement<'a> {
    pub holder: &'a str,
    pub now: EpochMs,
    /// Zero removes the rows.
    pub keep_sent: Duration,
    pub sent: &'a [&'a OutboxRow],
    pub failed: &'a [FailedRow<'a>],
}

/// A row that was not published.
pub struct FailedRow<'a> {
    pub row: &'a OutboxRow,
    pub reason: String,
    /// Until then it waits; `None`: it is in error.
    pub retry_at: Option<EpochMs>,
}

/// A row that failed before.
#[derive(Debug, Clone, PartialEq)]
pub struct FailingRow {
    pub id: RowId,
    pub lane: Option<String>,
    /// Until then it waits; `None`: it is in error.
    pub retry_at: Option<EpochMs>,
}

/// How many rows wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    pub pending: u64,
    pub oldest: Option<EpochMs>,
    pub errors: u64,
}

/// Whether a pass over sent rows came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    All,
    Some,
}

/// What an operator does with rows in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowChange {
    /// They are pending again, with all their tries.
    Requeue,
    /// They are removed.
    Drop,
}
