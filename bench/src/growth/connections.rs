//! Connections that do nothing, while others work.

use super::point::{Figures, Scene, What};
use crate::load::topics::Topics;
use crate::ours::socket::idle;

pub async fn measure(scene: &mut Scene, count: usize) -> anyhow::Result<Figures> {
    let hub = scene.server.process()?;
    let before = hub.resident()?;
    let sockets = idle(hub.address, count).await?;
    let after = hub.resident()?;
    let mut figures = Vec::new();
    // Few of them vanish in what the hub's memory varies by anyway.
    if count >= 1_000 {
        let each_kb = (after.anonymous_mb - before.anonymous_mb) * 1e3 / count as f64;
        figures.push((What::EachConnection, each_kb));
    }
    figures.extend(scene.latency().await?);
    figures.push((What::Publish, scene.publish(Topics::ONE).await?));
    figures.push((What::Both, scene.both(Topics::ONE).await?));
    figures.push(scene.resident()?);
    drop(sockets);
    Ok(figures)
}
