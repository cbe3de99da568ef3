//! One publisher that waits for each receipt, beside a bare insert of one small document.

use std::time::Instant;

use mongodb::bson::Document;

use super::raw;
use super::scene::{Scene, event, payload};
use crate::percentile::Spans;

/// The two take turns, so that both meet the same server.
const TURNS: usize = 8;

/// The medians in milliseconds: ours, and the driver's.
pub async fn beside_raw(url: &str, samples: usize) -> anyhow::Result<(f64, f64)> {
    let scene = Scene::open(url, 1).await?;
    let bare = raw::collection(url).await?;
    let payload: Document = serde_json::from_str(&payload())?;
    let event = event()?;
    let (mut ours, mut driver) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for _ in 0..samples / TURNS {
            let document = raw::document(&payload, driver.len() as u64);
            let started = Instant::now();
            bare.insert_one(document).await?;
            driver.push(started.elapsed());
        }
        for _ in 0..samples / TURNS {
            let started = Instant::now();
            scene.bus.publish_event(event.clone()).await?;
            ours.push(started.elapsed());
        }
    }
    scene.end().await?;
    Ok((Spans::of(ours).p50_ms(), Spans::of(driver).p50_ms()))
}
