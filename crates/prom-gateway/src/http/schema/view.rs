//! The registry's own types as HTTP writes them, and back.

use std::str::FromStr;

use prom_engine::SchemaVersion;
use prom_protocol::http::schema::{
    SchemaReference, SchemaSettingsChange, SchemaSettingsView, SchemaVersionEntry, SchemaVersionView, TopicSchemaView,
    UpcasterView, ViolationView,
};
use prom_schema::compat::Violation;
use prom_schema::{SchemaSettings, SettingsChange, TopicSchemas, UnknownWord, VersionEntry};

use crate::http::problem::Problem;

pub fn settings(settings: SchemaSettings) -> SchemaSettingsView {
    SchemaSettingsView {
        compat: settings.compat.to_string(),
        policy: settings.policy.to_string(),
        formats: settings.formats.to_string(),
        undecided: settings.undecided.to_string(),
        admit: settings.admit.to_string(),
        unversioned_as: settings.unversioned_as,
    }
}

/// What a body asks to change.
pub fn change(body: SchemaSettingsChange) -> Result<SettingsChange, Problem> {
    if body.unversioned_as == Some(0) {
        return Err(Problem::field("unversioned_as", "versions begin at 1"));
    }
    Ok(SettingsChange {
        compat: word("compat", body.compat)?,
        policy: word("policy", body.policy)?,
        formats: word("formats", body.formats)?,
        undecided: word("undecided", body.undecided)?,
        admit: word("admit", body.admit)?,
        unversioned_as: body.unversioned_as,
    })
}

/// A setting that may be left out.
pub fn word<T: FromStr<Err = UnknownWord>>(field: &str, given: Option<String>) -> Result<Option<T>, Problem> {
    given.map(|word| word.parse().map_err(|error| Problem::field(field, error))).transpose()
}

fn overrides(change: &SettingsChange) -> SchemaSettingsChange {
    SchemaSettingsChange {
        compat: change.compat.map(|word| word.to_string()),
        policy: change.policy.map(|word| word.to_string()),
        formats: change.formats.map(|word| word.to_string()),
        undecided: change.undecided.map(|word| word.to_string()),
        admit: change.admit.map(|word| word.to_string()),
        unversioned_as: change.unversioned_as,
    }
}

pub fn topic(schemas: TopicSchemas, resolved: SchemaSettings) -> TopicSchemaView {
    TopicSchemaView {
        topic: schemas.topic,
        settings: settings(resolved),
        overrides: overrides(&schemas.settings),
        versions: schemas.versions.into_iter().map(entry).collect(),
        upcasters: schemas.upcasters.into_iter().map(|(from, jq)| UpcasterView { from, to: from + 1, jq }).collect(),
    }
}

fn entry(entry: VersionEntry) -> SchemaVersionEntry {
    let VersionEntry { version, id, registered_ts, registered_by, deleted, .. } = entry;
    SchemaVersionEntry { version, id, registered_ts, registered_by, deleted }
}

pub fn version(version: SchemaVersion) -> SchemaVersionView {
    let references = version.document.references.iter().map(|reference| SchemaReference {
        name: reference.name.clone(),
        subject: reference.subject.clone(),
        version: reference.version,
    });
    SchemaVersionView {
        topic: version.topic,
        entry: SchemaVersionEntry {
            version: version.version,
            id: version.id,
            registered_ts: version.registered_ts,
            registered_by: version.registered_by,
            deleted: version.deleted,
        },
        references: references.collect(),
        schema: version.document.schema.clone(),
    }
}

pub fn violations(violations: Vec<Violation>) -> Vec<ViolationView> {
    violations.into_iter().map(violation).collect()
}

pub fn violation(violation: Violation) -> ViolationView {
    ViolationView {
        pointer: violation.pointer,
        old_pointer: violation.old_pointer,
        rule: violation.rule.id().to_owned(),
        message: violation.message,
        fix: violation.fix,
        direction: violation.direction.as_str().to_owned(),
        example: violation.example,
        against_version: violation.against_version.and_then(|version| u32::try_from(version).ok()),
    }
}
