//! Binary mode: attributes in `ce-` headers, the data as the body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use percent_encoding::percent_decode;
use prom_types::{Json, NewEvent, TopicName};

use super::attributes::{Attributes, bad};
use super::{DATA_BASE64, DATA_HEADER};
use crate::http::problem::Problem;

const PREFIX: &str = "ce-";

/// A request with one of the required attributes among its headers.
pub(crate) fn is_binary(headers: &HeaderMap) -> bool {
    ["ce-specversion", "ce-id", "ce-type", "ce-source"].iter().any(|name| headers.contains_key(*name))
}

pub(crate) fn read_binary(
    headers: &HeaderMap,
    content_type: &str,
    body: &Bytes,
    topic: Option<&TopicName>,
) -> Result<NewEvent, Problem> {
    let mut attributes = Attributes::default();
    for (header, value) in headers {
        if let Some(name) = header.as_str().strip_prefix(PREFIX) {
            attributes.add(name, decode(name, value)?)?;
        }
    }
    if !content_type.is_empty() {
        let value = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        attributes.add("datacontenttype", value.unwrap_or(content_type).to_owned())?;
    }
    let (payload, is_base64) = payload(content_type, body)?;
    let mut event = attributes.into_event(payload, topic)?;
    if is_base64 {
        event.headers.insert(DATA_HEADER, DATA_BASE64)?;
    }
    Ok(event)
}

/// JSON as it is, text as a string, everything else as base64; nothing is `null`.
fn payload(content_type: &str, body: &Bytes) -> Result<(Json, bool), Problem> {
    if body.is_empty() {
        return Ok((Json::NULL, false));
    }
    if content_type.is_empty() || content_type == "application/json" || content_type.ends_with("+json") {
        return Ok((Json::parse(body.clone())?, false));
    }
    match std::str::from_utf8(body) {
        Ok(text) if content_type.starts_with("text/") => Ok((Json::from_value(&text)?, false)),
        _ => Ok((Json::from_value(&STANDARD.encode(body))?, true)),
    }
}

/// Header values may be quoted, and carry what is not printable ASCII percent-encoded.
fn decode(name: &str, value: &HeaderValue) -> Result<String, Problem> {
    let bytes = value.as_bytes();
    let unquoted = match bytes {
        [b'"', inner @ .., b'"'] => unescape(inner),
        plain => plain.to_vec(),
    };
    let decoded = percent_decode(&unquoted).decode_utf8().map_err(|_| bad(name, "it is not UTF-8"))?;
    Ok(decoded.into_owned())
}

fn unescape(quoted: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => plain.extend(bytes.next()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_are_unquoted_and_decoded() {
        for (written, meant) in [
            ("plain", "plain"),
            ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
            ("\"quoted \\\" one\"", "quoted \" one"),
            ("100%", "100%"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(decode("a", &HeaderValue::from_static(written)).unwrap(), meant);
        }
        assert!(decode("a", &HeaderValue::from_static("%ff")).is_err());
    }

    #[test]
    fn data_becomes_a_payload_by_its_type() {
        let as_text = |content_type: &str, body: &'static [u8]| {
            let (payload, is_base64) = payload(content_type, &Bytes::from_static(body)).unwrap();
            (payload.to_string(), is_base64)
        };
        assert_eq!(as_text("application/json", b"{\"a\":1}"), ("{\"a\":1}".to_owned(), false));
        assert_eq!(as_text("application/vnd.x+json", b"1"), ("1".to_owned(), false));
        assert_eq!(as_text("text/plain", b"hi"), ("\"hi\"".to_owned(), false));
        assert_eq!(as_text("application/octet-stream", &[0xff, 0]), ("\"/wA=\"".to_owned(), true));
        assert_eq!(as_text("", b""), ("null".to_owned(), false));
        assert!(payload("application/json", &Bytes::from_static(b"{")).is_err());
    }
}
