//! A bus on MongoDB with a database of its own, and the event that is published.

use std::sync::Arc;

use bytes::Bytes;
use mongodb::Client;
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_types::{Json, NewEvent, TopicName};
use promethean::{Bus, BusOptions, TopicSettings};

pub const TOPIC: &str = "bench.events";
const PAYLOAD_BYTES: usize = 256;

pub struct Scene {
    pub bus: Bus,
    url: String,
}

impl Scene {
    pub async fn open(url: &str, partitions: u32) -> anyhow::Result<Self> {
        let store: Arc<MongoStore> = MongoStore::open(url, MongoOptions::default()).await?;
        let bus = Bus::start(store, BusOptions::default()).await?;
        bus.create_topic(TopicSettings::new(TOPIC)?.partitions(partitions)).await?;
        Ok(Self { bus, url: url.to_owned() })
    }

    pub async fn end(self) -> anyhow::Result<()> {
        self.bus.shutdown().await?;
        drop_database(&self.url).await
    }
}

pub async fn drop_database(url: &str) -> anyhow::Result<()> {
    if let Some(database) = Client::with_uri_str(url).await?.default_database() {
        database.drop().await?;
    }
    Ok(())
}

/// As clients send it: an object with a few members, 256 bytes in all.
pub fn payload() -> String {
    let begin =
        r#"{"order":"0192f0c1-7d3a-7000-8000-0123456789ab","customer":4711,"total":129.95,"currency":"EUR","note":""#;
    format!("{begin}{}\"}}", "n".repeat(PAYLOAD_BYTES - begin.len() - 2))
}

/// Cloning it copies no text.
pub fn event() -> anyhow::Result<NewEvent> {
    Ok(NewEvent::new(TopicName::parse(TOPIC)?, Json::parse(Bytes::from(payload()))?))
}
