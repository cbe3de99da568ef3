//! Flows between the bus and databases, as the hub shows and steers them: drained outboxes, change feeds, projectors.
//!
//! What runs a flow knows its driver; what shows it knows only [`Flow`] and the [`FlowBoard`] of its hub.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;
use prom_types::EpochMs;
use serde::{Deserialize, Serialize};

/// The flows that this hub was configured with. Cloning costs a reference count.
#[derive(Clone, Default)]
pub struct FlowBoard(Arc<RwLock<FlowsByName>>);

type FlowsByName = BTreeMap<(FlowKind, String), Arc<dyn Flow>>;

impl FlowBoard {
    /// Shows a flow from now on. One of the same kind and name is replaced.
    pub fn add(&self, flow: Arc<dyn Flow>) {
        self.0.write().insert((flow.kind(), flow.name().to_owned()), flow);
    }

    /// All flows, by kind and name.
    pub fn all(&self) -> Vec<Arc<dyn Flow>> {
        self.0.read().values().cloned().collect()
    }

    /// The flow of this kind and name.
    pub fn get(&self, kind: FlowKind, name: &str) -> Option<Arc<dyn Flow>> {
        self.0.read().get(&(kind, name.to_owned())).cloned()
    }
}

/// One flow of this hub.
#[async_trait]
pub trait Flow: Send + Sync + 'static {
    /// What sort of flow it is.
    fn kind(&self) -> FlowKind;

    /// As it is configured; unique among its kind.
    fn name(&self) -> &str;

    /// How it is doing. Cheap enough to be asked for every scrape of the metrics, and never waits for a database.
    fn status(&self) -> FlowStatus;

    /// Does what an operator asks for, and says in words what was done. Any hub that has the flow can be asked.
    async fn act(&self, action: FlowAction) -> Result<FlowOutcome, FlowError>;

    /// Rows of an outbox, oldest first; other flows have none.
    async fn rows(&self, query: FlowRowQuery) -> Result<Vec<FlowRow>, FlowError> {
        let _ = query;
        Err(FlowError::Unfit { reason: format!("{} has no rows: only an outbox has", self.name()) })
    }
}

/// What sort of flow it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// Rows of a service's own database → topics.
    Outbox,
    /// Changes of a MongoDB collection → a topic.
    Feed,
    /// A topic → documents of a collection.
    Projection,
}

impl FlowKind {
    /// As in paths and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outbox => "outbox",
            Self::Feed => "feed",
            Self::Projection => "projection",
        }
    }
}

/// Whether a flow moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Connecting, or waiting for its lease.
    Starting,
    /// A first copy of what was there before.
    Snapshot,
    /// In step, or catching up.
    Running,
    /// Another hub does it at the moment.
    Elsewhere,
    /// It failed and is tried again at `retry_at`.
    Retrying,
    /// It needs an operator; `error` says why and what to do.
    Stopped,
}

impl FlowState {
    /// As in answers and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Snapshot => "snapshot",
            Self::Running => "running",
            Self::Elsewhere => "elsewhere",
            Self::Retrying => "retrying",
            Self::Stopped => "stopped",
        }
    }

    /// Whether `/readyz` tells of it.
    pub fn is_unwell(self) -> bool {
        matches!(self, Self::Retrying | Self::Stopped)
    }
}

/// How a flow is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowStatus {
    /// Whether it moves.
    pub state: FlowState,
    /// Where it reads, in words: `mongo shop.orders`, `topic process.state`.
    pub from: String,
    /// Where it writes, in words.
    pub to: String,
    /// What it failed with last, while that holds.
    pub error: Option<FlowFailure>,
    /// Waiting rows or events, where that is known.
    pub pending: Option<u64>,
    /// When the oldest waiting one was made.
    pub oldest: Option<EpochMs>,
    /// What it did since this hub started.
    pub counts: FlowCounts,
    /// Of this hub, newest first measured last: `commit to publish`, `publish to projected` and the like.
    pub stages: Vec<FlowStage>,
    /// Where it is in its source, in words: a time, a token, an offset.
    pub position: Option<String>,
    /// More that is worth showing, by name.
    pub details: BTreeMap<String, String>,
}

impl FlowStatus {
    /// A flow that has done nothing yet.
    pub fn starting(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self {
            state: FlowState::Starting,
            from: from.into(),
            to: to.into(),
            error: None,
            pending: None,
            oldest: None,
            counts: FlowCounts::default(),
            stages: Vec::new(),
            position: None,
            details: BTreeMap::new(),
        }
    }
}

/// Why a flow does not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowFailure {
    /// In words, with what to do.
    pub reason: String,
    /// When it began.
    pub since: EpochMs,
    /// Tries since then.
    pub tries: u32,
    /// When it is tried again; `None` once it waits for an operator.
    pub retry_at: Option<EpochMs>,
}

/// What a flow did since its hub started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Rows, changes or events that were taken.
    pub read: u64,
    /// What came of them: events published, documents written.
    pub written: u64,
    /// Left out by a filter, without a key, or older than what is there.
    pub skipped: u64,
    /// Dead letters, and rows in error.
    pub failed: u64,
}

/// How long one stage of a flow takes.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowStage {
    /// `commit_to_publish`, `publish_to_document`, `commit_to_document`.
    pub name: &'static str,
    /// Of the last one, in milliseconds.
    pub last_ms: u64,
    /// Half of the recent ones took at most this long.
    pub p50_ms: u64,
    /// All but one in a hundred of the recent ones took at most this long.
    pub p99_ms: u64,
}

/// What an operator may ask of a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowAction {
    /// Reads on from there. What lies between is left out, or comes again.
    Seek(FlowSeek),
    /// Tries again now, also what waits for an operator.
    Restart,
    /// Brings rows in error back to pending.
    Requeue(FlowRowQuery),
    /// Lets go of rows in error, so that their keys go on.
    Drop(FlowRowQuery),
    /// Builds its collection anew beside the old one, then swaps.
    Rebuild,
}

/// Where a feed goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowSeek {
    /// At the first change from this time on.
    Time(EpochMs),
    /// After the change with this resume token.
    Token(String),
}

/// Which rows of an outbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowRowQuery {
    /// Only in this status.
    pub status: Option<String>,
    /// Only these.
    pub ids: Vec<String>,
    /// Only of this topic.
    pub topic: Option<String>,
    /// Only of this key.
    pub key: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// One row of an outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRow {
    /// Its `_id`, as the event's id shows it.
    pub id: String,
    /// Where it goes.
    pub topic: String,
    /// Rows of one key keep their order.
    pub key: Option<String>,
    /// `pending`, `claimed`, `sent` or `error`.
    pub status: String,
    /// When it was written, as the writer says.
    pub ts: EpochMs,
    /// Failed tries.
    pub attempts: u32,
    /// What it failed with last.
    pub last_err: Option<String>,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowOutcome {
    /// In words.
    pub done: String,
    /// How many rows it changed, where it was about rows.
    pub rows: Option<u64>,
}

/// Why a flow cannot do as it was asked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum FlowError {
    /// The wrong thing was asked for.
    #[error("{reason}")]
    Unfit { reason: String },
    /// The database, or the bus, did not do it.
    #[error("{reason}")]
    Failed { reason: String },
}
