//! The schema registry as clients of Confluent's registry know it: `/subjects`, `/schemas/ids`, `/config` and the like.
//!
//! Field names and error codes are theirs. Only JSON Schema is spoken; a subject is a topic, or a topic and `-value`.

use serde::{Deserialize, Serialize};

/// The content type of requests and answers.
pub const CONTENT_TYPE: &str = "application/vnd.schemaregistry.v1+json";
/// The one kind of schema.
pub const SCHEMA_TYPE: &str = "JSON";
/// What a request that names no kind means.
pub const DEFAULT_SCHEMA_TYPE: &str = "AVRO";

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentProblem {
    /// The status, or the status and two digits.
    pub error_code: u32,
    pub message: String,
}

/// The body of a registration, a look-up or a check. Metadata and rules of newer clients are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfluentSchema {
    /// The schema as text.
    pub schema: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_type: Option<String>,
    #[serde(default, deserialize_with = "null_is_none", skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ConfluentReference>,
}

/// Another schema that a schema refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentReference {
    pub name: String,
    pub subject: String,
    pub version: i64,
}

/// The answer to a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentId {
    pub id: u32,
}

/// A version of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfluentVersion {
    pub subject: String,
    pub version: u32,
    pub id: u32,
    pub schema_type: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ConfluentReference>,
    pub schema: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// A version of a subject, by name only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentSubjectVersion {
    pub subject: String,
    pub version: u32,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentVerdict {
    pub is_compatible: bool,
    /// Where `verbose=true` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<String>>,
}

/// The body of `PUT /config`, and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfluentConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compatibility_policy: Option<String>,
}

/// The answer to `GET /config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfluentConfigView {
    pub compatibility_level: String,
    pub compatibility_policy: String,
}

/// The answer to `GET /mode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfluentMode {
    pub mode: String,
}

fn null_is_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<ConfluentReference>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_leave_out_or_send_as_null_is_none() {
        let text = r#"{"schema":"{}","schemaType":"JSON","references":null,"metadata":null,"ruleSet":null}"#;
        let schema: ConfluentSchema = serde_json::from_str(text).unwrap();
        assert_eq!((schema.schema_type.as_deref(), schema.references.len()), (Some("JSON"), 0));
    }
}
