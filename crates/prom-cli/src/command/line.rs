//! One line of standard input to publish: a payload, or a whole event.

use prom_types::{EpochMs, EventId, Expectation, Headers, Json, NewEvent, TopicName};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    Payloads,
    Events,
}

/// An event as people and `prom export` write it. Where and when it was stored is decided again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    topic: Option<TopicName>,
    #[serde(borrow)]
    payload: &'a RawValue,
    id: Option<EventId>,
    #[serde(default)]
    exact: bool,
    ts: Option<EpochMs>,
    key: Option<String>,
    #[serde(default)]
    headers: Headers,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    caused_by: Vec<EventId>,
    sid: Option<String>,
    partition: Option<u32>,
    expect: Option<Expectation>,
    #[serde(rename = "stored_ts")]
    _stored_ts: Option<IgnoredAny>,
    #[serde(rename = "offset")]
    _offset: Option<IgnoredAny>,
}

/// What the line does not say comes from the template.
pub fn read(text: &str, kind: LineKind, template: &NewEvent) -> Result<NewEvent, String> {
    let event = match kind {
        LineKind::Payloads => NewEvent { payload: json(text)?, ..template.clone() },
        LineKind::Events => {
            let written: Written<'_> = serde_json::from_str(text).map_err(|error| format!("not an event: {error}"))?;
            NewEvent {
                topic: written.topic.unwrap_or_else(|| template.topic.clone()),
                payload: json(written.payload.get())?,
                id: written.id,
                exact: written.exact,
                ts: written.ts,
                key: written.key,
                headers: written.headers,
                tags: written.tags,
                caused_by: written.caused_by,
                sid: written.sid,
                partition: written.partition,
                dual_write: template.dual_write,
                expect: written.expect,
            }
        }
    };
    event.check().map_err(|error| error.to_string())?;
    Ok(event)
}

fn json(text: &str) -> Result<Json, String> {
    Json::parse(text.trim().to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> NewEvent {
        let mut event = NewEvent::new(TopicName::parse("usual").unwrap(), Json::NULL);
        event.key = Some("k".into());
        event
    }

    #[test]
    fn a_payload_gets_everything_else_from_the_template() {
        let event = read(" {\"n\": 1} ", LineKind::Payloads, &template()).unwrap();
        assert_eq!((event.topic.as_str(), event.key.as_deref()), ("usual", Some("k")));
        assert_eq!(event.payload.as_bytes(), b"{\"n\": 1}");
    }

    #[test]
    fn a_whole_event_says_everything_itself_and_an_exported_one_is_understood() {
        let text = r#"{"id":"0190163d-8694-739b-aea5-966c26f8ad91","ts":1,"stored_ts":2,"topic":"other","partition":0,
            "offset":3,"key":"a","headers":{"x-a":"b"},"tags":["t"],"payload":null}"#;
        let event = read(text, LineKind::Events, &template()).unwrap();
        assert_eq!((event.topic.as_str(), event.key.as_deref(), event.ts), ("other", Some("a"), Some(1)));
        assert_eq!(event.headers.get("x-a"), Some("b"));
        let event = read(r#"{"payload":1}"#, LineKind::Events, &template()).unwrap();
        assert_eq!((event.topic.as_str(), event.key), ("usual", None));
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_sent() {
        assert!(read("nonsense", LineKind::Payloads, &template()).is_err());
        for bad in [
            r#"{"n":1}"#,
            r#"{"payload":1,"heades":{}}"#,
            r#"{"payload":1,"topic":"Bad"}"#,
            r#"{"payload":1,"headers":{"no":"1"}}"#,
        ] {
            assert!(read(bad, LineKind::Events, &template()).is_err(), "{bad} passed");
        }
        let large = format!("\"{}\"", "x".repeat(prom_types::limits::PAYLOAD_BYTES));
        assert!(read(&large, LineKind::Payloads, &template()).unwrap_err().contains("payload"));
    }
}
