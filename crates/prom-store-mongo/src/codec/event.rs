//! One event, inside a batch or as its own document.
//!
//! ```text
//!   { id, ts, key?, sid?, headers?, caused_by?, tags?, payload?,
//!     raw?       the payload's text, if `payload` would not reproduce it, or in place of a payload that takes too much room
//!     raw_meta?  the same for sid, headers, caused_by and tags
//!     exact?     true
//!     offset?    if it is not base + index
//!     stored_ts? if it differs from the batch's
//!     cleaned_at? when compaction first met this tombstone }
//! ```

use mongodb::bson::{RawBsonRef, RawDocument};
use prom_store::record::write_json_string;
use prom_store::{Record, RecordParts, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use super::element::{self, number};
use super::from_json::{Fit, append_members, append_value};
use super::to_json::{NotJson, write_value};

/// Buffers that decoding reuses.
#[derive(Debug, Default)]
pub struct Scratch {
    meta: Vec<u8>,
    payload: Vec<u8>,
}

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BsonForm {
    /// So that people can query it.
    Queryable,
    /// As text, if it would be more than twice as large otherwise.
    Small,
}

/// The record as its own document.
pub fn event_document(record: &Record) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len() + 128);
    let open = element::open(&mut out);
    append_event(&mut out, record, None, None, BsonForm::Queryable);
    element::close(&mut out, open);
    out
}

/// Appends the fields of an event. Values equal to `usual` are left out.
pub fn append_event(
    out: &mut Vec<u8>,
    record: &Record,
    usual: Option<StoredAt>,
    cleaned_at: Option<EpochMs>,
    form: BsonForm,
) {
    element::uuid(out, "id", record.id());
    element::int64(out, "ts", record.ts());
    if let Some(key) = record.key() {
        element::string(out, "key", key);
    }
    let before_meta = out.len();
    let append_raw_meta = |out: &mut Vec<u8>| {
        out.truncate(before_meta);
        element::string(out, "raw_meta", &String::from_utf8_lossy(record.meta()));
    };
    if append_members(out, record.meta()) != Ok(Fit::Same) {
        append_raw_meta(out);
    }
    let payload = record.payload();
    if append_value(out, "payload", payload.as_bytes()) != Ok(Fit::Same) {
        element::string(out, "raw", payload.as_str());
    }
    if form == BsonForm::Small && out.len() - before_meta > 2 * record.len() {
        append_raw_meta(out);
        element::string(out, "raw", payload.as_str());
    }
    if record.is_exact() {
        element::boolean(out, "exact", true);
    }
    if usual.is_none_or(|usual| usual.offset != record.offset()) {
        element::int64(out, "offset", record.offset() as i64);
    }
    if usual.is_none_or(|usual| usual.stored_ts != record.stored_ts()) {
        element::int64(out, "stored_ts", record.stored_ts());
    }
    if let Some(cleaned_at) = cleaned_at {
        element::int64(out, "cleaned_at", cleaned_at);
    }
}

/// Appends the record of an event to `out`.
pub fn read_event(
    event: &RawDocument,
    usual: StoredAt,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Option<EpochMs>, NotJson> {
    scratch.meta.clear();
    scratch.payload.clear();
    let mut raw: Option<&str> = None;
    let mut raw_meta: Option<&str> = None;
    let (mut id, mut ts, mut key, mut exact, mut place, mut cleaned_at) = (None, 0, None, false, usual, None);
    for member in event.iter() {
        let (name, value) = member?;
        match name.as_str() {
            "id" => id = element::id_of(value),
            "ts" => ts = whole(value)?,
            "key" => key = value.as_str(),
            "payload" => write_value(value, &mut scratch.payload)?,
            "raw" => raw = value.as_str(),
            "raw_meta" => raw_meta = value.as_str(),
            "exact" => exact = value.as_bool().unwrap_or(false),
            "offset" => place.offset = whole(value)? as Offset,
            "stored_ts" => place.stored_ts = whole(value)?,
            "cleaned_at" => cleaned_at = Some(whole(value)?),
            name @ ("sid" | "headers" | "caused_by" | "tags") => {
                write_json_string(name, &mut scratch.meta);
                scratch.meta.push(b':');
                write_value(value, &mut scratch.meta)?;
                scratch.meta.push(b',');
            }
            _ => {}
        }
    }
    let parts = RecordParts {
        offset: place.offset,
        stored_ts: place.stored_ts,
        ts,
        id: id.ok_or(NotJson)?,
        key,
        meta: raw_meta.map_or(&scratch.meta, |text| text.as_bytes()),
        payload: raw.map_or(&scratch.payload, |text| text.as_bytes()),
        exact,
    };
    parts.write(out).map_err(|_| NotJson)?;
    Ok(cleaned_at)
}

/// Only the fields that deduplication needs.
pub fn read_id(event: &RawDocument, usual: StoredAt) -> Option<(EventId, StoredAt)> {
    let id = element::id_of(event.get("id").ok()??)?;
    let offset = number(event, "offset").map_or(usual.offset, |offset| offset as Offset);
    Some((id, StoredAt { offset, stored_ts: number(event, "stored_ts").unwrap_or(usual.stored_ts) }))
}

fn whole(value: RawBsonRef<'_>) -> Result<i64, NotJson> {
    match value {
        RawBsonRef::Int64(value) => Ok(value),
        RawBsonRef::Int32(value) => Ok(value.into()),
        _ => Err(NotJson),
    }
}
