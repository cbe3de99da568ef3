//! The progress of a cutover as it is stored: under a condition that only one writer meets, with what the step made.

use prom_engine::{BETWEEN_TOPICS as COLLECTION, Bus, Error, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::Receipt;

use super::{CutoverPlan, CutoverProgress};
use crate::JobError;

/// The document of one cutover.
pub(super) struct CutoverBook {
    key: String,
    /// Of the document.
    revision: u64,
}

impl CutoverBook {
    /// What is stored of a cutover, or a new beginning.
    pub async fn open(bus: &Bus, plan: &CutoverPlan) -> Result<(Self, CutoverProgress), JobError> {
        let key = plan.key();
        let stored = bus.document(COLLECTION, &key).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let progress = match stored {
            Some(stored) => serde_json::from_slice(&stored.value)
                .map_err(|error| JobError::Progress { reason: error.to_string() })?,
            None => CutoverProgress::begun(plan),
        };
        check_same(plan, &progress)?;
        Ok((Self { key, revision }, progress))
    }

    /// Adds the progress to a step.
    pub fn add_to(&self, work: &mut UnitOfWork, progress: &CutoverProgress) -> Result<(), JobError> {
        let text = serde_json::to_vec(progress).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        let document = DocumentWrite::put(COLLECTION, &self.key, text);
        work.write(document.expecting(Expect::Revision(self.revision)));
        Ok(())
    }

    /// Stores a step that has the progress in it. A conflict over something else stays one.
    pub async fn commit(&mut self, bus: &Bus, plan: &CutoverPlan, work: UnitOfWork) -> Result<Vec<Receipt>, JobError> {
        match work.commit().await {
            Ok(receipts) => {
                self.revision += 1;
                Ok(receipts)
            }
            Err(conflict @ Error::Conflict { .. }) => {
                let (topic, target) = (plan.topic.clone(), plan.place.to_string());
                match bus.document(COLLECTION, &self.key).await? {
                    None if self.revision > 0 => Err(JobError::Deleted { topic, target }),
                    Some(stored) if stored.revision == self.revision => Err(conflict.into()),
                    _ => Err(JobError::Running { topic, target }),
                }
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Two versions, or two topics, are not mixed in one target.
fn check_same(plan: &CutoverPlan, progress: &CutoverProgress) -> Result<(), JobError> {
    if progress.topic != plan.topic.as_str() {
        let reason = format!("it holds the events of {}", progress.topic);
        return Err(JobError::Target { topic: plan.topic.clone(), target: plan.place.to_string(), reason });
    }
    if progress.version != plan.version {
        return Err(plan.other_version(progress.version, &plan.version.to_string()));
    }
    Ok(())
}
