//! What is remembered of a projector beside its documents and its cursor: a rebuild that is asked for or under way.
//!
//! One document in `projectors`. Its revision only grows and fences a hub that comes late.

use prom_engine::{Bus, UnitOfWork};
use prom_jobs::CollectionInfo;
use prom_store::{DocumentWrite, Expect};
use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

use super::error::ProjectError;

const COLLECTION: &str = "projectors";

/// The stored form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ProjectorRecord {
    /// It was looked at once: a first start is over.
    pub is_begun: bool,
    /// Somebody asked to build the documents anew, and when.
    pub rebuild_asked: Option<EpochMs>,
    /// A build that is under way.
    pub build: Option<DocumentBuild>,
    /// What was replaced is still to be removed.
    pub sweep: bool,
}

/// Documents that are made anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DocumentBuild {
    pub began: EpochMs,
    /// Where the next batch of the topic is read, in each partition.
    pub next: Vec<Offset>,
    /// Where the snapshot is read that it begins with, until that is over.
    pub snapshot: Option<SnapshotPlace>,
    /// They are complete, and may be in their place already.
    pub is_swapping: bool,
    /// What the target remembers of its documents.
    pub collections: Vec<CollectionInfo>,
}

/// A place in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SnapshotPlace {
    pub id: EventId,
    /// In the topic of the snapshots.
    pub partition: u32,
    pub next: Offset,
}

/// The record as it was read, with the revision for writing it back.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownRecord {
    pub record: ProjectorRecord,
    revision: u64,
}

impl KnownRecord {
    pub async fn read(bus: &Bus, name: &str) -> Result<Self, ProjectError> {
        let Some(stored) = bus.document(COLLECTION, name).await? else {
            return Ok(Self::default());
        };
        let record = serde_json::from_slice(&stored.value).map_err(|error| {
            ProjectError::Stopped(format!("the document {COLLECTION}/{name} cannot be read: {error}"))
        })?;
        Ok(Self { record, revision: stored.revision })
    }

    /// Writes a changed record with the unit of work.
    pub fn write(&self, name: &str, record: &ProjectorRecord, work: &mut UnitOfWork) -> Result<(), ProjectError> {
        let text = serde_json::to_vec(record).map_err(|error| ProjectError::Stopped(error.to_string()))?;
        work.write(DocumentWrite::put(COLLECTION, name, text).expecting(Expect::Revision(self.revision)));
        Ok(())
    }

    /// The unit of work is stored.
    pub fn written(&mut self, record: ProjectorRecord) {
        self.record = record;
        self.revision += 1;
    }
}
