//! A bus on an embedded store in a directory of its own, with the options a user gets by default.

use std::path::Path;
use std::sync::Arc;

use prom_store::Store;
use promethean::EmbeddedStore;
use promethean::{Bus, BusOptions};

pub struct EmbeddedBus {
    pub bus: Bus,
    pub store: Arc<EmbeddedStore>,
}

impl EmbeddedBus {
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
