//! Keys that a topic makes for events whose publishers give none.

use prom_transform::{Program, ProgramLimits};
use prom_types::{Invalid, NewEvent, TopicName, limits};
use serde_json::Value;

use crate::Error;

/// A compiled program of a topic's settings.
pub(crate) struct KeyProgram(Program);

impl KeyProgram {
    pub fn compile(topic: &TopicName, text: &str) -> Result<Self, Error> {
        let refuse = |error| Error::TopicKey { topic: topic.clone(), reason: format!("is not valid jq: {error}") };
        Program::compile(text, ProgramLimits::default()).map(Self).map_err(refuse)
    }

    /// The key of an event: text as it is, numbers and booleans as they are written; none where the
    /// program gives nothing or `null`.
    pub fn key_of(&self, event: &NewEvent) -> Result<Option<String>, Error> {
        let refuse = |reason: String| Error::TopicKey { topic: event.topic.clone(), reason };
        let made = self.0.first(&as_input(event)).map_err(|error| refuse(format!("failed: {error}")))?;
        let Some(made) = made else {
            return Ok(None);
        };
        let key = match serde_json::from_slice(&made).map_err(|error| refuse(format!("gave no JSON: {error}")))? {
            Value::Null => return Ok(None),
            Value::String(text) => text,
            plain @ (Value::Bool(_) | Value::Number(_)) => plain.to_string(),
            Value::Array(_) | Value::Object(_) => return Err(refuse("gave a list or an object".to_owned())),
        };
        if key.len() > limits::KEY_BYTES {
            Err(Invalid::TooLarge { what: "key", size: key.len(), limit: limits::KEY_BYTES }.into())
        } else {
            Ok(Some(key))
        }
    }
}

impl std::fmt::Debug for KeyProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyProgram({})", self.0.text())
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
    fn what_cannot_be_a_key_is_refused_with_the_reason() {
        let told = key(".payload.tags", json!({"tags": [1]})).unwrap_err().to_string();
        assert!(told.contains("process.state") && told.contains("a list"), "{told}");
        assert!(matches!(key(".payload + 1", json!("text")), Err(Error::TopicKey { .. })));
        assert!(matches!(key(".payload", json!("k".repeat(2000))), Err(Error::Invalid(Invalid::TooLarge { .. }))));
        let told = key(".payload |", json!(1)).unwrap_err().to_string();
        assert!(told.contains("not valid jq") && told.contains("line 1"), "{told}");
    }
}
