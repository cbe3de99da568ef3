//! A bus on an embedded store in a directory of its own, with the options a user gets by default.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use prom_store::Store;
use prom_types::{Json, NewEvent, TopicName};
use promethean::EmbeddedStore;
use promethean::{Bus, BusOptions};

use crate::place::Place;

pub const TOPIC: &str = "bench.events";
const PAYLOAD_BYTES: usize = 256;

pub struct Scene {
    pub bus: Bus,
    pub store: Arc<EmbeddedStore>,
}

impl Scene {
    pub async fn open(place: &Place, name: &str) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix(name).tempdir_in(place.path())?.keep();
        Self::open_at(&dir).await
    }

    pub async fn open_at(dir: &Path) -> anyhow::Result<Self> {
        let store = EmbeddedStore::open(dir).await?;
        let bus = Bus::start(store.clone(), BusOptions::default()).await?;
        Ok(Self { bus, store })
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.bus.shutdown().await?;
        // The bus may have closed the store with itself.
        match self.store.close().await {
            Ok(()) | Err(prom_store::StoreError::Closed) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The event that is published over and over; cloning it copies no text.
pub fn event() -> anyhow::Result<NewEvent> {
    let text = format!("\"{}\"", "p".repeat(PAYLOAD_BYTES - 2));
    Ok(NewEvent::new(TopicName::parse(TOPIC)?, Json::parse(Bytes::from(text))?))
}
