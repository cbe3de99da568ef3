//! Reading single fields: each error names the field.

use std::borrow::Cow;

use prom_types::{EventId, Expectation, Headers, read_list};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::FrameError;

pub type Raw<'a> = Option<&'a RawValue>;

/// Keeps a `null` apart from a field that is not there.
pub fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Raw<'a>, D::Error> {
    <&'a RawValue>::deserialize(deserializer).map(Some)
}

pub fn required<'a, T>(
    name: &str,
    raw: Raw<'a>,
    read: impl FnOnce(&str, &'a RawValue) -> Result<T, FrameError>,
) -> Result<T, FrameError> {
    match raw {
        Some(raw) => read(name, raw),
        None => Err(FrameError::Request(format!("field `{name}` is missing"))),
    }
}

pub fn optional<'a, T>(
    name: &str,
    raw: Raw<'a>,
    read: impl FnOnce(&str, &'a RawValue) -> Result<T, FrameError>,
) -> Result<Option<T>, FrameError> {
    raw.map(|raw| read(name, raw)).transpose()
}

/// Borrowed unless it has escapes.
pub fn text<'a>(name: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, FrameError> {
    let json = raw.get();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        Some(_) => serde_json::from_str(json).map(Cow::Owned).map_err(|_| FrameError::field(name, "must be a string")),
        None => Err(FrameError::field(name, "must be a string")),
    }
}

pub fn owned_text(name: &str, raw: &RawValue) -> Result<String, FrameError> {
    text(name, raw).map(Cow::into_owned)
}

pub fn flag(name: &str, raw: &RawValue) -> Result<bool, FrameError> {
    raw.get().parse().map_err(|_| FrameError::field(name, "must be true or false"))
}

pub fn number<T: std::str::FromStr>(name: &str, raw: &RawValue) -> Result<T, FrameError> {
    raw.get().parse().map_err(|_| FrameError::field(name, "must be a whole number in range"))
}

/// Of more than `MOST` one too many is kept.
pub fn texts<const MOST: usize>(name: &str, raw: &RawValue) -> Result<Vec<String>, FrameError> {
    let list = read_list::<MOST, String, _>(&mut serde_json::Deserializer::from_str(raw.get()));
    list.map_err(|_| FrameError::field(name, "must be a list of strings"))
}

pub fn numbers(name: &str, raw: &RawValue) -> Result<Vec<u32>, FrameError> {
    serde_json::from_str(raw.get()).map_err(|_| FrameError::field(name, "must be a list of whole numbers in range"))
}

/// Any JSON.
pub fn any(name: &str, raw: &RawValue) -> Result<serde_json::Value, FrameError> {
    serde_json::from_str(raw.get()).map_err(|error| FrameError::field(name, &format!("is wrong: {error}")))
}

/// One of a few words; the error says which there are.
pub fn choice<T: DeserializeOwned>(name: &str, raw: &RawValue) -> Result<T, FrameError> {
    serde_json::from_str(raw.get()).map_err(|error| {
        let told = error.to_string();
        // The value is one word: the position of the error in it says nothing.
        let reason = told.split(" at line ").next().unwrap_or_default();
        FrameError::field(name, &format!("is wrong: {reason}"))
    })
}

pub fn event_id(name: &str, raw: &RawValue) -> Result<EventId, FrameError> {
    let id = text(name, raw)?;
    EventId::parse(&id).map_err(|error| FrameError::field(name, &error.to_string()))
}

pub fn event_ids<const MOST: usize>(name: &str, raw: &RawValue) -> Result<Vec<EventId>, FrameError> {
    let ids = texts::<MOST>(name, raw)?;
    let parse = |id: &String| EventId::parse(id).map_err(|error| FrameError::field(name, &error.to_string()));
    ids.iter().map(parse).collect()
}

pub fn headers(name: &str, raw: &RawValue) -> Result<Headers, FrameError> {
    serde_json::from_str(raw.get()).map_err(|error| FrameError::field(name, &format!("is wrong: {error}")))
}

pub fn expectation(name: &str, raw: &RawValue) -> Result<Expectation, FrameError> {
    let form = r#"must be {"offset": N}, {"key_offset": N} or {"key_offset": null}"#;
    serde_json::from_str(raw.get()).map_err(|_| FrameError::field(name, form))
}

/// An object whose own fields are read one by one.
pub fn object<'a, T: Deserialize<'a>>(name: &str, raw: &'a RawValue) -> Result<T, FrameError> {
    if !raw.get().starts_with('{') {
        return Err(FrameError::field(name, "must be an object"));
    }
    serde_json::from_str(raw.get()).map_err(|error| FrameError::field(name, &format!("is wrong: {error}")))
}
