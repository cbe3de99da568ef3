//! How exported events are written.

use prom_engine::StoredEvent;

use crate::http::cloud_events;
use crate::http::problem::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportFormat {
    Lines,
    Array,
    CloudLines,
    CloudBatch,
}

impl ExportFormat {
    pub fn choose(accepted: &str, asked: Option<&str>, ndjson: bool) -> Result<Self, Problem> {
        let wants_batch = accepted.to_ascii_lowercase().contains("application/cloudevents-batch+json");
        match (asked, ndjson) {
            (None | Some("cloudevents"), _) if wants_batch => Ok(Self::CloudBatch),
            (Some("cloudevents"), true) => Ok(Self::CloudLines),
            (Some("cloudevents"), false) => Ok(Self::CloudBatch),
            (None | Some("events"), true) => Ok(Self::Lines),
            (None | Some("events"), false) => Ok(Self::Array),
            (Some(other), _) => {
                Err(Problem::field("format", format_args!("{other:?} is neither events nor cloudevents")))
            }
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Lines | Self::CloudLines => "application/x-ndjson",
            Self::Array => "application/json",
            Self::CloudBatch => "application/cloudevents-batch+json",
        }
    }

    fn is_array(self) -> bool {
        matches!(self, Self::Array | Self::CloudBatch)
    }

    pub fn begin(self, out: &mut Vec<u8>) {
        if self.is_array() {
            out.push(b'[');
        }
    }

    /// `before` says whether an event was written before this one.
    pub fn event(self, event: &StoredEvent, before: Before, out: &mut Vec<u8>) -> Result<(), String> {
        if self.is_array() && before == Before::Some {
            out.push(b',');
        }
        match self {
            Self::Lines | Self::Array => event.write_json(out),
            Self::CloudLines | Self::CloudBatch => {
                cloud_events::write(event, out).map_err(|error| format!("event {}: {error}", event.id()))?;
            }
        }
        if !self.is_array() {
            out.push(b'\n');
        }
        Ok(())
    }

    pub fn end(self, out: &mut Vec<u8>) {
        if self.is_array() {
            out.push(b']');
        }
    }
}

/// Whether an event needs a comma before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    Some,
}
