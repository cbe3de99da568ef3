//! `/topics/{topic}/schema`: the schemas of a topic, what they mean to each other, and how they are judged.
//!
//! Settings are words such as `backward` and `lenient`; `docs/guide/schemas.md` says what each means.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::flag;

/// How schemas are judged: the answer where settings were asked for or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaSettingsView {
    /// What a new version must be to those before it: `none`, `backward`, `forward`, `full`, the last three with
    /// `_transitive`, or `upcast`.
    #[cfg_attr(feature = "openapi", schema(example = "backward"))]
    pub compat: String,
    /// What counts as a document of an open model: `lenient` or `strict`.
    #[cfg_attr(feature = "openapi", schema(example = "lenient"))]
    pub policy: String,
    /// What `format` means: `annotate` or `assert`.
    #[cfg_attr(feature = "openapi", schema(example = "annotate"))]
    pub formats: String,
    /// What becomes of a pair that cannot be decided: `refuse` or `allow`.
    #[cfg_attr(feature = "openapi", schema(example = "refuse"))]
    pub undecided: String,
    /// Which versions a publisher that names none may write: `newest` that accepts the payload, or only the `latest`.
    #[cfg_attr(feature = "openapi", schema(example = "newest"))]
    pub admit: String,
    /// The version of stored events that name none.
    pub unversioned_as: u32,
}

/// Settings that differ from what is inherited: the body of a change, and the overrides of a topic. What is left out
/// stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SchemaSettingsChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "full_transitive"))]
    pub compat: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "strict"))]
    pub policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "assert"))]
    pub formats: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "allow"))]
    pub undecided: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "latest"))]
    pub admit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1))]
    pub unversioned_as: Option<u32>,
}

/// The answer to `GET /topics/{topic}/schema`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicSchemaView {
    pub topic: TopicName,
    /// As they hold for this topic.
    pub settings: SchemaSettingsView,
    /// What the topic sets itself.
    pub overrides: SchemaSettingsChange,
    /// By version, deleted ones included.
    pub versions: Vec<SchemaVersionEntry>,
    pub upcasters: Vec<UpcasterView>,
}

/// One version, without its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaVersionEntry {
    pub version: u32,
    /// Of the schema; the same wherever this schema is registered.
    pub id: u32,
    pub registered_ts: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub registered_by: Option<String>,
    /// Not offered any more; what is stored under it can still be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub deleted: bool,
}

/// The step from one version to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpcasterView {
    pub from: u32,
    pub to: u32,
    /// A jq program over the payload.
    #[cfg_attr(feature = "openapi", schema(example = ".mem_mib = .mem_mb | del(.mem_mb)"))]
    pub jq: String,
}

/// The answer to `GET /topics/{topic}/schema/{version}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaVersionView {
    pub topic: TopicName,
    #[serde(flatten)]
    pub entry: SchemaVersionEntry,
    pub schema: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub references: Vec<SchemaReference>,
}

/// Another schema of the registry that a schema refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaReference {
    /// As `$ref` names it.
    pub name: String,
    /// The topic whose schema it is.
    pub subject: TopicName,
    pub version: u32,
}

/// The body of `POST /topics/{topic}/schema` and of `/check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RegisterSchema {
    /// A JSON Schema of at most 256 KiB.
    pub schema: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub references: Vec<SchemaReference>,
    /// Judge this registration otherwise than the topic's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "upcast"))]
    pub compat: Option<String>,
    /// The number it is expected to get. Refused if it would get another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1))]
    pub version: Option<u32>,
    /// A jq program that turns a payload of the version before into one of this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub upcast: Option<String>,
}

impl RegisterSchema {
    /// As the topic's settings judge it, under the next number.
    pub fn new(schema: Value) -> Self {
        Self { schema, references: Vec::new(), compat: None, version: None, upcast: None }
    }
}

/// The answer to a registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegisteredVersion {
    pub version: u32,
    pub id: u32,
    /// It was registered before; nothing was changed.
    pub existed: bool,
    /// What to think about although it is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub notes: Vec<String>,
}

/// The answer to `POST /topics/{topic}/schema/check`. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaVerdict {
    pub compatible: bool,
    /// The version that has this very schema.
    pub existing: Option<u32>,
    pub violations: Vec<ViolationView>,
    /// What to think about although it is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub notes: Vec<String>,
}

/// One keyword that refuses what the other schema accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViolationView {
    /// JSON pointer to the keyword in the schema that refuses: the new one for `backward`, the old one for `forward`.
    #[cfg_attr(feature = "openapi", schema(example = "/required"))]
    pub pointer: String,
    /// Where the schema that accepts speaks about the same part of the document, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub old_pointer: Option<String>,
    #[cfg_attr(feature = "openapi", schema(example = "required-added"))]
    pub rule: String,
    pub message: String,
    /// How the change is made safely.
    pub fix: String,
    /// `backward`: documents of the old version are refused; `forward`: documents of the new one.
    #[cfg_attr(feature = "openapi", schema(example = "backward"))]
    pub direction: String,
    /// A document that one schema accepts and the other refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// The version that it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub against_version: Option<u32>,
}

/// The body of `PUT /topics/{topic}/schema/upcasters/{from}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetUpcaster {
    /// A jq program over the payload.
    pub jq: String,
}

/// The query of the two deletions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DeleteSchema {
    /// Remove it for good; only what was deleted before can be.
    #[serde(default, with = "flag")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "1"))]
    pub hard: bool,
}

/// The answer to a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedVersions {
    pub topic: TopicName,
    pub versions: Vec<u32>,
}

/// The query of `GET /topics/{topic}/schema/diff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct SchemaDiffQuery {
    pub from: u32,
    pub to: u32,
}

/// The answer to `GET /topics/{topic}/schema/diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaDiff {
    pub topic: TopicName,
    pub from: u32,
    pub to: u32,
    /// In the order of their pointers.
    pub changes: Vec<SchemaChange>,
    /// Why documents of `from` are not all valid under `to`; empty where they are.
    pub backward: Vec<ViolationView>,
    /// Why documents of `to` are not all valid under `from`; empty where they are.
    pub forward: Vec<ViolationView>,
}

/// One place where two schemas differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SchemaChange {
    /// A JSON pointer into the schema.
    #[cfg_attr(feature = "openapi", schema(example = "/properties/mem_mib"))]
    pub pointer: String,
    pub change: ChangeKind,
    /// What is there in `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there in `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What became of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_says_only_what_was_given() {
        let plain = RegisterSchema::new(Value::Bool(true));
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"schema":true}"#);
        assert!(serde_json::from_str::<RegisterSchema>(r#"{"schema":true,"compatibility":"none"}"#).is_err());
        assert!(serde_json::from_str::<SchemaSettingsChange>(r#"{"compatibility":"none"}"#).is_err());
    }

    #[test]
    fn a_version_is_written_flat() {
        let text = r#"{"topic":"a","version":1,"id":7,"registered_ts":5,"schema":{"type":"object"}}"#;
        let view: SchemaVersionView = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&view).unwrap(), text);
    }
}
