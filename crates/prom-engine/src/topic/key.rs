//! Keys that a topic makes for events whose publishers give none.
//!
//! The program runs inside of publishing, on a thread that serves others: an event's partition is known when it is admitted,
//! and events stay in their order. So it may use no more than [`KEY_PROGRAM`] allows, which takes microseconds. A plain field
//! of the payload is found without running anything.

use prom_transform::{Program, RunError};
use prom_types::{Invalid, NewEvent, TopicName, limits};
use serde_json::Value;

use super::key_path::{Field, FieldPath};
use crate::Error;
use crate::limits::KEY_PROGRAM;

/// A compiled program of a topic's settings.
pub(crate) struct KeyProgram {
    program: Program,
    field: Option<FieldPath>,
}

impl KeyProgram {
    pub fn compile(topic: &TopicName, text: &str) -> Result<Self, Error> {
        let refuse = |error| Error::TopicKey { topic: topic.clone(), reason: format!("is not valid jq: {error}") };
        let program = Program::compile(text, KEY_PROGRAM).map_err(refuse)?;
        Ok(Self { program, field: FieldPath::parse(text) })
    }

    /// The key of an event: text as it is, numbers and booleans as they are written; none where the
    /// program gives nothing or `null`.
    pub fn key_of(&self, event: &NewEvent) -> Result<Option<String>, Error> {
        let key = match self.field.as_ref().map(|field| field.find(&event.payload)) {
            Some(Field::Key(key)) => key,
            Some(Field::Other) | None => self.run(event)?,
        };
        match key {
            Some(key) if key.len() > limits::KEY_BYTES => {
                Err(Invalid::TooLarge { what: "key", size: key.len(), limit: limits::KEY_BYTES }.into())
            }
            key => Ok(key),
        }
    }

    fn run(&self, event: &NewEvent) -> Result<Option<String>, Error> {
        let refuse = |reason: String| Error::TopicKey { topic: event.topic.clone(), reason };
        let made = self.program.first(&as_input(event)).map_err(|error| match error {
            RunError::Limit(exceeded) => refuse(format!(
                "costs too much: it used up the {exceeded} that a key may take; make it of a few fields, or give keys when publishing"
            )),
            error => refuse(format!("failed: {error}")),
        })?;
        let Some(made) = made else {
            return Ok(None);
        };
        match serde_json::from_slice(&made).map_err(|error| refuse(format!("gave no JSON: {error}")))? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            plain @ (Value::Bool(_) | Value::Number(_)) => Ok(Some(plain.to_string())),
            Value::Array(_) | Value::Object(_) => Err(refuse("gave a list or an object".to_owned())),
        }
    }
}

impl std::fmt::Debug for KeyProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyProgram({})", self.program.text())
    }
}

/// What is known of the event before it is stored.
fn as_input(event: &NewEvent) -> Vec<u8> {
    let topic: &TopicName = &event.topic;
    let known = serde_json::json!({
        "topic": topic.as_str(),
        "id": event.id.map(|id| id.to_string()),
        "ts": event.ts,
        "sid": event.sid,
        "headers": event.headers,
        "tags": event.tags,
    });
    let mut input = known.to_string().into_bytes();
    input.pop();
    input.extend_from_slice(b",\"payload\":");
    input.extend_from_slice(event.payload.as_bytes());
    input.push(b'}');
    input
}

#[cfg(test)]
mod tests {
    use prom_types::Json;
    use serde_json::json;

    use super::*;

    fn key(program: &str, payload: Value) -> Result<Option<String>, Error> {
        let event = NewEvent::new(TopicName::parse("process.state").unwrap(), payload);
        KeyProgram::compile(&event.topic, program)?.key_of(&event)
    }

    #[test]
    fn a_key_is_text_or_a_plain_value_and_nothing_is_no_key() {
        let payload = || json!({"id": "web:1", "pid": 7, "on": true, "tags": [1]});
        assert_eq!(key(".payload.id", payload()).unwrap().as_deref(), Some("web:1"));
        assert_eq!(key(".payload.pid", payload()).unwrap().as_deref(), Some("7"));
        assert_eq!(key("\"\\(.topic)/\\(.payload.on)\"", payload()).unwrap().as_deref(), Some("process.state/true"));
        assert_eq!(key(".payload.missing", payload()).unwrap(), None);
        assert_eq!(key("empty", payload()).unwrap(), None);
    }

    #[test]
    fn a_field_is_the_same_key_with_and_without_the_interpreter() {
        let payloads = [
            r#"{"a": {"b": "text"}}"#,
            r#"{"a": {"b": "\u00e9\n"}}"#,
            r#"{"a": {"b": 7}}"#,
            r#"{"a": {"b": -7}}"#,
            r#"{"a": {"b": 18446744073709551615}}"#,
            r#"{"a": {"b": 184467440737095516150}}"#,
            r#"{"a": {"b": 1.50}}"#,
            r#"{"a": {"b": 1e3}}"#,
            r#"{"a": {"b": -0}}"#,
            r#"{"a": {"b": true}}"#,
            r#"{"a": {"b": null}}"#,
            r#"{"a": {"b": [1]}}"#,
            r#"{"a": {"b": {}}}"#,
            r#"{"a": {"b": 1}, "a": {"c": 2}}"#,
            r#"{"a": {"b": 1, "b": 2}}"#,
            r#"{"a": {}}"#,
            r#"{"a": null}"#,
            r#"{"a": 7}"#,
            r#"{"a": "text"}"#,
            r#"{"a": [1, {"b": 2}]}"#,
            r#"[{"a": {"b": 1}}]"#,
            "null",
            "7",
        ];
        for payload in payloads {
            let payload = Json::parse(payload).unwrap();
            let event = NewEvent::new(TopicName::parse("process.state").unwrap(), payload);
            // The parentheses make it a program.
            let [field, program] = [".payload.a.b", "(.payload.a.b)"].map(|text| {
                let key = KeyProgram::compile(&event.topic, text).unwrap().key_of(&event);
                key.map_err(|error| error.to_string())
            });
            assert_eq!(field, program, "{:?}", event.payload);
        }
    }

    #[test]
    fn what_people_write_costs_little_and_what_burns_is_refused() {
        let payload = json!({"host": "web-1.example", "name": "nginx", "pid": 4711, "path": "/a/b/c"});
        let fits = [
            r#"[.payload.host, .payload.name, (.payload.pid | tostring)] | join(":")"#,
            r#""\(.payload.host):\(.payload.name):\(.payload.pid)""#,
            r#".payload.host | ascii_downcase | ltrimstr("web-") | split(".")[0]"#,
            r#".payload.path | sub("^/"; "") | gsub("/"; ".")"#,
            r#".payload.host | capture("^(?<name>[a-z]+)-(?<number>[0-9]+)") | .name"#,
            r#"if .payload.pid > 1000 then "user" else "system" end"#,
            r#".payload | {host, name} | tojson | @base64"#,
        ];
        for program in fits {
            assert!(key(program, payload.clone()).unwrap().is_some(), "{program}");
        }
        let burns = [
            "[range(100000000)]",
            "last(range(100000))",
            "def f: f; f",
            "\"a\" * 100000000",
            "[limit(5000; repeat(1))] | length",
            r#"("a" * 60000) | test("(a{0,30}){0,30}b")"#,
        ];
        for program in burns {
            let told = key(program, payload.clone()).unwrap_err().to_string();
            assert!(told.contains("process.state") && told.contains("costs too much"), "{program}: {told}");
        }
    }

    #[test]
    fn what_cannot_be_a_key_is_refused_with_the_reason() {
        let told = key(".payload.tags", json!({"tags": [1]})).unwrap_err().to_string();
        assert!(told.contains("process.state") && told.contains("a list"), "{told}");
        assert!(matches!(key(".payload + 1", json!("text")), Err(Error::TopicKey { .. })));
        assert!(matches!(key(".payload", json!("k".repeat(2000))), Err(Error::Invalid(Invalid::TooLarge { .. }))));
        let told = key(".payload |", json!(1)).unwrap_err().to_string();
        assert!(told.contains("not valid jq") && told.contains("line 1"), "{told}");
    }
}
