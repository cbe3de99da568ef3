//! Rows as MongoDB has them.
//!
//! Keys and ids are texts as they are, and anything else as JSON. JSON is what the driver writes: numbers, texts, and
//! `{"$oid": …}` and the like for what JSON has no form of.

use mongodb::bson::{Bson, RawBsonRef, RawDocument};
use prom_jobs::FlowRow;
use prom_types::{EpochMs, Headers, Json};

use super::super::row::{OutboxRow, RowId};

/// A row that is a document, or an element of an array.
pub fn row_of(row: &RawDocument, document: Option<&Bson>) -> OutboxRow {
    let id = field(row, "_id").and_then(|id| Bson::try_from(id).ok());
    let payload = match &id {
        Some(_) => payload(row),
        None => Err("the row has no _id; give each row one of its own, a UUID as text".to_owned()),
    };
    let id = id.unwrap_or(Bson::Null);
    let document_id = document.map(words_of);
    let key = field(row, "key").and_then(in_words).or_else(|| document_id.clone());
    OutboxRow {
        topic: text(row, "topic").unwrap_or_default(),
        payload,
        headers: headers(row),
        lane: document_id.or_else(|| key.clone()),
        key,
        ts: number(row, "ts").unwrap_or_default(),
        attempts: attempts(row),
        id: RowId { bson: Some(id.clone()), document: document.cloned(), ..RowId::text(words_of(&id)) },
    }
}

/// For people.
pub fn shown(row: &RawDocument, document: Option<&Bson>) -> FlowRow {
    let known = row_of(row, document);
    FlowRow {
        id: known.id.text,
        topic: known.topic,
        key: known.key,
        status: text(row, "status").unwrap_or_else(|| "pending".to_owned()),
        ts: known.ts,
        attempts: known.attempts,
        last_err: text(row, "last_err"),
    }
}

pub fn retry_at(row: &RawDocument) -> Option<EpochMs> {
    (text(row, "status").as_deref() != Some("error")).then(|| number(row, "lease_until").unwrap_or_default())
}

pub fn field<'a>(row: &'a RawDocument, name: &str) -> Option<RawBsonRef<'a>> {
    row.get(name).ok().flatten().filter(|value| !matches!(value, RawBsonRef::Null))
}

/// Numbers of any kind: JavaScript writes large ones as floating-point numbers. A date counts as its milliseconds.
pub fn number(row: &RawDocument, name: &str) -> Option<i64> {
    match field(row, name)? {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) => Some(number as i64),
        RawBsonRef::DateTime(date) => Some(date.timestamp_millis()),
        _ => None,
    }
}

/// What a person may mean by such words: the text, or the value that is written so.
pub fn meanings_of(words: &str) -> impl Iterator<Item = Bson> {
    [Some(Bson::from(words)), serde_json::from_str::<Bson>(words).ok()].into_iter().flatten()
}

pub fn words_of(value: &Bson) -> String {
    match value {
        Bson::String(text) => text.clone(),
        // Writing into memory fails for no value.
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn attempts(row: &RawDocument) -> u32 {
    number(row, "attempts").and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or_default()
}

fn text(row: &RawDocument, name: &str) -> Option<String> {
    field(row, name).and_then(|value| value.as_str().map(str::to_owned))
}

fn in_words(value: RawBsonRef<'_>) -> Option<String> {
    match value {
        RawBsonRef::String(text) => Some(text.to_owned()),
        other => Bson::try_from(other).ok().map(|value| words_of(&value)),
    }
}

/// A row without the field has no payload; `null` is a tombstone.
fn payload(row: &RawDocument) -> Result<Json, String> {
    match row.get("payload") {
        Ok(Some(payload)) => Json::from_value(&payload).map_err(|error| error.to_string()),
        Ok(None) => Err("the row has no payload; null is one".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn headers(row: &RawDocument) -> Result<Headers, String> {
    let mut headers = Headers::default();
    let Some(value) = field(row, "headers") else {
        return Ok(headers);
    };
    let document = value.as_document().ok_or("headers are an object of names and texts")?;
    for entry in document {
        let (name, value) = entry.map_err(|error| error.to_string())?;
        let value = value.as_str().ok_or_else(|| format!("header {name} is no text"))?;
        headers.insert(name.as_str(), value).map_err(|error| error.to_string())?;
    }
    Ok(headers)
}
