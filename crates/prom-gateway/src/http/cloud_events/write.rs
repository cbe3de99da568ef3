//! An event as a CloudEvent in structured mode.

use prom_engine::StoredEvent;
use prom_types::{EventId, Headers};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{DATA_BASE64, DATA_HEADER, time};

/// What an event carries besides its fixed part.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    sid: Option<String>,
    headers: Headers,
    caused_by: Vec<EventId>,
    tags: Vec<String>,
}

/// Appends `event` as one JSON object. What it was published with as a CloudEvent comes back; other
/// headers become extensions without their dashes, which CloudEvents do not have.
pub(crate) fn write(event: &StoredEvent, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let meta = meta_of(event)?;
    let headers = &meta.headers;
    let id = event.id().to_string();
    let mut object = Object { out, opening: b"{" };
    object.member("specversion", "1.0")?;
    object.member("id", headers.get("x-ce-id").unwrap_or(&id))?;
    let source = format!("urn:promethean:topic:{}", event.topic());
    object.member("source", headers.get("x-ce-source").unwrap_or(&source))?;
    object.member("type", headers.get("x-ce-type").unwrap_or(event.topic().as_str()))?;
    object.member("time", &time::format(event.ts()))?;
    if let Some(subject) = event.key().filter(|key| !key.is_empty()) {
        object.member("subject", subject)?;
    }
    object.member("datacontenttype", headers.get("content-type").unwrap_or("application/json"))?;
    if let Some(schema) = headers.get("x-ce-dataschema") {
        object.member("dataschema", schema)?;
    }
    write_extensions(&mut object, event, &meta)?;
    let payload = event.json();
    let data: &RawValue = serde_json::from_slice(payload.as_bytes())?;
    match headers.get(DATA_HEADER) {
        Some(DATA_BASE64) => object.member("data_base64", data)?,
        _ => object.member("data", data)?,
    }
    object.out.push(b'}');
    Ok(())
}

/// Where it is, what led to it, and whatever headers it has. A name is used once; the first wins.
fn write_extensions(object: &mut Object<'_>, event: &StoredEvent, meta: &Meta) -> Result<(), serde_json::Error> {
    let mut used: Vec<String> = Vec::new();
    let mut extension = |name: String, value: &str| {
        if name.is_empty() || is_fixed(&name) || used.contains(&name) {
            return Ok(());
        }
        object.member(&name, value)?;
        used.push(name);
        Ok(())
    };
    extension("partition".to_owned(), &event.partition().to_string())?;
    extension("offset".to_owned(), &event.offset().to_string())?;
    extension("storedtime".to_owned(), &time::format(event.stored_ts()))?;
    if let Some(sid) = &meta.sid {
        extension("sid".to_owned(), sid)?;
    }
    if !meta.caused_by.is_empty() {
        let causes: Vec<String> = meta.caused_by.iter().map(ToString::to_string).collect();
        extension("causedby".to_owned(), &causes.join(","))?;
    }
    if !meta.tags.is_empty() {
        extension("tags".to_owned(), &meta.tags.join(","))?;
    }
    for (name, value) in meta.headers.iter() {
        match name {
            "content-type" | "x-ce-id" | "x-ce-source" | "x-ce-type" | "x-ce-dataschema" | DATA_HEADER => {}
            name => {
                let name = name.strip_prefix("x-ce-").unwrap_or(name);
                extension(name.replace('-', ""), value)?;
            }
        }
    }
    Ok(())
}

fn is_fixed(name: &str) -> bool {
    let fixed = ["specversion", "id", "source", "type", "time", "subject", "datacontenttype", "dataschema"];
    fixed.contains(&name) || name.starts_with("data")
}

fn meta_of(event: &StoredEvent) -> Result<Meta, serde_json::Error> {
    let members = event.record().meta();
    if members.is_empty() {
        return Ok(Meta::default());
    }
    let members = members.strip_suffix(b",").unwrap_or(members);
    serde_json::from_slice(&[b"{", members, b"}"].concat())
}

struct Object<'a> {
    out: &'a mut Vec<u8>,
    opening: &'static [u8],
}

impl Object<'_> {
    fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.out.extend_from_slice(self.opening);
        self.opening = b",";
        serde_json::to_writer(&mut *self.out, name)?;
        self.out.push(b':');
        serde_json::to_writer(&mut *self.out, value)
    }
}
