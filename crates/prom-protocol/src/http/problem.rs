//! The answer to a refused request: a problem document (RFC 9457) with one of the protocol's codes.

use prom_types::Expectation;
use serde::{Deserialize, Serialize};

use super::schema::ViolationView;
use crate::ErrorCode;
use crate::frame::err::MaybeStored;

/// A problem document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProblemDocument {
    /// `urn:promethean:problem:` and the code.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(example = "urn:promethean:problem:bad_request"))]
    pub kind: String,
    /// What the code means in general.
    pub title: String,
    #[cfg_attr(feature = "openapi", schema(example = 400))]
    pub status: u16,
    /// What is wrong here, and how to put it right.
    pub detail: String,
    /// The same codes as over WebSocket. A newer hub may have more.
    #[cfg_attr(feature = "openapi", schema(example = "bad_request"))]
    pub code: String,
    /// The item of a batch that is at fault, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub index: Option<u64>,
    /// The parameter, field or attribute that is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub field: Option<String>,
    /// Try again after this many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub retry_after_ms: Option<u64>,
    /// With `history_gone`: the earliest time that has an answer; missing where none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub earliest_ts: Option<i64>,
    /// Whether a failed publish may have been stored anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub stored: Option<MaybeStored>,
    /// With `schema_invalid`: the version of the schema that judged the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub version: Option<u32>,
    /// With `schema_invalid`: where in the payload, as a JSON pointer; empty for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "/cpu_pct"))]
    pub pointer: Option<String>,
    /// With `schema_invalid`: the keyword that refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "maximum"))]
    pub rule: Option<String>,
    /// With `schema_invalid`: what is there, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub value: Option<String>,
    /// With `conflict`: what is so instead of what was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub actual: Option<Expectation>,
    /// Why a schema is incompatible with those before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub violations: Vec<ViolationView>,
}

impl ProblemDocument {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:promethean:problem:{}", code.as_str()),
            title: code.meaning().to_owned(),
            status: code.http_status(),
            detail: detail.into(),
            code: code.as_str().to_owned(),
            index: None,
            field: None,
            retry_after_ms: None,
            earliest_ts: None,
            stored: None,
            version: None,
            pointer: None,
            rule: None,
            value: None,
            actual: None,
            violations: Vec::new(),
        }
    }
}
