//! Payloads above the size limit: named fields of the document, or where it is.

use mongodb::bson::{RawBsonRef, RawDocument};
use prom_store::record::write_json_string;
use prom_types::limits::PAYLOAD_BYTES;
use prom_types::{Json, NewEvent};

use super::change::Change;
use super::extended_json::{UnreadableBson, write_value};
use super::options::{NumberForm, Oversize};

/// What was done about the size, on the event.
pub(crate) const OVERSIZE_HEADER: &str = "x-oversize";

/// A payload that fits.
pub(crate) struct FittedPayload {
    pub payload: Json,
    pub how: OversizeFit,
}

/// How it came to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OversizeFit {
    Projected,
    Pointer,
    /// As a pointer, and among the dead letters.
    Letter,
}

impl OversizeFit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Projected => "project",
            Self::Pointer | Self::Letter => "pointer",
        }
    }
}

/// Follows the policy for a change whose payload has so many bytes.
pub(crate) fn fit(
    change: &Change<'_>,
    bytes: usize,
    policy: &Oversize,
    numbers: NumberForm,
) -> Result<FittedPayload, UnreadableBson> {
    if let (Oversize::Project(fields), Some(document)) = (policy, change.document) {
        let projected = project(document, fields, numbers)?;
        if projected.len() <= PAYLOAD_BYTES {
            return Ok(FittedPayload { payload: Json::trusted(projected.into()), how: OversizeFit::Projected });
        }
    }
    let how = if *policy == Oversize::DeadLetter { OversizeFit::Letter } else { OversizeFit::Pointer };
    Ok(FittedPayload { payload: pointer(change, bytes)?, how })
}

/// Marks the event.
pub(crate) fn mark(event: &mut NewEvent, how: OversizeFit) {
    // A name and a value of ours, among a handful of headers: it cannot be refused.
    drop(event.headers.insert(OVERSIZE_HEADER, how.as_str()));
}

/// `_id` and the named fields, as they stand in the document.
fn project(document: &RawDocument, fields: &[String], numbers: NumberForm) -> Result<Vec<u8>, UnreadableBson> {
    let mut out = vec![b'{'];
    for member in document.iter() {
        let (name, value) = member?;
        let name = name.as_str();
        if name != "_id" && !fields.iter().any(|field| field == name) {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        write_json_string(name, &mut out);
        out.push(b':');
        write_value(value, numbers, &mut out)?;
    }
    out.push(b'}');
    Ok(out)
}

/// Where the document is, and how large the payload would have been.
pub(crate) fn pointer(change: &Change<'_>, bytes: usize) -> Result<Json, UnreadableBson> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(b"{\"database\":");
    write_json_string(change.database, &mut out);
    out.extend_from_slice(b",\"collection\":");
    write_json_string(change.collection, &mut out);
    out.extend_from_slice(b",\"_id\":");
    write_value(change.id.unwrap_or(RawBsonRef::Null), NumberForm::Typed, &mut out)?;
    out.extend_from_slice(format!(",\"bytes\":{bytes}}}").as_bytes());
    Ok(Json::trusted(out.into()))
}
