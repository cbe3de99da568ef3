//! `[[search]]`: searches that people come back to, offered by the dashboard.

use prom_protocol::http::search::SavedSearch;
use prom_transform::{Program, ProgramLimits};
use prom_types::TopicName;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"# A saved search that the dashboard offers to callers who may read its topic; repeat for each. Unset: none.
#[[search]]
#name = "large orders"
#topic = "orders.placed"
# Conditions on an event, at least one: text that occurs in it, a jq program over it, its key, a header as name or
# name:value. Default: no condition.
#text = "timeout"
#jq = ".payload.amount > 1000"
#key = "4711"
#header = "x-tenant:acme"
"#;

const CRITERIA: [&str; 4] = ["text", "jq", "key", "header"];

/// `None` where something is missing or wrong; the section knows what.
pub fn read(section: &mut ConfigSection<'_>) -> Option<SavedSearch> {
    let (mut name, mut topic, mut jq) = (None, None, None);
    section.set_some("name", &mut name, value::text);
    section.set_some("topic", &mut topic, |value| {
        TopicName::parse(&value::text(value)?).map_err(|error| error.to_string())
    });
    section.set_some("jq", &mut jq, |value| {
        let program = value::text(value)?;
        match Program::compile(&program, ProgramLimits::default()) {
            Ok(_) => Ok(program),
            Err(error) => Err(format!("not a valid jq program: {error}")),
        }
    });
    let (mut text, mut key, mut header) = (None, None, None);
    section.set_some("text", &mut text, value::text);
    section.set_some("key", &mut key, value::text);
    section.set_some("header", &mut header, value::text);
    for key in ["name", "topic"] {
        if !section.has(key) {
            section.complain(format!("a [[search]] needs a `{key}`"));
        }
    }
    if !CRITERIA.iter().any(|key| section.has(key)) {
        section.complain(format!("a [[search]] needs at least one of {}", CRITERIA.join(", ")));
    }
    Some(SavedSearch { name: name?, topic: topic?, text, jq, key, header })
}
