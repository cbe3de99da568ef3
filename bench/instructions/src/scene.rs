//! A bus over an embedded store in a directory of its own, with nothing going on beside what is counted.

use std::sync::Arc;

use anyhow::Context;
use prom_engine::{Bus, BusOptions};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, RealDisk, Sizes, Sync};
use prom_types::TopicName;
use tempfile::TempDir;

use crate::counting::{counting_begins_here, counting_ends_here};
use crate::step_clock::StepClock;

/// Large enough that no walk fills half of it: from there on the next file would be prepared.
const JOURNAL_BYTES: u64 = 48 << 20;

pub struct Scene {
    pub bus: Bus,
    /// What is counted.
    pub topic: TopicName,
    /// What goes the same way before, so that everything that happens once has happened.
    pub warm_up: TopicName,
    store: Arc<EmbeddedStore>,
    _directory: TempDir,
}

impl Scene {
    pub async fn open() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("a directory for the store")?;
        let clock = Arc::new(StepClock::default());
        let options = EmbeddedOptions {
            disk: Arc::new(RealDisk),
            clock: clock.clone(),
            // A sync is a call of the system, not instructions of ours, and a disk takes its time for it.
            sync: Sync::Os,
            sizes: Sizes { first_journal_file: JOURNAL_BYTES, ..Sizes::default() },
            ..EmbeddedOptions::default()
        };
        let store = EmbeddedStore::open_with(directory.path(), options).await?;
        let options = BusOptions { clock, maintenance_interval: None, ..BusOptions::default() };
        let bus = Bus::start(store.clone(), options).await?;
        Ok(Self {
            bus,
            topic: TopicName::parse("orders.placed")?,
            warm_up: TopicName::parse("warm.up")?,
            store,
            _directory: directory,
        })
    }

    /// Counts what happens from here on. Nothing is left over from before.
    pub async fn begin(&self) -> anyhow::Result<()> {
        self.catch_up().await?;
        counting_begins_here();
        Ok(())
    }

    /// Counts no more. What the store does behind the journal is part of it, whenever it did it.
    pub async fn end(&self) -> anyhow::Result<()> {
        self.catch_up().await?;
        counting_ends_here();
        Ok(())
    }

    /// The store has nothing left to do.
    async fn catch_up(&self) -> anyhow::Result<()> {
        self.store.checkpoint().await.context("a checkpoint")
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.bus.shutdown().await.context("closing")
    }
}
