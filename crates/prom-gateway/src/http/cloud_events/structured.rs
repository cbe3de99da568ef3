//! Structured mode: attributes and data in one JSON object.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prom_types::{Json, NewEvent, TopicName};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::attributes::{Attributes, bad};
use super::{DATA_BASE64, DATA_HEADER};
use crate::http::problem::{Code, Problem};

/// As many attributes as an event has headers, and those that become none.
const MOST_MEMBERS: usize = prom_types::limits::HEADERS + 8;

pub(crate) fn read_structured(text: &Bytes, topic: Option<&TopicName>) -> Result<NewEvent, Problem> {
    let Members(members) = serde_json::from_slice(text)
        .map_err(|error| Problem::new(Code::BadJson, format!("the CloudEvent is not a JSON object: {error}")))?;
    let mut attributes = Attributes::default();
    let mut payload = Json::NULL;
    let mut bytes = None;
    for (name, value) in members {
        match name.as_str() {
            "data" => payload = Json::parse(text.slice_ref(value.get().as_bytes()))?,
            "data_base64" => bytes = Some(base64_text(value)?),
            _ => {
                if let Some(value) = attribute_text(&name, value)? {
                    attributes.add(&name, value)?;
                }
            }
        }
    }
    if let Some(encoded) = &bytes {
        if !payload.is_null() {
            return Err(bad("data_base64", "there is data as well; send one of them"));
        }
        payload = Json::from_value(encoded)?;
    }
    let mut event = attributes.into_event(payload, topic)?;
    if bytes.is_some() {
        event.headers.insert(DATA_HEADER, DATA_BASE64)?;
    }
    Ok(event)
}

/// The object's members as text. Reading ends with the first one too many.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;
        impl<'t> Visitor<'t> for Counting {
            type Value = Members<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Members<'t>, A::Error> {
                let mut found = Vec::new();
                while let Some(member) = members.next_entry()? {
                    found.push(member);
                    if found.len() > MOST_MEMBERS {
                        return Err(A::Error::custom(format_args!("more than {MOST_MEMBERS} members")));
                    }
                }
                Ok(Members(found))
            }
        }
        deserializer.deserialize_map(Counting)
    }
}

/// Attributes are strings, booleans and numbers; `null` is as good as not there.
fn attribute_text(name: &str, value: &RawValue) -> Result<Option<String>, Problem> {
    match value.get().as_bytes().first() {
        Some(b'"') => {
            let text = serde_json::from_str(value.get()).map_err(|error| bad(name, &error.to_string()))?;
            Ok(Some(text))
        }
        Some(b'{' | b'[') => Err(bad(name, "it must be a string, a number or a boolean")),
        _ if value.get() == "null" => Ok(None),
        _ => Ok(Some(value.get().to_owned())),
    }
}

fn base64_text(value: &RawValue) -> Result<String, Problem> {
    let text: String = serde_json::from_str(value.get()).map_err(|_| bad("data_base64", "it must be a string"))?;
    match STANDARD.decode(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(bad("data_base64", &error.to_string())),
    }
}
