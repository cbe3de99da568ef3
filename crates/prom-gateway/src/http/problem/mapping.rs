//! From what goes wrong inside to what the caller is told. Codes are decided where WebSocket's are.

use axum::extract::rejection::PathRejection;
use prom_auth::AuthError;
use prom_engine::Error;
use prom_jobs::{FlowError, JobError};
use prom_protocol::FrameError;
use prom_protocol::position::PositionError;
use prom_store::StoreError;
use prom_types::Invalid;

use super::{Code, Problem};
use crate::http::schema::violation_view;
use crate::problem;
use crate::rates::RetryAfter;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let told = problem::of_bus(&error);
        let code = match &error {
            Error::Store(StoreError::NotCompacted { .. }) => Code::BadRequest,
            _ => told.code,
        };
        let detail = match &error {
            // Which of the two it is would tell whether the group exists.
            Error::UnknownGroup { group } | Error::NotOfTheGroup { group, .. } => {
                format!("no group {group} reads this; a group is created by its first subscriber")
            }
            // They are in the document itself.
            Error::SchemaIncompatible { topic, .. } => {
                format!("the schema is not compatible with earlier versions of {topic}")
            }
            _ => told.msg,
        };
        let mut problem = Self::new(code, detail);
        let document = &mut problem.0.document;
        document.stored = told.stored;
        document.actual = told.actual;
        if let Some(misfit) = told.misfit {
            document.version = Some(misfit.version);
            document.pointer = Some(misfit.pointer);
            document.rule = Some(misfit.rule);
            document.value = Some(misfit.value);
        }
        match error {
            Error::ServedElsewhere { url, .. } => problem.0.served_at = Some(url),
            Error::Schema(_) => document.field = Some("schema".to_owned()),
            Error::SchemaIncompatible { violations, .. } => {
                document.violations = violations.into_iter().map(violation_view).collect();
            }
            _ => {}
        }
        problem
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        let detail = error.to_string();
        match error {
            JobError::Bus(error) => error.into(),
            JobError::Invalid(invalid) => invalid.into(),
            JobError::NoSchema { .. } => Self::new(Code::UnknownTopic, detail),
            JobError::Collection { .. } => Self::field("to_collection", detail),
            JobError::Field { name, reason } => Self::field(name, reason),
            JobError::Target { .. } | JobError::OtherVersion { .. } => Self::new(Code::BadRequest, detail),
            JobError::Unfit { .. } | JobError::UnfitReplay { .. } => Self::new(Code::SchemaInvalid, detail),
            JobError::HistoryGone { earliest, .. } => {
                let mut problem = Self::new(Code::HistoryGone, detail);
                problem.0.document.earliest_ts = earliest;
                problem
            }
            JobError::HistoryMoves { .. } | JobError::SnapshotGone { .. } => Self::new(Code::Overloaded, detail),
            JobError::SnapshotTopic { .. } => Self::new(Code::BadRequest, detail),
            JobError::Running { .. } | JobError::Deleted { .. } => Self::new(Code::Fenced, detail),
            JobError::UnknownLetterJob { .. } => Self::new(Code::UnknownId, detail),
            JobError::LetterJobState { .. } => Self::new(Code::BadRequest, detail),
            JobError::LetterJobs { .. } => Self::new(Code::Overloaded, detail),
            JobError::UnfitLetter { .. } => Self::new(Code::SchemaInvalid, detail),
            JobError::Stopped { .. } => Self::new(Code::Overloaded, detail),
            JobError::Unreadable { .. } | JobError::Progress { .. } | JobError::CollectionUnreadable { .. } => {
                Self::new(Code::Internal, detail)
            }
        }
    }
}

impl From<FlowError> for Problem {
    fn from(error: FlowError) -> Self {
        let code = match &error {
            FlowError::Unfit { .. } => Code::BadRequest,
            FlowError::Failed { .. } => Code::Overloaded,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let code = match invalid {
            Invalid::TooLarge { .. } => Code::TooLarge,
            Invalid::Json { .. } => Code::BadJson,
            _ => Code::BadRequest,
        };
        Self::new(code, invalid.to_string())
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        let told = problem::of_auth(&error);
        Self::new(told.code, told.msg)
    }
}

impl From<RetryAfter> for Problem {
    fn from(wait: RetryAfter) -> Self {
        let millis = wait.millis();
        Self::new(Code::RateLimited, format!("too many events; try again in {millis} ms")).retry_after(millis)
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(Code::BadRequest, rejection.body_text())
    }
}

impl From<PositionError> for Problem {
    fn from(error: PositionError) -> Self {
        Self::field(error.field(), error)
    }
}

impl From<FrameError> for Problem {
    fn from(error: FrameError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
