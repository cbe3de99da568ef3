//! Several stores on one database, each with a partition of its own, published to at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use prom_store::{Append, Commit, Dedupe, Encoder, LogName, Store};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_types::IdMaker;

use super::mongo_bus::drop_database;
use crate::bus_load::{event, keep_going, sum};

const GATHERED: usize = 100;
const WAITING: usize = 40;

/// Events per second of all of them together.
pub async fn rate(url: &str, hubs: u32, span: Duration) -> anyhow::Result<f64> {
    let mut stores = Vec::new();
    for _ in 0..hubs {
        stores.push(MongoStore::open(url, MongoOptions::default()).await?);
    }
    let started = Instant::now();
    let published = sum((0..).zip(&stores).map(|(partition, store)| publish(store.clone(), partition, span))).await?;
    let rate = published as f64 / started.elapsed().as_secs_f64();
    for store in stores {
        store.close().await?;
    }
    drop_database(url).await?;
    Ok(rate)
}

async fn publish(store: Arc<MongoStore>, partition: u32, span: Duration) -> anyhow::Result<u64> {
    let event = event()?;
    let log = LogName::new(event.topic.clone(), partition);
    let (ids, mut encoder) = (IdMaker::new(), Encoder::default());
    keep_going(WAITING, span, || {
        let mut commit = Commit::default();
        for _ in 0..GATHERED {
            let encoded = encoder.encode(&event, ids.make(0), 0)?;
            commit.appends.push(Append { log: log.clone(), event: encoded, dedupe: Dedupe::Fresh, terms: None });
        }
        Ok(store.commit(commit).map(|done| Ok(done?.stored.len() as u64)))
    })
    .await
}
