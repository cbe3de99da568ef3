//! In which form events come, and taking them out of it.

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use prom_protocol::frame::publish::Publish;
use prom_types::{NewEvent, TopicName};
use serde::Deserializer as _;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::http::body::check_object;
use crate::http::cloud_events;
use crate::http::extract::topic_name;
use crate::http::limits::BATCH_ITEMS;
use crate::http::problem::{Code, Problem};

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    One,
    Array,
    Lines,
    CloudBinary,
    CloudStructured,
    CloudBatch,
}

impl Form {
    /// The content type decides, and then the first byte: tools often send JSON under another type.
    pub fn of(headers: &HeaderMap, text: &[u8]) -> Self {
        match essence(headers).as_str() {
            "application/cloudevents+json" => Self::CloudStructured,
            "application/cloudevents-batch+json" => Self::CloudBatch,
            _ if cloud_events::is_binary(headers) => Self::CloudBinary,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/json-seq" => Self::Lines,
            _ if text.trim_ascii_start().starts_with(b"[") => Self::Array,
            _ => Self::One,
        }
    }

    /// Whether the beginning of a body shows that it holds one event.
    pub fn is_surely_single(headers: &HeaderMap, beginning: &[u8]) -> bool {
        !beginning.trim_ascii_start().is_empty() && Self::of(headers, beginning).is_single()
    }

    /// Answered by one receipt.
    pub fn is_single(self) -> bool {
        matches!(self, Self::One | Self::CloudBinary | Self::CloudStructured)
    }

    /// The events in it, each read on its own. Fails as a whole where the items cannot be told apart.
    pub fn read(
        self,
        headers: &HeaderMap,
        text: &Bytes,
        topic: Option<&TopicName>,
        item_limit: usize,
    ) -> Result<Vec<Result<NewEvent, Problem>>, Problem> {
        let within =
            |item: &Bytes| if item.len() > item_limit { Err(too_large(item.len(), item_limit)) } else { Ok(()) };
        let plain = |item: &Bytes| within(item).and_then(|()| read_one(item));
        let cloud = |item: &Bytes| within(item).and_then(|()| cloud_events::read_structured(item, topic));
        Ok(match self {
            Self::One => vec![plain(text)],
            Self::Array => array(text)?.iter().map(plain).collect(),
            Self::Lines => lines(text)?.iter().map(plain).collect(),
            Self::CloudBinary => {
                vec![within(text).and_then(|()| cloud_events::read_binary(headers, &essence(headers), text, topic))]
            }
            Self::CloudStructured => vec![cloud(text)],
            Self::CloudBatch => array(text)?.iter().map(cloud).collect(),
        })
    }
}

/// The content type without its parameters.
fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// `{topic, payload, opts?}`.
fn read_one(text: &Bytes) -> Result<NewEvent, Problem> {
    check_object(text)?;
    let publish = Publish::read_body(text)?;
    let topic = topic_name(&publish.topic)?;
    Ok(publish.into_event(topic))
}

fn array(text: &Bytes) -> Result<Vec<Bytes>, Problem> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let mut items = BatchItems(Vec::new());
    let read = json.deserialize_seq(&mut items).and_then(|()| json.end());
    few_enough(items.0.len())?;
    read.map_err(|error| Problem::new(Code::BadJson, format!("the body is not a JSON array: {error}")))?;
    Ok(items.0.into_iter().map(|item| text.slice_ref(item.get().as_bytes())).collect())
}

/// Items as text. Reading ends with the first one too many.
struct BatchItems<'t>(Vec<&'t RawValue>);

impl<'t> Visitor<'t> for &mut BatchItems<'t> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.0.push(item);
            if self.0.len() > BATCH_ITEMS {
                return Err(A::Error::custom("too many events"));
            }
        }
        Ok(())
    }
}

/// Lines that are not empty. A record separator before an item (RFC 7464) is taken off.
fn lines(text: &Bytes) -> Result<Vec<Bytes>, Problem> {
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.trim_ascii());
    let lines = lines.map(|line| line.strip_prefix(b"\x1e").unwrap_or(line)).filter(|line| !line.is_empty());
    let lines: Vec<Bytes> = lines.take(BATCH_ITEMS + 1).map(|line| text.slice_ref(line)).collect();
    few_enough(lines.len())?;
    Ok(lines)
}

fn few_enough(items: usize) -> Result<(), Problem> {
    if items > BATCH_ITEMS {
        Err(Problem::new(Code::TooLarge, format!("more than {BATCH_ITEMS} events at once; send several batches")))
    } else {
        Ok(())
    }
}

fn too_large(size: usize, limit: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("an event of {size} bytes; at most {limit} fit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(content_type: &'static str, text: &str) -> Form {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(content_type));
        Form::of(&headers, text.as_bytes())
    }

    #[test]
    fn the_content_type_decides_and_then_the_first_byte() {
        assert_eq!(form("application/json", "{}"), Form::One);
        assert_eq!(form("application/json", " \n[1]"), Form::Array);
        assert_eq!(form("application/x-www-form-urlencoded", "{}"), Form::One);
        assert_eq!(form("application/x-ndjson; charset=utf-8", "[1]"), Form::Lines);
        assert_eq!(form("Application/CloudEvents+JSON", "{}"), Form::CloudStructured);
        assert_eq!(form("application/cloudevents-batch+json", "[]"), Form::CloudBatch);
    }

    #[test]
    fn lines_may_be_empty_and_begin_with_a_record_separator() {
        let found = lines(&Bytes::from_static(b"\x1e1\n\n 2 \r\n\x1e3")).unwrap();
        assert_eq!(found, [&b"1"[..], b"2", b"3"]);
    }
}
