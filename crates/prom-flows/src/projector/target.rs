//! Where documents go: what every target promises.
//!
//! ```text
//!   events ─▶ projection ─▶ ProjectedBatch ─▶ ProjectionTarget::apply ─▶ unit of work ─▶ committed
//!                                                 │
//!                              in the hub's store, and into a topic: all of it joins the unit
//!                              in MongoDB: documents are written now, the unit settles them afterwards
//! ```

use std::collections::BTreeMap;

use async_trait::async_trait;
use prom_engine::{HeldBatch, UnitOfWork};
use prom_jobs::CollectionInfo;
use prom_types::{EpochMs, EventId};
use serde_json::value::RawValue;

use super::change::NewestChange;
use super::edit::FoldedEdits;
use super::error::ProjectError;

/// What a batch of events comes to.
#[derive(Debug, Clone)]
pub(crate) enum ProjectedBatch {
    /// The newest change of each key.
    Changes(Vec<NewestChange>),
    /// By collection and key.
    Edits(EditsByDocument),
    /// All of them, in order.
    States(Vec<StateChange>),
}

/// A state of a thing that reports itself.
#[derive(Debug, Clone)]
pub(crate) struct StateChange {
    pub key: String,
    /// `None`: there is no such thing any more.
    pub state: Option<Box<RawValue>>,
    /// The event that reports it.
    pub cause: EventId,
    pub heard: EpochMs,
}

/// With when the newest event was stored.
pub(crate) type EditsByDocument = BTreeMap<(String, String), (FoldedEdits, i64)>;

/// Which documents are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetSide {
    /// Those that are read.
    Live,
    /// Those that are made anew beside them.
    Beside,
}

/// What came of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AppliedBatch {
    /// Documents written or deleted.
    pub written: u64,
    /// Changes that were older than the document.
    pub older: u64,
}

/// The documents of one projector.
#[async_trait]
pub(crate) trait ProjectionTarget: Send + Sync {
    /// Makes what is missing, and learns what is there.
    async fn open(&mut self, beside: Option<&[CollectionInfo]>) -> Result<(), ProjectError>;

    /// Writes a batch, or adds it to the unit of work that settles it. Applying a batch again that was not settled changes nothing.
    async fn apply(
        &mut self,
        side: TargetSide,
        batch: &ProjectedBatch,
        read: &HeldBatch,
        work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError>;

    /// The unit of work is stored. It is asked to open again where that is not known.
    fn committed(&mut self, side: TargetSide);

    /// Offsets up to which the documents have everything already, although the cursors do not say so.
    fn is_ahead(&self) -> BTreeMap<u32, u64> {
        BTreeMap::new()
    }

    /// Begins to make the documents anew, beside those that are read. What a maker before left there is removed.
    async fn begin_beside(&mut self) -> Result<(), ProjectError>;

    /// What has to be remembered of the documents beside, with each unit of work.
    fn beside(&self) -> Vec<CollectionInfo>;

    /// Puts the documents beside in the place of those that are read.
    async fn swap(&mut self, work: &mut UnitOfWork) -> Result<(), ProjectError>;

    /// Removes what was replaced.
    async fn sweep(&mut self) -> Result<(), ProjectError> {
        Ok(())
    }

    /// Forgets some versions of keys that were deleted long ago.
    async fn forget_some(&mut self) -> Result<(), ProjectError> {
        Ok(())
    }

    /// When something is to be done without an event.
    fn next_due(&self) -> Option<EpochMs> {
        None
    }

    /// Does some of it with the unit of work; returns how much.
    async fn due(&mut self, _now: EpochMs, _work: &mut UnitOfWork) -> Result<u64, ProjectError> {
        Ok(0)
    }
}
