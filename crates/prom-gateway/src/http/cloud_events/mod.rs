//! CloudEvents 1.0: taken on publish, offered on export.
//!
//! | attribute | event |
//! | --- | --- |
//! | `id` | the id where it is a UUID, else an id made from `source` and `id`, the text in `x-ce-id` |
//! | `source`, `dataschema` | headers `x-ce-source`, `x-ce-dataschema` |
//! | `type` | the topic, unless the request names one; then `x-ce-type` |
//! | `subject` | the key |
//! | `time` | `ts` |
//! | `datacontenttype` | header `content-type` |
//! | `traceparent`, `tracestate` | the headers of these names |
//! | other extensions | `x-ce-` and their name |
//! | data | the payload; text as a string, bytes as base64 with `x-ce-data: base64` |

mod attributes;
mod binary;
mod schema;
mod structured;
mod time;
mod write;

use http::HeaderMap;
use http::header::CONTENT_TYPE;

pub(super) use binary::{is_binary, read_binary};
pub(super) use schema::CloudEvent;
pub(super) use structured::read_structured;
pub(super) use write::write;

/// Whether the headers of a request announce CloudEvents.
pub(super) fn are_sent(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    is_binary(headers) || kind.to_ascii_lowercase().starts_with("application/cloudevents")
}

/// Says that the payload is base64 of bytes.
const DATA_HEADER: &str = "x-ce-data";
const DATA_BASE64: &str = "base64";
