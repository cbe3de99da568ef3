//! What can go wrong with a feed.

use prom_types::{EpochMs, Invalid};

use super::extended_json::UnreadableBson;
use super::fault;
use super::position::ClusterTime;

/// Why a feed cannot be started.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum FeedUnfit {
    /// Give it what is missing.
    #[error("changefeed {name}: {reason}")]
    Options { name: String, reason: String },
}

/// Why a feed that runs does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    /// Tried again.
    #[error("MongoDB: {}", fault::reason(.0))]
    Mongo(#[source] mongodb::error::Error),
    /// The oplog no longer has the position.
    #[error("MongoDB no longer knows the feed's position: {reason}")]
    Lost { reason: String },
    /// A change does not fit into an answer: it is read in parts that fit.
    #[error("a change is larger than one answer of MongoDB can be")]
    TooLarge,
    /// A change has no image of its document although the feed requires one. Changes before it may have come with the same answer.
    #[error("MongoDB has no image of a document for a change: {reason}")]
    NoImage { reason: String, at: Option<ClusterTime> },
    /// What a copy reads is no longer kept: it reads newer documents.
    #[error("MongoDB no longer keeps the documents as they were when the copy began: {reason}")]
    CopyTooOld { reason: String },
    /// An operator has to do something first.
    #[error("{reason}")]
    Stop { reason: String },
    /// It stopped before, and waits for an operator.
    #[error("{reason}")]
    Stopped { reason: String, since: EpochMs, revision: u64 },
    /// The position was written by another hub or an operator: it is read again.
    #[error("the feed was moved")]
    Overtaken,
    /// Tried again.
    #[error("MongoDB did not answer in time")]
    Silent,
    /// Opened again.
    #[error("MongoDB ended the change stream")]
    Ended,
    /// The hub's own store or bus.
    #[error(transparent)]
    Bus(prom_engine::Error),
    #[error("the stored position cannot be read: {reason}; move the feed with `prom feeds seek`")]
    Position { reason: String },
    #[error(transparent)]
    Unreadable(#[from] UnreadableBson),
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl From<mongodb::error::Error> for FeedError {
    fn from(error: mongodb::error::Error) -> Self {
        fault::judge(error)
    }
}

impl From<prom_engine::Error> for FeedError {
    fn from(error: prom_engine::Error) -> Self {
        match error {
            prom_engine::Error::Conflict { .. } => Self::Overtaken,
            error => Self::Bus(error),
        }
    }
}

impl From<mongodb::bson::error::Error> for FeedError {
    fn from(error: mongodb::bson::error::Error) -> Self {
        Self::Unreadable(error.into())
    }
}
