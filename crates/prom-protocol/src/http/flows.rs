//! `/flows`: outboxes, change feeds and projections, as a hub shows and steers them.

use std::collections::BTreeMap;

use prom_types::EpochMs;
use serde::{Deserialize, Serialize};

/// The query of `GET /flows`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct FlowsQuery {
    /// All kinds unless given.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub kind: Option<FlowKindView>,
}

/// What sort of flow it is, as in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlowKindView {
    /// Rows of a service's own database → topics.
    Outbox,
    /// Changes of a MongoDB collection → a topic.
    Feed,
    /// A topic → documents of a collection.
    Projection,
}

/// The answer to `GET /flows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowList {
    /// Those that the hub was configured with, by kind and name.
    pub flows: Vec<FlowView>,
}

/// How a flow is doing at the hub that was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowView {
    pub kind: FlowKindView,
    /// Unique among its kind.
    pub name: String,
    pub state: FlowStateView,
    /// Where it reads, in words.
    #[cfg_attr(feature = "openapi", schema(example = "mongo shop.orders"))]
    pub from: String,
    /// Where it writes, in words.
    #[cfg_attr(feature = "openapi", schema(example = "topic orders.changed"))]
    pub to: String,
    /// What it failed with last, while that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub error: Option<FlowFailureView>,
    /// Waiting rows or events; missing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub pending: Option<u64>,
    /// When the oldest waiting one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<i64>))]
    pub oldest_ts: Option<EpochMs>,
    pub counts: FlowCountsView,
    /// How long its stages take, of this hub.
    pub stages: Vec<FlowStageView>,
    /// Where it is in its source: a time, a token, an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub position: Option<String>,
    /// More about it, by name.
    #[serde(default)]
    pub details: BTreeMap<String, String>,
}

/// Whether a flow moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlowStateView {
    /// Connecting, or waiting for its lease.
    Starting,
    /// A first copy of what was there before.
    Snapshot,
    /// In step, or catching up.
    Running,
    /// Another hub does it at the moment.
    Elsewhere,
    /// It failed and is tried again.
    Retrying,
    /// It needs an operator.
    Stopped,
}

impl FlowStateView {
    /// As in the answer.
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

    /// It failed, and nothing goes through it now.
    pub fn is_unwell(self) -> bool {
        matches!(self, Self::Retrying | Self::Stopped)
    }
}

/// Why a flow does not move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowFailureView {
    /// In words, with what to do.
    pub reason: String,
    /// When it began.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub since_ts: EpochMs,
    /// Tries since then.
    pub tries: u32,
    /// When it is tried again; missing once it waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<i64>))]
    pub retry_ts: Option<EpochMs>,
}

/// What a flow did since its hub started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowCountsView {
    /// Rows, changes or events that it took.
    pub read: u64,
    /// What came of them: events published, documents written.
    pub written: u64,
    /// Left out by a filter, without a key, or older than what is there.
    pub skipped: u64,
    /// Dead letters, and rows in error.
    pub failed: u64,
}

/// How long a stage of a flow takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowStageView {
    #[cfg_attr(feature = "openapi", schema(example = "commit_to_publish"))]
    pub name: String,
    /// Of the last one.
    pub last_ms: u64,
    /// Half of the recent ones took at most this long.
    pub p50_ms: u64,
    /// All but one in a hundred of the recent ones took at most this long.
    pub p99_ms: u64,
}

/// The query of `GET /flows/outbox/{name}/rows`. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct FlowRowsQuery {
    /// Only rows in this status.
    #[cfg_attr(feature = "openapi", param(inline))]
    pub status: Option<FlowRowStatus>,
    /// Only rows of this topic, also where no topic can have that name.
    pub topic: Option<String>,
    /// Only rows of this key.
    pub key: Option<String>,
    /// Only the row with this `_id`.
    pub id: Option<String>,
    /// At most this many rows, 1 to 1000; 100 unless given.
    pub limit: Option<usize>,
}

/// What a row of an outbox can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlowRowStatus {
    Pending,
    Claimed,
    Sent,
    Error,
}

impl FlowRowStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Claimed, Self::Sent, Self::Error];

    /// As in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Sent => "sent",
            Self::Error => "error",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// The answer to `GET /flows/outbox/{name}/rows`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowRowList {
    pub outbox: String,
    /// The oldest first. As many as were asked for: there may be more.
    pub rows: Vec<FlowRowView>,
}

/// A row of an outbox, without its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlowRowView {
    /// Its `_id`.
    pub id: String,
    /// Where it goes.
    pub topic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// `pending`, `claimed`, `sent` or `error`.
    pub status: String,
    /// When it was written, as the writer says.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub ts: EpochMs,
    /// Failed tries.
    pub attempts: u32,
    /// What it failed with last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub last_err: Option<String>,
}

/// The body of `POST /flows/outbox/{name}/requeue` and `/drop`: which rows in error. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChooseFlowRows {
    /// Only the rows with these `_id`s, 1000 at the most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub ids: Vec<String>,
    /// Only rows of this topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub topic: Option<String>,
    /// Only rows of this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
    /// All rows in error. Has to be said where nothing else is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub all: bool,
    /// At most this many rows, the oldest first, 1 to 10 000; 1000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub limit: Option<usize>,
}

impl ChooseFlowRows {
    /// Whether it names some rows rather than all of them.
    pub fn names_some(&self) -> bool {
        !self.ids.is_empty() || self.topic.is_some() || self.key.is_some()
    }
}

/// The body of `POST /flows/feed/{name}/seek`: a time or a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SeekFeed {
    /// Goes on at the first change from this time on, in epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<i64>))]
    pub at: Option<EpochMs>,
    /// Goes on after the change with this resume token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub token: Option<String>,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActedFlow {
    pub kind: FlowKindView,
    pub name: String,
    /// What was done, in words.
    pub done: String,
    /// How many rows it changed, where it was about rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub rows: Option<u64>,
}
