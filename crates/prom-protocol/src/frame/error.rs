//! Why a frame cannot be read.

use crate::ErrorCode;

/// Nothing of the frame was acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("not a JSON object: {reason}")]
    Json { reason: String },
    #[error("{0}")]
    Request(String),
    #[error("{0}")]
    TooLarge(String),
}

impl FrameError {
    pub(super) fn field(name: &str, problem: &str) -> Self {
        Self::Request(format!("field `{name}` {problem}"))
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Json { .. } => ErrorCode::BadJson,
            Self::Request(_) => ErrorCode::BadRequest,
            Self::TooLarge(_) => ErrorCode::TooLarge,
        }
    }
}

impl From<prom_types::Invalid> for FrameError {
    fn from(invalid: prom_types::Invalid) -> Self {
        match invalid {
            prom_types::Invalid::TooLarge { .. } => Self::TooLarge(invalid.to_string()),
            other => Self::Request(other.to_string()),
        }
    }
}

impl From<serde_json::Error> for FrameError {
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            serde_json::error::Category::Data => Self::Request(error.to_string()),
            _ => Self::Json { reason: error.to_string() },
        }
    }
}
