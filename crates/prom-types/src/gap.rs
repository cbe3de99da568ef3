//! Telling a reader that events it should have seen are gone.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Offset, TopicName};

/// Offsets that were not settled and cannot be delivered. The reader continues after them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gap {
    /// The topic of the events. In a frame, `topic` is the pattern that was subscribed to.
    #[serde(rename = "event_topic")]
    pub topic: TopicName,
    /// The partition of the topic.
    pub partition: u32,
    /// The first offset that is missing.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub from: Offset,
    /// The first offset after the gap.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub to: Offset,
    /// Why they are gone.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub reason: GapReason,
}

/// Why events are gone. Written as the text that people read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum GapReason {
    /// Retention was faster than the reader.
    Retention,
    /// The topic was deleted.
    Deleted,
    /// The storage no longer holds what was written there; the text names file and position.
    Damage(String),
}

const RETENTION: &str = "retention removed them before they were read";
const DELETED: &str = "the topic was deleted";

impl fmt::Display for GapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retention => RETENTION,
            Self::Deleted => DELETED,
            Self::Damage(place) => place,
        })
    }
}

impl From<String> for GapReason {
    fn from(text: String) -> Self {
        match text.as_str() {
            RETENTION => Self::Retention,
            DELETED => Self::Deleted,
            _ => Self::Damage(text),
        }
    }
}

impl From<GapReason> for String {
    fn from(reason: GapReason) -> Self {
        match reason {
            GapReason::Retention => RETENTION.to_owned(),
            GapReason::Deleted => DELETED.to_owned(),
            GapReason::Damage(place) => place,
        }
    }
}
