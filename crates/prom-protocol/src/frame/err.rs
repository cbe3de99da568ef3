//! `ERR{code, msg, corr?, retry_after_ms?, stored?, topic?, group?}`, with `schema_invalid` also
//! `{version, pointer, rule, value}`, and with `conflict` `{actual}`.
//!
//! An ERR with a `topic` answers no frame: it says that the subscription of that name has ended.

use prom_types::Expectation;
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
    /// With `schema_invalid`: what does not fit.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Box<SchemaMisfit>>,
    /// With `conflict`: what is so instead of what was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Expectation>,
}

/// Where a payload does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaMisfit {
    /// Of the schema that judged it.
    pub version: u32,
    /// Where in the payload, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The keyword that refuses it.
    pub rule: String,
    /// What is there, shortened.
    pub value: String,
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
        Self { code, msg: msg.into(), retry_after_ms: None, stored: None, misfit: None, actual: None }
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
        if let Some(misfit) = &self.misfit {
            object.number("version", misfit.version).text("pointer", &misfit.pointer);
            object.text("rule", &misfit.rule).text("value", &misfit.value);
        }
        if let Some(actual) = self.actual {
            write::expectation(object.name("actual"), actual);
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
        if let Some(misfit) = &self.misfit {
            out.extend_from_slice(b",\"version\":");
            write::number(out, misfit.version);
            for (name, value) in [("pointer", &misfit.pointer), ("rule", &misfit.rule), ("value", &misfit.value)] {
                out.extend_from_slice(b",\"");
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"\":");
                write::text(out, value);
            }
        }
        if let Some(actual) = self.actual {
            out.extend_from_slice(b",\"actual\":");
            write::expectation(out, actual);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_member_by_member_in_both_forms() {
        let misfit = SchemaMisfit { version: 2, pointer: "/a".into(), rule: "type".into(), value: "\"x\"".into() };
        let problem = Problem { misfit: Some(misfit.into()), ..Problem::new(ErrorCode::SchemaInvalid, "no") };
        let (mut frame, mut item) = (Vec::new(), Vec::new());
        problem.write(&mut frame, None);
        problem.write_object(&mut item);
        for text in [&frame, &item] {
            assert_eq!(serde_json::from_slice::<Problem>(text).unwrap(), problem, "{}", String::from_utf8_lossy(text));
        }
        let plain = Problem::new(ErrorCode::Internal, "no");
        item.clear();
        plain.write_object(&mut item);
        assert_eq!(serde_json::from_slice::<Problem>(&item).unwrap(), plain);
    }
}
