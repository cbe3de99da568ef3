//! A bus on MongoDB with a database of its own.

use std::sync::Arc;

use mongodb::Client;
use prom_store_mongo::{MongoOptions, MongoStore};
use promethean::{Bus, BusOptions, TopicSettings};

use crate::bus_load::TOPIC;

pub struct MongoBus {
    pub bus: Bus,
    url: String,
}

impl MongoBus {
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
