//! Schemas and programs in files.

use std::path::Path;

use prom_protocol::http::schema::SchemaReference;
use prom_types::TopicName;
use serde_json::Value;

use crate::exit::Failure;

/// A JSON Schema.
pub fn schema(path: &Path) -> Result<Value, Failure> {
    let wrong = |error: serde_json::Error| {
        Failure::usage(format!("{}:{}:{}: {error}", path.display(), error.line(), error.column()))
            .fix("a schema file contains one JSON Schema")
    };
    serde_json::from_str(&text(path)?).map_err(wrong)
}

/// Text, such as a jq program.
pub fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

/// `NAME=TOPIC:VERSION` of `--reference`.
pub fn reference(text: &str) -> Result<SchemaReference, String> {
    let expected = || "write NAME=TOPIC:VERSION, such as address.json=shop.address:1".to_owned();
    let (name, other) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(expected)?;
    let (topic, version) = other.rsplit_once(':').ok_or_else(expected)?;
    let version = version.parse().ok().filter(|version| *version > 0).ok_or_else(expected)?;
    let subject = TopicName::parse(topic).map_err(|error| error.to_string())?;
    Ok(SchemaReference { name: name.to_owned(), subject, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_a_version_of_a_topic() {
        let read = reference("https://example.com/a.json=shop.address:2").unwrap();
        assert_eq!(
            (read.name.as_str(), read.subject.as_str(), read.version),
            ("https://example.com/a.json", "shop.address", 2)
        );
        for wrong in ["", "a", "a=b", "=b:1", "a=b:0", "a=b:x", "a=B:1"] {
            assert!(reference(wrong).is_err(), "{wrong:?}");
        }
    }
}
