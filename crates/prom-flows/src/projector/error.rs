//! Why a projector does not go on.

use prom_engine::Error as BusError;
use prom_jobs::JobError;

/// What failed, by what can be done about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProjectError {
    /// An event of the batch cannot become a document. Of a batch of one it is that event.
    #[error("{0}")]
    Unfit(String),
    /// A database or the store failed; trying again may help.
    #[error("{0}")]
    Passing(String),
    /// Another transaction is in the way: that of a hub that was killed ends within a minute.
    #[error("{0}")]
    Contended(String),
    /// Another hub or an operator changed what this works on: it begins where that is now.
    #[error("{0}")]
    Lost(String),
    /// It would fail again until somebody changes something.
    #[error("{0}")]
    Stopped(String),
}

impl From<BusError> for ProjectError {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Fenced { .. } | BusError::Conflict { .. } => Self::Lost(error.to_string()),
            error => Self::Passing(error.to_string()),
        }
    }
}

impl From<JobError> for ProjectError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Target { .. } | JobError::Field { .. } | JobError::Collection { .. } => {
                Self::Stopped(error.to_string())
            }
            JobError::Bus(error) => error.into(),
            error => Self::Passing(error.to_string()),
        }
    }
}
