//! One publisher that waits for each receipt, beside a bare insert of one small document.

use std::time::Instant;

use mongodb::bson::Document;
use prom_load::Latencies;

use super::mongo_bus::MongoBus;
use super::raw;
use crate::bus_load::{event, payload};

/// The two take turns, so that both meet the same server.
const TURNS: usize = 8;

/// The medians in milliseconds: ours, and the driver's.
pub async fn beside_raw(url: &str, samples: usize) -> anyhow::Result<(f64, f64)> {
    let ours = MongoBus::open(url, 1).await?;
    let bare = raw::collection(url).await?;
    let payload: Document = serde_json::from_str(&payload())?;
    let event = event()?;
    let (mut publishes, mut inserts) = (Latencies::default(), Latencies::default());
    for turn in 0..TURNS {
        for number in 0..samples / TURNS {
            let document = raw::document(&payload, (turn * samples + number) as u64);
            let started = Instant::now();
            bare.insert_one(document).await?;
            inserts.record(started.elapsed());
        }
        for _ in 0..samples / TURNS {
            let started = Instant::now();
            ours.bus.publish_event(event.clone()).await?;
            publishes.record(started.elapsed());
        }
    }
    ours.end().await?;
    Ok((publishes.p50_ms(), inserts.p50_ms()))
}
