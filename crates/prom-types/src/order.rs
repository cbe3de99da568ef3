//! In which order a group wants its events.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an unsettled event holds back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Nothing: events come by offset while nothing fails, and a failed one comes again later.
    #[default]
    None,
    /// All later events of its key.
    Key,
}

impl Order {
    /// Its name in options and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Key => "key",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
