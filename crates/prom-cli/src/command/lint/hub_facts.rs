//! What a live hub has, asked over HTTP and handed to the linter as plain data.

use prom_lint::LiveHub;
use prom_protocol::http::registry::RegistryView;
use prom_protocol::http::schema::SchemaVersionView;
use prom_protocol::http::topics::TopicList;

use crate::exit::Failure;
use crate::hub::HubClient;

pub async fn read(hub: &HubClient) -> Result<LiveHub, Failure> {
    let topics: TopicList = hub.get(&["topics"], &()).await?.parse()?;
    let registry: RegistryView = hub.get(&["registry"], &()).await?.parse()?;
    let mut facts = LiveHub {
        address: hub.address(),
        topics: topics.topics.iter().map(|topic| topic.topic.to_string()).collect(),
        is_partial: topics.hidden || registry.hidden,
        ..LiveHub::default()
    };
    for entry in &registry.topics {
        for version in &entry.versions {
            let path = ["topics", &entry.topic, "schema", &version.to_string()];
            let view: SchemaVersionView = hub.get(&path, &()).await?.parse()?;
            facts.schemas.entry(entry.topic.to_string()).or_default().insert(*version, view.schema);
        }
    }
    Ok(facts)
}
