//! The schemas of the corpus, and where its files are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prom_schema::codegen::SchemaSource;
use prom_schema::in_order;
use prom_types::TopicName;
use serde_json::Value;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/codegen")
}

/// Every schema of the corpus.
pub fn all() -> Vec<SchemaSource> {
    let mut by_topic: BTreeMap<String, BTreeMap<u32, Value>> = BTreeMap::new();
    for topic in std::fs::read_dir(folder().join("corpus")).unwrap() {
        let topic = topic.unwrap();
        for file in std::fs::read_dir(topic.path()).unwrap() {
            let path = file.unwrap().path();
            let version = path.file_stem().unwrap().to_str().unwrap()[1..].parse().unwrap();
            let schema = in_order(serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap());
            let name = topic.file_name().into_string().unwrap();
            by_topic.entry(name).or_default().insert(version, schema);
        }
    }
    by_topic.into_iter().flat_map(|(topic, versions)| versions_of(&topic, versions)).collect()
}

/// One schema on its own, as the topic `test`.
pub fn one(schema: Value) -> Vec<SchemaSource> {
    versions_of("test", BTreeMap::from([(1, schema)]))
}

fn versions_of(topic: &str, versions: BTreeMap<u32, Value>) -> Vec<SchemaSource> {
    let latest = *versions.keys().last().unwrap();
    let topic = TopicName::parse(topic).unwrap();
    versions
        .into_iter()
        .map(|(version, schema)| SchemaSource { topic: topic.clone(), version, schema, is_latest: version == latest })
        .collect()
}
