//! What a database of an outbox can fail with.

use std::time::Duration;

/// The database did not do it. Nothing was published that would not be published anyway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", .fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default())]
pub struct SourceError {
    /// What failed. Never holds an address.
    pub reason: String,
    /// What to do, where that is known.
    pub fix: Option<String>,
}

impl SourceError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), fix: None }
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub(super) fn silent(what: &str, after: Duration) -> Self {
        Self::new(format!("{what}: the database did not answer within {} s", after.as_secs()))
            .fix("look at the database and the network between")
    }
}

impl From<mongodb::error::Error> for SourceError {
    fn from(error: mongodb::error::Error) -> Self {
        Self::new(format!("MongoDB: {}", error.kind))
    }
}

impl From<sqlx::Error> for SourceError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            // Its text may repeat the address, which holds a password.
            sqlx::Error::Configuration(_) => {
                Self::new("the url cannot be read").fix("write postgres://USER:PASSWORD@HOST/DATABASE or sqlite:FILE")
            }
            error => Self::new(error.to_string()),
        }
    }
}
