//! `ERR{code, msg, corr?, retry_after_ms?, stored?, topic?, group?}`.
//!
//! An ERR with a `topic` answers no frame: it says that the subscription of that name has ended.

use serde::{Deserialize, Serialize};

use super::write::{self, Object};
use super::{Corr, SubscriptionName};
use crate::ErrorCode;

/// A refusal, as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub code: ErrorCode,
    pub msg: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// With `publish_failed`: whether the event may have been stored anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<MaybeStored>,
}

/// Whether an event may be stored although publishing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum MaybeStored {
    No,
    Unknown,
}

impl Problem {
    pub fn new(code: ErrorCode, msg: impl Into<String>) -> Self {
        Self { code, msg: msg.into(), retry_after_ms: None, stored: None }
    }

    pub fn rate_limited(retry_after_ms: u64, what: &str) -> Self {
        let msg = format!("too many events {what}; try again in {retry_after_ms} ms");
        Self { retry_after_ms: Some(retry_after_ms), ..Self::new(ErrorCode::RateLimited, msg) }
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "ERR", corr);
        self.write_members(&mut object);
        object.end();
    }

    /// The hub ended this subscription by itself.
    pub fn write_for(&self, out: &mut Vec<u8>, name: &SubscriptionName) {
        let mut object = Object::frame(out, "ERR", None);
        name.write(&mut object);
        self.write_members(&mut object);
        object.end();
    }

    fn write_members(&self, object: &mut Object<'_>) {
        object.text("code", self.code.as_str()).text("msg", &self.msg);
        if let Some(retry_after_ms) = self.retry_after_ms {
            object.number("retry_after_ms", retry_after_ms);
        }
        if let Some(stored) = self.stored {
            object.text("stored", stored.as_str());
        }
    }

    /// As an item in a list of results.
    pub(super) fn write_object(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"code\":\"");
        out.extend_from_slice(self.code.as_str().as_bytes());
        out.extend_from_slice(b"\",\"msg\":");
        write::text(out, &self.msg);
        if let Some(retry_after_ms) = self.retry_after_ms {
            out.extend_from_slice(b",\"retry_after_ms\":");
            write::number(out, retry_after_ms);
        }
        if let Some(stored) = self.stored {
            out.extend_from_slice(b",\"stored\":");
            write::text(out, stored.as_str());
        }
        out.push(b'}');
    }
}

impl MaybeStored {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl From<super::FrameError> for Problem {
    fn from(error: super::FrameError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
