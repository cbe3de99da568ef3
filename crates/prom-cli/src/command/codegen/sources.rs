//! Where schemas come from: a folder of files, or the registry of a hub. Both give the same for the same schemas.
//!
//! Each schema carries what it refers to inside, so that the generated file needs no other.

use std::collections::BTreeMap;
use std::path::Path;

use prom_protocol::http::registry::RegistryView;
use prom_protocol::http::schema::SchemaVersionView;
use prom_schema::codegen::SchemaSource;
use prom_schema::limits::REFERENCE_DEPTH;
use prom_schema::{Reference, SchemaDocument, bundle};
use prom_types::{TopicName, TopicPattern};
use serde_json::Value;

use super::VersionChoice;
use crate::command::partly;
use crate::exit::Failure;
use crate::hub::HubClient;
use crate::schema_folder::SchemaFolder;

/// Which schemas are asked for.
pub(super) struct SchemaSelection<'a> {
    pub topics: &'a [TopicPattern],
    pub versions: VersionChoice,
}

type VersionKey = (TopicName, u32);
type Documents = BTreeMap<VersionKey, SchemaDocument>;

/// Every `<topic>/v<version>.json` that is wanted.
pub(super) fn of_folder(path: &Path, wanted: &SchemaSelection<'_>) -> Result<Vec<SchemaSource>, Failure> {
    let folder = SchemaFolder::read_filled(path)?;
    // Refuses schemas that refer to each other in a circle.
    let steps = folder.steps()?;
    let documents: Documents =
        steps.into_iter().map(|step| ((step.topic, step.version), step.document)).collect::<BTreeMap<_, _>>();
    let versions = |topic: &TopicName| documents.range((topic.clone(), 0)..=(topic.clone(), u32::MAX));
    let topics = folder.topics().iter().map(|read| &read.topic).filter(|topic| wanted.has(topic));
    let keys: Vec<(VersionKey, IsLatest)> =
        topics.flat_map(|topic| wanted.keys(topic, versions(topic).map(|((_, version), _)| *version))).collect();
    if keys.is_empty() {
        return Err(Failure::no(format!("{} has no schema of a matching topic", path.display()))
            .fix("a schema is in a folder with the name of its topic: schemas/orders.placed/v1.json"));
    }
    let lacks = |topic: &TopicName, version: u32, reference: &Reference| {
        let what = format!("{} version {} is not in this folder", reference.subject, reference.version);
        Failure::usage(format!("{}/{topic}/v{version}.json refers to a missing schema: {what}", path.display()))
            .fix("add it, or leave --folder out to read from the hub")
    };
    sources(&documents, keys, lacks)
}

/// Every version in the registry that is wanted and not deleted.
pub(super) async fn of_hub(hub: &HubClient, wanted: &SchemaSelection<'_>) -> Result<Vec<SchemaSource>, Failure> {
    let registry: RegistryView = hub.get(&["registry"], &()).await?.parse()?;
    if registry.hidden {
        partly::shown("topics with schemas", registry.topics.len())?;
    }
    let topics = registry.topics.iter().filter(|topic| wanted.has(&topic.topic));
    let keys: Vec<(VersionKey, IsLatest)> =
        topics.flat_map(|topic| wanted.keys(&topic.topic, topic.versions.iter().copied())).collect();
    if keys.is_empty() {
        return Err(Failure::no(format!("the hub at {} has no schema of a matching topic", hub.address()))
            .fix("`prom schema ls` lists the topics that have schemas; --folder reads files instead"));
    }
    let mut documents = Documents::new();
    let mut missing: Vec<VersionKey> = keys.iter().map(|(key, _)| key.clone()).collect();
    while let Some(key) = missing.pop() {
        if documents.contains_key(&key) {
            continue;
        }
        let document = fetch(hub, &key).await?;
        missing.extend(document.references.iter().map(|other| (other.subject.clone(), other.version)));
        documents.insert(key, document);
    }
    let lacks = |topic: &TopicName, version: u32, reference: &Reference| {
        Failure::no(format!("{topic} version {version} refers to {} too deeply", reference.subject))
    };
    sources(&documents, keys, lacks)
}

async fn fetch(hub: &HubClient, (topic, version): &VersionKey) -> Result<SchemaDocument, Failure> {
    let answer = hub.get(&["topics", topic, "schema", &version.to_string()], &()).await?;
    let view: SchemaVersionView = answer.parse()?;
    let references = view.references.into_iter().map(|other| Reference {
        name: other.name,
        subject: other.subject,
        version: other.version,
    });
    SchemaDocument::new(view.schema, references.collect())
        .map_err(|error| Failure::no(format!("{topic} version {version}: {error}")))
}

type IsLatest = bool;

impl SchemaSelection<'_> {
    fn has(&self, topic: &TopicName) -> bool {
        self.topics.is_empty() || self.topics.iter().any(|pattern| pattern.matches(topic.as_str()))
    }

    /// `versions` in rising order.
    fn keys(&self, topic: &TopicName, versions: impl Iterator<Item = u32>) -> Vec<(VersionKey, IsLatest)> {
        let versions: Vec<u32> = versions.collect();
        let latest = versions.last().copied();
        let asked_for = |version: &u32| self.versions == VersionChoice::All || Some(*version) == latest;
        let chosen = versions.into_iter().filter(asked_for);
        chosen.map(|version| ((topic.clone(), version), Some(version) == latest)).collect()
    }
}

fn sources(
    documents: &Documents,
    keys: Vec<(VersionKey, IsLatest)>,
    lacks: impl Fn(&TopicName, u32, &Reference) -> Failure,
) -> Result<Vec<SchemaSource>, Failure> {
    let found = keys.into_iter().filter_map(|(key, is_latest)| Some((documents.get(&key)?, key, is_latest)));
    let source = |(document, (topic, version), is_latest): (&SchemaDocument, VersionKey, IsLatest)| {
        let schema =
            bundled(documents, document, REFERENCE_DEPTH).map_err(|reference| lacks(&topic, version, reference))?;
        Ok(SchemaSource { topic, version, schema, is_latest })
    };
    found.map(source).collect()
}

/// A schema with all it refers to inside, or the reference that leads nowhere.
fn bundled<'d>(documents: &'d Documents, document: &'d SchemaDocument, depth: usize) -> Result<Value, &'d Reference> {
    let mut referenced = Vec::with_capacity(document.references.len());
    for reference in &document.references {
        let other = documents.get(&(reference.subject.clone(), reference.version)).filter(|_| depth > 0);
        let other = other.ok_or(reference)?;
        referenced.push((reference.name.clone(), bundled(documents, other, depth - 1)?));
    }
    Ok(bundle(document, &referenced))
}
